import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { askModel, SCRIPT } from '../../src/cli/init/choose-model.ts';
import { projectFiles } from '../../src/cli/init/project-files.ts';
import {
  isProjectName,
  nameOfFolder,
  ownDependency,
  writeProject,
} from '../../src/cli/init/write-project.ts';
import { main } from '../../src/cli/main.ts';
import { withEnvFile } from '../../src/cli/program.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';
import { telltale } from './spawned.ts';

const home = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');
const UP = '\u001b[A';
const QUESTION = 'How many words are in README.md?';

async function init(argv: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
  const io = recordedIo({ cwd, env });
  const code = await main(['init', ...argv], io);
  return { code, out: io.out(), err: io.err() };
}

const json = (...path: readonly string[]) => JSON.parse(readFileSync(join(...path), 'utf8'));
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => name.replaceAll('\\', '/'));

describe('telltale init', () => {
  it('creates a project that validates, and a chat with it goes on until its user ends it', async () => {
    const cwd = temporaryProject();
    const { code, out } = await init(['My Agent'], cwd);
    expect(code).toBe(0);
    expect(out).toContain("No provider's key is set, so a script stands in for the model.");
    expect(out.endsWith("\nNext:\n  cd 'My Agent'\n  npm install\n  npm run chat\n")).toBe(true);
    const folder = join(cwd, 'My Agent');
    expect((await telltale(['validate'], folder)).out).toContain('3 manifests in 3 files: no errors');

    const io = recordedIo({ cwd: folder, stdin: 'Hi\nHow are you?\nAnd now?\n' });
    expect(await main(['chat', 'agent.yml', '--quiet'], { ...io, clock: createSystemClock() })).toBe(0);
    const words = readFileSync(join(folder, 'README.md'), 'utf8').split(/\s+/).filter(Boolean).length;
    expect(io.out().trim().split('\n')).toEqual([
      expect.stringContaining(`README.md has ${words} words`),
      expect.stringContaining('I am a script'),
      expect.stringContaining(`README.md has ${words} words`),
    ]);
    expect(readFileSync(join(folder, 'reading-log.md'), 'utf8').match(/^- README\.md$/gm)).toHaveLength(2);
    expect(json(folder, 'package.json')).toMatchObject({
      name: 'my-agent',
      type: 'module',
      scripts: { chat: 'telltale chat agent.yml', test: 'telltale test' },
      dependencies: { telltale: `file:${home}` },
    });
  });

  it('creates only manifests with --yaml, and their test fails when the tool does', async () => {
    const cwd = temporaryProject();
    await init(['x', '--yaml'], cwd);
    const folder = join(cwd, 'x');
    expect(filesIn(folder).filter((file) => /\.[cm]?[jt]s$|tsconfig/.test(file))).toEqual([]);
    const { scripts, devDependencies } = json(folder, 'package.json');
    expect(devDependencies).toBeUndefined();
    const test = async () => {
      for (const command of scripts.test.split(' && ')) {
        const words = [...command.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
        const { code, err } = await telltale(words.slice(1), folder);
        if (code !== 0) return `${code}: ${err}`;
      }
      return 'passed';
    };
    expect(scripts.test).toContain(`telltale run agent.yml "${QUESTION}"`);
    expect(await test()).toBe('passed');
    const tool = join(folder, 'tools', 'count_words.yml');
    writeFileSync(tool, readFileSync(tool, 'utf8').replace('const { text }', 'throw 1; const { text }'));
    expect(await test()).toContain('1: failed');
  });

  it('names in each manifest a schema that is there before anything is installed', async () => {
    const cwd = temporaryProject();
    const { files } = JSON.parse((await init(['--json'], cwd)).out);
    const manifests = files.filter((file: string) => /^(?:agent|tools\/.*|workflows\/.*)\.yml$/.test(file));
    expect(manifests).toHaveLength(3);
    for (const file of manifests) {
      const text = readFileSync(join(cwd, file), 'utf8');
      const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
      const [, kind = ''] = /^kind: (\w+)$/m.exec(text) ?? [];
      expect(json(resolve(cwd, dirname(file), schema)).$defs).toHaveProperty(kind);
    }
    expect(readFileSync(join(cwd, '.gitignore'), 'utf8')).toContain('.telltale/*\n!.telltale/schemas/\n');
  });

  it('creates the project in the current folder where none is named, next to a fresh repository', async () => {
    const cwd = temporaryProject();
    mkdirSync(join(cwd, '.git'));
    const { out } = await init(['--json', '--name', 'helper'], cwd);
    expect(JSON.parse(out)).toMatchObject({
      folder: cwd,
      name: 'helper',
      provider: 'scripted',
      model: SCRIPT,
      files: expect.arrayContaining(['agent.yml', 'AGENTS.md', '.env.example', 'test/agent.test.ts']),
      next: ['npm install', 'npm run chat', 'npm test'],
    });
  });

  it('keeps what the package.json of an installed package says', async () => {
    const cwd = temporaryProject({
      'package.json': JSON.stringify({
        name: 'mine',
        type: 'commonjs',
        scripts: { test: 'echo "Error: no test specified" && exit 1', lint: 'x' },
        devDependencies: { telltale: 'file:../telltale.tgz', other: '1' },
      }),
      'package-lock.json': '{}',
      'node_modules/telltale/package.json': '{}',
    });
    expect(await init([], cwd)).toMatchObject({ code: 0, err: '' });
    const found = json(cwd, 'package.json');
    expect(found).toMatchObject({
      name: 'mine',
      type: 'module',
      scripts: {
        start: expect.stringContaining('telltale run'),
        test: 'telltale test',
        lint: 'x',
      },
      devDependencies: { telltale: 'file:../telltale.tgz', other: '1', typescript: expect.any(String) },
    });
    expect(found.dependencies).toBeUndefined();
  });

  it('refuses a package.json that is not JSON, and touches nothing', async () => {
    const cwd = temporaryProject({ 'package.json': '{ "name": ' });
    expect(await init([], cwd)).toMatchObject({
      code: 2,
      err: expect.stringContaining('package.json is not a JSON object'),
    });
    expect(filesIn(cwd)).toEqual(['package.json']);
  });

  it('refuses a folder with anything in it, names what, and touches nothing', async () => {
    const cwd = temporaryProject({ 'agent.yml': 'mine', 'notes.txt': '' });
    expect(await init(['.', '--yes'], cwd)).toMatchObject({
      code: 2,
      err: expect.stringContaining("'.' is not empty: it contains agent.yml, notes.txt."),
    });
    expect(filesIn(cwd)).toEqual(['agent.yml', 'notes.txt']);
  });

  it.each([
    [['file'], "'file' is a file."],
    [['x', '--name', 'con'], "--name 'con' cannot be used."],
    [['x', '--model', 'gpt'], "'gpt' is not a model."],
    [['x', '--model', 'gogle/gemini'], "There is no provider 'gogle'."],
    [['x', '--provider', 'antropic'], 'Did you mean anthropic?'],
    [['x', '--provider', 'openai-compatible'], 'Name one: --provider openai-compatible --model NAME'],
  ])('refuses %j, and creates nothing', async (argv, message) => {
    const cwd = temporaryProject({ file: '' });
    expect(await init(argv, cwd)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
    expect(readdirSync(cwd)).toEqual(['file']);
  });

  it('removes what it wrote when a file cannot be written, or when it is interrupted', async () => {
    const files = [
      { path: 'package.json', text: '{"name": "ours"}' },
      { path: 'tools/deep/a.yml', text: 'a' },
      { path: 'taken.yml', text: 'ours' },
    ];
    const cwd = temporaryProject({ 'package.json': '{ "name": "mine" }', 'taken.yml': 'mine' });
    await expect(writeProject(cwd, files)).rejects.toMatchObject({ code: 'cannot_write' });
    expect(filesIn(cwd)).toEqual(['package.json', 'taken.yml']);
    expect(readFileSync(join(cwd, 'package.json'), 'utf8')).toBe('{ "name": "mine" }');
    expect(readFileSync(join(cwd, 'taken.yml'), 'utf8')).toBe('mine');

    const interrupted = new AbortController();
    const stopping = files.map((file, index) =>
      index < 2
        ? file
        : {
            path: 'last.yml',
            get text() {
              interrupted.abort();
              return 'ours';
            },
          },
    );
    const writing = writeProject(join(cwd, 'new', 'project'), stopping, interrupted.signal);
    await expect(writing).rejects.toMatchObject({ name: 'AbortError' });
    expect(readdirSync(cwd)).toEqual(['package.json', 'taken.yml']);
  });
});

describe('the model of a new project', () => {
  const made = async (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const cwd = temporaryProject();
    const { out } = await init(['x', ...argv], cwd, env);
    const folder = join(cwd, 'x');
    const [, model] = /^model: "?([^"\n]+)"?$/m.exec(readFileSync(join(folder, 'agent.yml'), 'utf8')) ?? [];
    return { out, model, folder, dependencies: Object.keys(json(folder, 'package.json').dependencies) };
  };

  it('is the first provider whose key is set, and the key is in no file', async () => {
    const env = { GOOGLE_GENERATIVE_AI_API_KEY: 'AIza-1', OPENAI_API_KEY: 'sk-1' };
    const { out, model, folder, dependencies } = await made([], env);
    expect({ model, dependencies }).toEqual({
      model: 'openai/gpt-5',
      dependencies: ['@ai-sdk/openai', 'telltale'],
    });
    expect(out).toContain('The model is openai/gpt-5: OPENAI_API_KEY is set.');
    expect(out).toContain('npm run chat\n');
    for (const file of filesIn(folder))
      expect(readFileSync(join(folder, file), 'utf8'), file).not.toMatch(/sk-1|AIza-1/);
    expect((await telltale(['validate'], folder)).code).toBe(0);
  });

  it.each([
    [['--provider', 'google'], 'google/gemini-2.5-pro', '@ai-sdk/google'],
    [['--provider', 'openai', '--model', 'gpt-6'], 'openai/gpt-6', '@ai-sdk/openai'],
    [['--provider', 'openai', '--model', 'openai/gpt-6'], 'openai/gpt-6', '@ai-sdk/openai'],
    [['--model', 'anthropic/claude-opus-5'], 'anthropic/claude-opus-5', '@ai-sdk/anthropic'],
    [
      ['--provider', 'openai-compatible', '--model', 'vendor/m'],
      'openai-compatible/vendor/m',
      '@ai-sdk/openai-compatible',
    ],
    [['--provider', 'scripted'], SCRIPT, 'telltale'],
  ])('is what %j says', async (argv, model, dependency) => {
    const found = await made(argv, { ANTHROPIC_API_KEY: 'sk-ant' });
    expect({ model: found.model, first: found.dependencies[0] }).toEqual({ model, first: dependency });
  });

  it('needs its key before a chat, and the last command is one that works without', async () => {
    const { out } = await made(['--provider', 'anthropic']);
    expect(out).toContain('copy .env.example to .env and put ANTHROPIC_API_KEY into it.');
    expect(out.endsWith('Next:\n  cd x\n  npm install\n  npm test\n')).toBe(true);
  });

  /** Someone at a terminal who presses these keys, one question after the other. */
  async function asked(env: Readonly<Record<string, string>>, keys: readonly string[]) {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 40 });
    const left = [...keys];
    let screen = '';
    output.on('data', (chunk) => {
      screen += chunk;
      // A question has been drawn: its answer.
      if (/[◆]/.test(String(chunk))) setImmediate(() => input.write(left.shift() ?? ''));
    });
    const terminal = { input: input as never, output: output as never };
    const model = await askModel({ env, signal: new AbortController().signal }, terminal);
    return { model, screen };
  }

  it('is asked for on a terminal, with the providers whose key is set on top', async () => {
    const { model, screen } = await asked({ OPENAI_API_KEY: 'sk-1' }, ['\r']);
    expect(model).toMatchObject({ provider: 'openai', model: 'openai/gpt-5', hasKey: true });
    expect(screen).toMatch(/OpenAI \(OPENAI_API_KEY is set\)[\s\S]*Anthropic \(needs ANTHROPIC_API_KEY\)/);
    // Without any key, Enter chooses what runs.
    expect((await asked({}, ['\r'])).model).toMatchObject({ provider: 'scripted', model: SCRIPT });
  });

  it('gets the key that is typed, in .env alone', async () => {
    const anthropic = `${UP.repeat(4)}\r`;
    const { model } = await asked({}, [anthropic, 'sk-ant-1\r']);
    expect(model).toMatchObject({ provider: 'anthropic', hasKey: true, key: 'sk-ant-1' });
    expect((await asked({}, [anthropic, '\r'])).model).toMatchObject({ hasKey: false });
    const choice = { name: 'a', yaml: false, dependency: '^1.0.0', schemas: {} };
    const withKey = projectFiles({ ...choice, ...model! }).filter(({ text }) => text.includes('sk-ant-1'));
    expect(withKey).toEqual([{ path: '.env', text: 'ANTHROPIC_API_KEY=sk-ant-1\n', secret: true }]);
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('is none after %s', async (_, key) => {
    const { model, screen } = await asked({}, [key]);
    expect(model).toBeUndefined();
    expect(screen).toContain('Nothing was created.');
  });
});

describe('the Telltale of a new project', () => {
  const installed = (resolved: string | undefined, declared = '^1.0.0') => {
    const lock = { packages: { 'node_modules/telltale': { version: '1.2.3', resolved } } };
    const cwd = temporaryProject({
      'telltale-1.2.3.tgz': '',
      'app/package.json': JSON.stringify({ devDependencies: { telltale: declared } }),
      'app/node_modules/telltale/package.json': '{}',
      ...(resolved === undefined ? {} : { 'app/node_modules/.package-lock.json': JSON.stringify(lock) }),
    });
    return { cwd, spec: ownDependency(join(cwd, 'app', 'node_modules', 'telltale'), '1.2.3') };
  };

  it('is the folder of a checkout', () => {
    expect(ownDependency('/src/telltale repo/telltale', '1.2.3')).toBe('file:/src/telltale repo/telltale');
  });

  it('is the tarball that it was installed from, while that is there', () => {
    const { cwd, spec } = installed('file:../telltale-1.2.3.tgz');
    expect(spec).toBe(`file:${join(cwd, 'telltale-1.2.3.tgz')}`);
    expect(installed('file:../gone.tgz').spec).toBe('^1.2.3');
    const undeclared = installed(undefined, 'file:../telltale-1.2.3.tgz');
    expect(undeclared.spec).toBe(`file:${join(undeclared.cwd, 'telltale-1.2.3.tgz')}`);
  });

  it('is its version from a registry, and the address of anything else', () => {
    expect(installed('https://registry.example/telltale/-/telltale-1.2.3.tgz').spec).toBe('^1.2.3');
    expect(installed(undefined).spec).toBe('^1.2.3');
    expect(installed('https://ci.example/builds/telltale.tgz').spec).toBe(
      'https://ci.example/builds/telltale.tgz',
    );
    expect(installed('git+ssh://git@example.com/t/telltale.git#abc').spec).toBe(
      'git+ssh://git@example.com/t/telltale.git#abc',
    );
  });

  it('is found from the store of pnpm, too', () => {
    const { cwd } = installed(undefined, 'file:../telltale-1.2.3.tgz');
    const linked = join(cwd, 'app', 'node_modules', '.pnpm', 'telltale@1', 'node_modules', 'telltale');
    expect(ownDependency(linked, '1.2.3')).toBe(`file:${join(cwd, 'telltale-1.2.3.tgz')}`);
  });
});

it('telltale test refuses a folder without tests', async () => {
  expect(await telltale(['test'], temporaryProject())).toMatchObject({
    code: 2,
    err: expect.stringContaining('No file matches test/**/*.test.{ts,js,mjs}.'),
  });
});

it('.env adds variables to the environment, but sets none anew and none to nothing', () => {
  const cwd = temporaryProject({ '.env': '# keys\nA=1\nB="two words"\nC=\nD=file\n' });
  expect(withEnvFile({ D: 'set' }, cwd)).toEqual({ A: '1', B: 'two words', D: 'set' });
  expect(withEnvFile({ D: 'set' }, join(cwd, 'nowhere'))).toEqual({ D: 'set' });
});

it.each([
  ['/x/my-agent', 'my_agent'],
  ['/x/My Agent (2)', 'my_agent_2'],
  ['/x/42', 'my_agent'],
  ['/x/NUL', 'my_agent'],
  ['/x/Überall', 'berall'],
])('a project in %s is called %s', (folder, name) => {
  expect(nameOfFolder(folder)).toBe(name);
  expect(isProjectName(name)).toBe(true);
});

it('Windows can have all of its file names', async () => {
  const cwd = temporaryProject();
  for (const path of JSON.parse((await init(['--json'], cwd)).out).files)
    expect(path).toMatch(/^(?:[a-z.][\w.-]*\/)*[\w.-]+$/i);
  expect(existsSync(join(cwd, '.env'))).toBe(false);
});
