import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createRuntime, defineAgent } from '../../src/index.ts';
import { findSandbox } from '../../src/tools/process/find-sandbox.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import {
  attack,
  attackedProject,
  cli,
  cliOn,
  daemonIn,
  outcomes,
  shell,
  textOf,
  transcript,
  write,
} from './hostile-agent.ts';

const EVIL_TOOL = 'kind: Tool\nname: evil\nimplementation: { module: ./evil.mjs }\n';
const EVIL_AGENT =
  'kind: Agent\nname: evil\nmodel: scripted:./x.yml\npermissions: { shell: allow, sandbox: off }\n';
const GOOD_TOOL = 'kind: Tool\nname: good\nimplementation: { module: ./good.mjs }\n';
const TOOLS = { 'tools/good.yml': GOOD_TOOL, 'tools/good.mjs': 'export const run = () => 1;\n' };
const NO = 'not_permitted';

describe('the tool filesystem', { timeout: 60_000 }, () => {
  test('creates no file that an import glob matches, and no module next to it', async () => {
    const paths = ['tools/evil.yml', 'tools/evil.mjs', 'Tools/EVIL.YML', 'tools/../tools/other.yml'];
    const folder = attackedProject({
      tools: ['./tools/*.yml'],
      files: TOOLS,
      calls: [...paths.map((path) => write(path, EVIL_TOOL)), write('tools/notes.md', 'Plain notes.\n')],
    });
    expect(await outcomes(folder)).toEqual([NO, NO, NO, NO, 'ok']);
    for (const path of paths.slice(0, 2)) expect(existsSync(join(folder, path)), path).toBe(false);
  });

  test('writes no .env where the command line reads it: the next key would go where it says', async () => {
    const calls = ['.env', '.ENV', 'package/.env'].map((path) =>
      write(path, 'OPENAI_BASE_URL=http://evil\n'),
    );
    expect(await outcomes(attackedProject({ calls }))).toEqual([NO, NO, 'ok']);
  });

  test('does not create the folder of an import glob that matches nothing yet', async () => {
    const folder = attackedProject({
      calls: [write('later/evil.yml', EVIL_TOOL), write('later/deep/evil.yml', EVIL_TOOL)],
    });
    writeFileSync(
      join(folder, 'other.yml'),
      'kind: Agent\nname: other\nmodel: scripted:./x.yml\nimport: { tools: ["./later/**/*.yml"] }\n',
    );
    expect(await outcomes(folder)).toEqual([NO, NO]);
    expect(existsSync(join(folder, 'later'))).toBe(false);
  });

  test('makes no manifest anywhere in the project, neither at once nor by an edit', async () => {
    const edit = (path: string, old_text: string, new_text: string) => ({
      name: 'filesystem',
      parameters: { operation: 'edit', path, old_text, new_text },
    });
    const folder = attackedProject({
      files: { 'data.yml': 'sort: Agent\nname: x\n', 'work/list.json': '{ "sort": "Agent" }\n' },
      calls: [
        write('evil.yml', EVIL_AGENT),
        write('agents/evil.yaml', EVIL_AGENT),
        write('work/EVIL.JSON', '{ "kind": "Agent", "name": "evil" }'),
        write('work/evil.yml', `\uFEFF${EVIL_AGENT}`),
        write('work/evil.yml', `apiVersion: x\n${EVIL_AGENT}`),
        edit('data.yml', 'sort', 'kind'),
        edit('work/list.json', 'sort', 'kind'),
        write('work/deploy.yml', 'apiVersion: v1\nkind: Deployment\n'),
        write('data.yml', 'sort: other\n'),
      ],
    });
    expect(await outcomes(folder)).toEqual([NO, NO, NO, NO, NO, NO, NO, 'ok', 'ok']);
    expect(existsSync(join(folder, 'agents'))).toBe(false);
  });

  test('makes no manifest that somebody could name, however its kind is spelled', async () => {
    const texts = [
      '{ kind: Agent, name: evil, model: "scripted:./x.yml" }\n',
      '? kind\n: Agent\n',
      '!!str kind: Tool\nname: evil\n',
      '&a kind: Workflow\nname: evil\n',
      '"k\\x69nd": Agent\nname: evil\n',
      'kind: "A\\u0067ent"\nname: evil\n',
      'kind:\n  Agent\nname: evil\n',
      'kind: |-\n  Agent\nname: evil\n',
      'list: []\n---\n{ "name": "evil", kind: Tool }\n',
    ];
    const folder = attackedProject({
      calls: [
        ...texts.map((text, index) => write(`work/evil${index}.yml`, text)),
        write('work/evil.json', '{ "k\\u0069nd": "Agent", "name": "evil" }'),
        write('work/plain.yml', 'services: { web: { kind: Agent } }\n'),
        write('work/deploy.yml', '{ apiVersion: v1, kind: Workflow }\n'),
      ],
    });
    expect(await outcomes(folder)).toEqual([...texts.map(() => NO), NO, 'ok', 'ok']);
  });

  test('changes nothing that the environment of the process has Node load, and nothing of Telltale itself', async () => {
    const home = fileURLToPath(new URL('../../', import.meta.url));
    const own = ['src', 'bin', 'dist', 'bundle', 'node_modules'].map((path) => join(home, path, 'evil.js'));
    onTestFinished(() => {
      for (const path of own) rmSync(path, { force: true });
    });
    const folder = attackedProject({
      permissions: `{ shell: deny, paths: [".", ${JSON.stringify(home)}] }`,
      files: { 'first.cjs': "require('./deep/second.cjs');\n", 'deep/second.cjs': '', 'setup/third.mjs': '' },
      calls: [
        write('first.cjs', 'x'),
        write('deep/second.cjs', 'x'),
        write('setup/third.mjs', 'x'),
        write('shared/node.js', 'x'),
        ...own.map((path) => write(path, 'x')),
        write('deep/free.txt', 'x'),
      ],
    });
    const env = {
      NODE_OPTIONS: '--require ./first.cjs --import=./setup/third.mjs --max-old-space-size=4096',
      NODE_PATH: 'shared',
    };
    await cliOn({ cwd: folder, env }, 'run', 'agent.yml', 'Go.');
    const events = (await cli(folder, 'logs', 'last', '--json')).out;
    const refused = events.split('\n').filter((line) => line.includes('"action.failed"'));
    expect(refused).toHaveLength(9);
    for (const line of refused) expect(line).toContain('cannot be written by agents');
    expect(textOf(folder, 'deep/free.txt')).toBe('x');
  });

  test('changes nothing that the agent, or another agent of the project, is made of', async () => {
    const other =
      'kind: Agent\nname: other\nmodel: scripted:./other-turns.yml\nimport: { tools: [./kit/own.yml, ./kit/script.yml, { mcp: { name: m, command: node, args: [kit/server.mjs] } }] }\nhooks: { pre_action: [{ command: [node, kit/hook.mjs] }] }\n';
    const files = {
      'team/other.yml': other,
      'team/other-turns.yml': 'turns: [x]\n',
      'team/kit/own.yml': 'kind: Tool\nname: own\nimplementation: { module: ./own.mjs }\n',
      'team/kit/own.mjs':
        "import './lib.mjs';\nimport '#inner';\nimport 'linked';\nconst load = (n) => import(`./plugins/${n}.mjs`);\nexport const run = load;\n",
      'team/kit/lib.mjs': '',
      'team/kit/script.yml': 'kind: Tool\nname: script\nimplementation: { command: [node, run.mjs] }\n',
      'team/kit/run.mjs': '',
      'team/kit/server.mjs': '',
      'team/kit/hook.mjs': '',
      'packages/linked/index.mjs': '',
    };
    const closed = [
      'agent.yml',
      'turns.yml',
      'telltale.yml',
      'context_variables.json',
      'package.json',
      'tsconfig.json',
      'node_modules/x/index.js',
      'team/node_modules/x/index.js',
      'team/kit/node_modules/x/index.js',
      'packages/linked/index.mjs',
      'team/package.json',
      'team/other.yml',
      'team/other-turns.yml',
      'team/kit/own.yml',
      'team/kit/own.mjs',
      'team/kit/lib.mjs',
      'team/kit/new.mjs',
      'team/kit/run.mjs',
      'team/kit/server.mjs',
      'team/kit/hook.mjs',
      '.telltale/telltale.db',
      'sub/.telltale/telltale.db',
    ];
    const folder = attackedProject({ files, calls: closed.map((path) => write(path, 'x')) });
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync('../packages/linked', join(folder, 'node_modules/linked'));
    expect(await outcomes(folder)).toEqual(closed.map(() => NO));
    expect(textOf(folder, 'team/kit/lib.mjs')).toBe('');
    expect(existsSync(join(folder, 'sub'))).toBe(false);
  });

  test('does not reach a manifest through a link that is already there', async () => {
    const folder = attackedProject({
      tools: ['./tools/*.yml'],
      files: { ...TOOLS, 'data/plain.txt': 'x' },
      calls: [
        write('data/plain.txt', EVIL_TOOL),
        write('data/later.txt', EVIL_TOOL),
        write('alias/evil.yml', EVIL_TOOL),
      ],
    });
    symlinkSync('../data/later.txt', join(folder, 'later.yml'));
    symlinkSync('data/later.txt', join(folder, 'dangling.yml'));
    symlinkSync('tools', join(folder, 'alias'));
    linkSync(join(folder, 'data/plain.txt'), join(folder, 'twin.txt'));
    expect(await outcomes(folder)).toEqual(['ok', NO, NO]);
    expect(textOf(folder, 'twin.txt')).toBe('x'); // a write replaces the file, not what other names lead to
  });

  test('leaves no folder behind where a write is refused', async () => {
    const folder = attackedProject({
      calls: [
        write(`made/one/${'x'.repeat(300)}.txt`, 'x'),
        write('made/two/evil.yml', EVIL_AGENT),
        write('made/three/.git/config', 'x'),
        write('ok/deep/file.txt', 'x'),
      ],
    });
    expect(await outcomes(folder)).toEqual(['bad_parameters', NO, NO, 'ok']);
    expect(existsSync(join(folder, 'made'))).toBe(false);
    expect(textOf(folder, 'ok/deep/file.txt')).toBe('x');
  });
});

const sandbox = await findSandbox({ PATH: process.env.PATH });
const inSandbox = sandbox.found ? describe : describe.skip;

inSandbox('a command in the sandbox', { timeout: 60_000 }, () => {
  const permissions = '{ shell: allow, sandbox: require }';
  const tools = ['builtin:shell', './tools/*.yml'];

  test('creates, renames and links nothing into a place that is loaded from', async () => {
    const tries = [
      'printf "kind: Agent" > evil.yml',
      'printf "kind: Agent" > data.yml',
      'printf x > tools/idle.mjs',
      'printf "kind: Tool" > tools/evil.yml',
      'cp work/x.txt tools/evil.mjs',
      'ln -s ../work/x.txt tools/evil.yml',
      'ln work/x.txt evil.yml',
      'mv work/x.txt evil.yml',
      'mkdir node_modules',
      'mkdir tools/node_modules',
      'mkdir agents',
      'touch telltale.yml',
      'echo "{}" > tools/package.json',
      'echo x >> agent.yml',
      'echo OPENAI_BASE_URL=http://evil >> .env',
      'echo x >> tools/good.mjs',
      'mv tools old',
      'rm -rf tools/good.yml',
      'echo x >> .git/config',
      'mkdir -p .git/hooks && echo x > .git/hooks/pre-commit',
      'chmod 777 agent.yml',
      'mkdir .telltale/x',
      'echo "turns: [x]" > turns/later.yml',
    ];
    const folder = attackedProject({
      tools,
      permissions,
      files: {
        ...TOOLS,
        'work/x.txt': 'x',
        'data.yml': 'plain: 1\n',
        '.env': 'A=1\n',
        'tools/idle.mjs': '',
        'turns/first.yml': 'turns: [x]\n',
        'other.yml': 'kind: Agent\nname: other\nmodel: scripted:./turns/later.yml\n',
      },
      calls: tries.map((command) => shell(`(${command}) && echo done`)),
    });
    execFileSync('git', ['init', '--quiet'], { cwd: folder });
    mkdirSync(join(folder, '.git/hooks'), { recursive: true });
    const before = execFileSync('find', ['.', '-path', './.telltale', '-prune', '-o', '-print'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const out = await attack(folder);
    expect(out).not.toContain('"stdout":"done');
    const after = execFileSync('find', ['.', '-path', './.telltale', '-prune', '-o', '-print'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(after.split('\n').sort()).toEqual(before.split('\n').sort());
    expect(textOf(folder, 'tools/good.yml')).toBe(GOOD_TOOL);
    expect(textOf(folder, '.env')).toBe('A=1\n');
  });

  test('gets at nothing under the other name of a file that is closed or denied', async () => {
    const folder = attackedProject({
      tools,
      permissions: '{ shell: allow, sandbox: require, paths: { allow: ["."], deny: [secret.txt] } }',
      files: { ...TOOLS, 'work/deep/x.txt': 'x', 'secret.txt': 'hush\n' },
      calls: [
        shell('echo evil >> work/deep/module.txt'),
        shell('cat work/deep/secret.txt'),
        shell('cat work/deep/store.txt | head -c 6'),
        shell('cat work/deep/x.txt'),
      ],
    });
    linkSync(join(folder, 'tools/good.mjs'), join(folder, 'work/deep/module.txt'));
    linkSync(join(folder, 'secret.txt'), join(folder, 'work/deep/secret.txt'));
    mkdirSync(join(folder, '.telltale'), { recursive: true });
    writeFileSync(join(folder, '.telltale/kept.txt'), 'stored\n');
    linkSync(join(folder, '.telltale/kept.txt'), join(folder, 'work/deep/store.txt'));
    const out = await attack(folder);
    expect(textOf(folder, 'tools/good.mjs')).toBe(TOOLS['tools/good.mjs']);
    expect(out).not.toContain('hush');
    expect(out).not.toContain('stored');
    expect(out).toContain('"stdout":"x"');
  });

  test('opens nothing of another agent by filling a folder of its own', { timeout: 240_000 }, async () => {
    const folder = attackedProject({
      tools: ['builtin:shell'],
      permissions,
      files: {
        'aaa/x': '',
        'team/agent.yml':
          'kind: Agent\nname: second\nmodel: scripted:./turns.yml\nimport: { tools: [./kit/own.yml] }\n',
        'team/turns.yml': 'turns: [x]\n',
        'team/kit/own.yml': 'kind: Tool\nname: own\nimplementation: { module: ./own.mjs }\n',
        'team/kit/own.mjs': 'export const run = () => 1;\n',
      },
      calls: [shell('cd aaa && seq 1 100100 | xargs touch')],
    });
    await attack(folder);
    writeFileSync(
      join(folder, 'turns.yml'),
      transcript([
        write('team/kit/own.mjs', 'x'),
        write('team/kit/new.mjs', 'x'),
        shell('touch team/kit/new.mjs || exit 7'),
      ]),
    );
    const out = await attack(folder);
    expect(out.match(/cannot be written by agents/g)).toHaveLength(2);
    expect(out).toContain('"exit_code":7');
  });

  test('works as it likes in folders of its own, and changes plain files next to the manifest', async () => {
    const folder = attackedProject({
      tools,
      permissions,
      files: { ...TOOLS, 'work/x.txt': 'x', 'notes.txt': 'one\n' },
      calls: [
        shell(
          'cd work && mkdir -p src node_modules && echo "{}" > package.json && mv x.txt y.txt && echo done',
        ),
        shell('echo two >> notes.txt && echo done'),
        shell('echo new > new.txt'),
      ],
    });
    const out = await attack(folder);
    expect(out.match(/"stdout":"done/g)).toHaveLength(2);
    expect(textOf(folder, 'notes.txt')).toBe('one\ntwo\n');
    expect(existsSync(join(folder, 'work/y.txt'))).toBe(true);
    expect(out).toContain('give the agent a folder of its own');
  });
});

describe('git', { timeout: 120_000 }, () => {
  const git = (operation: string, more: Readonly<Record<string, unknown>> = {}) => ({
    name: 'git',
    parameters: { operation, ...more },
  });
  const raw = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example.com', ...args], {
      cwd,
      encoding: 'utf8',
    }).trim();

  /** A repository whose branch `evil` has more than main: a manifest, a module, a changed agent. */
  function repository(
    calls: Parameters<typeof attackedProject>[0]['calls'],
    evil: Readonly<Record<string, string>>,
  ) {
    const folder = attackedProject({
      tools: ['builtin:git', './tools/*.yml'],
      files: { ...TOOLS, '.gitignore': '.telltale\nremote.git\n', 'src/a.txt': 'one\n' },
      permissions: '{ paths: ["."], shell: deny, sandbox: off }',
      calls,
    });
    raw(folder, 'init', '--quiet', '--initial-branch=main');
    raw(folder, 'add', '.');
    raw(folder, 'commit', '--quiet', '-m', 'first');
    raw(folder, 'checkout', '--quiet', '-b', 'evil');
    for (const [name, text] of Object.entries(evil)) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    raw(folder, 'add', '--force', '.');
    raw(folder, 'commit', '--quiet', '--allow-empty', '-m', 'evil');
    raw(folder, 'checkout', '--quiet', 'main');
    raw(folder, 'clone', '--quiet', '--bare', '.', 'remote.git');
    raw(folder, 'remote', 'add', 'origin', './remote.git');
    return folder;
  }

  test.each([
    ['a tool that a glob imports', { 'tools/evil.yml': EVIL_TOOL }],
    ['an agent in a folder that is served later', { 'src/evil.yml': EVIL_AGENT }],
    ['another version of the agent', { 'agent.yml': EVIL_AGENT }],
    ['a package next to the modules', { 'node_modules/x/index.js': 'x' }],
  ])('does not check out, merge or pull %s', async (_what, evil) => {
    const folder = repository(
      [
        git('checkout', { ref: 'evil' }),
        git('checkout', { ref: 'evil', paths: ['.'] }),
        git('checkout', { ref: 'evil', paths: Object.keys(evil) }),
        git('merge', { ref: 'evil' }),
        git('pull', { branch: 'evil' }),
      ],
      { ...evil, 'src/b.txt': 'two\n' },
    );
    expect(await outcomes(folder)).toEqual([NO, NO, NO, NO, NO]);
    expect(raw(folder, 'status', '--short')).toBe('');
    expect(raw(folder, 'branch', '--show-current')).toBe('main');
    expect(existsSync(join(folder, 'src/b.txt'))).toBe(false);
  });

  test('does not restore closed files from a tree, a merge base, or anything else that is no name of a commit', async () => {
    const evil = { 'tools/evil.yml': EVIL_TOOL };
    const folder = repository([], evil);
    raw(folder, 'branch', 'second', 'evil');
    const tree = raw(folder, 'rev-parse', 'evil^{tree}');
    raw(folder, 'tag', 'tagged', tree);
    const paths = ['tools'];
    const calls = [
      git('checkout', { ref: 'evil^{tree}', paths }),
      git('checkout', { ref: tree, paths }),
      git('checkout', { ref: tree.slice(0, 9), paths }),
      git('checkout', { ref: 'tagged', paths }),
      git('checkout', { ref: 'evil...second', paths }),
      git('checkout', { ref: 'evil...second' }),
      git('checkout', { ref: 'second...evil' }),
      git('merge', { ref: 'evil...second' }),
      git('checkout', { ref: 'main^{tree}', paths: ['src'] }),
    ];
    writeFileSync(join(folder, 'turns.yml'), transcript(calls));
    const UNKNOWN = 'command_failed';
    expect(await outcomes(folder)).toEqual([NO, NO, NO, NO, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 'ok']);
    expect(existsSync(join(folder, 'tools/evil.yml'))).toBe(false);
    expect(raw(folder, 'branch', '--show-current')).toBe('main');
  });

  test('does not restore closed files from the index of a merge with conflicts', async () => {
    const folder = repository([git('checkout', { paths: ['tools', 'src'] })], {});
    const blob = execFileSync('git', ['hash-object', '-w', '--stdin'], {
      cwd: folder,
      encoding: 'utf8',
      input: EVIL_TOOL,
    }).trim();
    // What a command in the sandbox can put into the index.
    execFileSync('git', ['update-index', '--index-info'], {
      cwd: folder,
      input: `100644 ${blob} 0\ttools/evil.yml\n100644 ${blob} 1\tconflict.txt\n`,
    });
    expect(await outcomes(folder)).toEqual(['command_failed']);
    expect(existsSync(join(folder, 'tools/evil.yml'))).toBe(false);
  });

  test('does not check out a link into a place that is loaded from', async () => {
    const folder = repository([git('checkout', { ref: 'evil' })], {});
    raw(folder, 'checkout', '--quiet', 'evil');
    symlinkSync('../src/a.txt', join(folder, 'tools/linked.yml'));
    symlinkSync('src', join(folder, 'agents'));
    raw(folder, 'add', '.');
    raw(folder, 'commit', '--quiet', '-m', 'links');
    raw(folder, 'checkout', '--quiet', 'main');
    expect(await outcomes(folder)).toEqual([NO]);
    expect(existsSync(join(folder, 'agents'))).toBe(false);
  });

  test('checks out, merges, pulls and restores what is not loaded', async () => {
    const folder = repository(
      [
        git('checkout', { ref: 'evil' }),
        git('checkout', { ref: 'main' }),
        git('merge', { ref: 'evil' }),
        git('checkout', { ref: 'HEAD~1', paths: ['src/a.txt'] }),
        git('pull', { branch: 'evil' }),
      ],
      { 'src/b.txt': 'two\n', 'README.md': 'read me\n', 'src/a.txt': 'changed\n' },
    );
    expect(await outcomes(folder)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
    expect(textOf(folder, 'README.md')).toBe('read me\n');
    expect(textOf(folder, 'src/a.txt')).toBe('one\n');
    expect(raw(folder, 'branch', '--show-current')).toBe('main');
  });

  test('a denied file is neither committed with the rest nor shown by the id of its content', async () => {
    const folder = repository([], {});
    writeFileSync(join(folder, 'secret.txt'), 'hush\n');
    raw(folder, 'add', 'secret.txt');
    raw(folder, 'commit', '--quiet', '-m', 'secret');
    const blob = raw(folder, 'rev-parse', 'HEAD:secret.txt');
    const tree = raw(folder, 'rev-parse', 'HEAD^{tree}');
    const calls = [
      git('show', { ref: blob }),
      git('show', { ref: tree, file: 'secret.txt' }),
      git('show', { ref: tree }),
      git('show', { ref: 'HEAD^{tree}' }),
      git('diff', { from: blob, to: raw(folder, 'rev-parse', 'HEAD:src/a.txt') }),
      git('diff', { from: `${blob}..${raw(folder, 'rev-parse', 'HEAD:src/a.txt')}` }),
      git('show', { ref: 'HEAD', file: '.' }),
      git('commit', { message: 'all', all: true }),
    ];
    writeFileSync(join(folder, 'turns.yml'), transcript(calls));
    writeFileSync(join(folder, 'secret.txt'), 'hush hush\n');
    writeFileSync(join(folder, 'src/a.txt'), 'changed\n');
    const manifest = textOf(folder, 'agent.yml') ?? '';
    writeFileSync(
      join(folder, 'agent.yml'),
      manifest.replace('paths: ["."]', 'paths: { deny: [secret.txt] }'),
    );
    const out = await attack(folder);
    expect(out).not.toContain('hush');
    expect(raw(folder, 'show', 'HEAD:secret.txt')).toBe('hush');
    expect(raw(folder, 'show', 'HEAD:src/a.txt')).toBe('changed');
    const listed = out
      .split('\n')
      .find((line) => line.includes('tree HEAD:.') || line.includes('agent.yml\\n'));
    expect(listed ?? '').not.toContain('secret.txt');
  });
});

/** `git add` fails where an ignored file is named, and what is left out is named to it. */
test('git stages a folder in which denied files and the store are ignored', {
  timeout: 120_000,
}, async () => {
  const add = { name: 'git', parameters: { operation: 'add', paths: ['.'] } };
  const folder = attackedProject({
    tools: ['builtin:git'],
    permissions:
      '{ shell: deny, sandbox: "off", paths: { allow: ["."], deny: [.env, "Odd[1]*.txt", "vault/*", .kept] } }',
    files: {
      '.gitignore': '.telltale/\n.ENV\n.env\nvault/\n',
      '.env': 'hush\n',
      '.kept': 'hush\n',
      'odd[1]a.txt': 'hush\n',
      'vault/key.txt': 'hush\n',
      'plain.txt': 'plain\n',
    },
    calls: [add],
  });
  const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  git('init', '--quiet', '--initial-branch=main');
  git('add', '--force', '.env');
  git('-c', 'user.name=me', '-c', 'user.email=me@example.com', 'commit', '--quiet', '-m', 'first');
  writeFileSync(join(folder, '.env'), 'changed\n');
  expect(await outcomes(folder)).toEqual(['ok']);
  expect(git('diff', '--cached', '--name-only').trim().split('\n')).toEqual([
    '.gitignore',
    'agent.yml',
    'package.json',
    'plain.txt',
    'turns.yml',
  ]);
});

describe('permissions.manifests', { timeout: 60_000 }, () => {
  const permissions = '{ shell: deny, manifests: [crew] }';
  const NEW = 'kind: Agent\nname: fresh\nmodel: scripted:./x.yml\n';

  test('a manifest is written once a person has seen the change and approved it', async () => {
    const folder = attackedProject({ permissions, calls: [write('crew/fresh.yml', NEW)] });
    const first = await cli(folder, 'run', 'agent.yml', 'Go.', '--json');
    expect(first.code).toBe(3);
    expect(existsSync(join(folder, 'crew'))).toBe(false);
    const shown = await cli(folder, 'reviews', 'show', 'last');
    expect(shown.out).toContain('+++ crew/fresh.yml');
    expect(shown.out).toContain('+kind: Agent');
    expect((await cli(folder, 'reviews', 'approve', 'last')).code).toBe(0);
    await cli(folder, 'resume', 'last');
    expect(textOf(folder, 'crew/fresh.yml')).toBe(NEW);
  });

  test('an approval is for one change of one file: a file that changed since is asked about again', async () => {
    const folder = attackedProject({
      permissions,
      files: { 'crew/old.yml': NEW },
      calls: [write('crew/old.yml', `${NEW}description: changed\n`)],
    });
    await cli(folder, 'run', 'agent.yml', 'Go.', '--json');
    expect((await cli(folder, 'reviews', 'approve', 'last')).code).toBe(0);
    writeFileSync(join(folder, 'crew/old.yml'), `${NEW}description: by a person\n`);
    expect((await cli(folder, 'resume', 'last')).code).toBe(3);
    expect(textOf(folder, 'crew/old.yml')).toBe(`${NEW}description: by a person\n`);
  });

  test('what it does not name stays closed, and so do packages and the store', async () => {
    const folder = attackedProject({
      permissions: '{ shell: deny, manifests: [crew, node_modules, .telltale] }',
      calls: [
        write('agent.yml', EVIL_AGENT),
        write('evil.yml', EVIL_AGENT),
        write('crewed/evil.yml', EVIL_AGENT),
        write('node_modules/x/index.js', 'x'),
        write('.telltale/x', 'x'),
      ],
    });
    expect(await outcomes(folder)).toEqual([NO, NO, NO, NO, NO]);
  });

  test('a rejected change is not written', async () => {
    const folder = attackedProject({ permissions, calls: [write('crew/fresh.yml', NEW)] });
    await cli(folder, 'run', 'agent.yml', 'Go.', '--json');
    await cli(folder, 'reviews', 'reject', 'last');
    await cli(folder, 'resume', 'last');
    expect(existsSync(join(folder, 'crew'))).toBe(false);
  });
});

test('an agent in code is kept from the manifests of its project, too', async () => {
  const folder = temporaryProject({
    'package.json': '{}',
    'tools/good.yml': GOOD_TOOL,
    'turns.yml': transcript([
      write('evil.yml', EVIL_AGENT),
      write('tools/good.yml', EVIL_TOOL),
      write('free.txt', 'x'),
    ]),
  });
  const agent = await defineAgent(
    { name: 'coded', model: 'scripted:./turns.yml', instructions: 'Do it.', tools: ['builtin:filesystem'] },
    { folder },
  );
  const runtime = await createRuntime({ store: 'memory', cwd: folder });
  const session = runtime.start(agent, { input: 'Go.' });
  await session.result;
  await runtime.close();
  expect(existsSync(join(folder, 'evil.yml'))).toBe(false);
  expect(textOf(folder, 'tools/good.yml')).toBe(GOOD_TOOL);
  expect(textOf(folder, 'free.txt')).toBe('x');
});

test('the store and its folder are private, whatever the umask, and existing ones become so', {
  timeout: 60_000,
}, async () => {
  const folder = attackedProject({ calls: [] });
  const modeOf = (path: string) => statSync(join(folder, path)).mode & 0o777;
  const before = process.umask(0);
  try {
    await cli(folder, 'run', 'agent.yml', 'Go.');
    await cli(folder, 'run', 'agent.yml', 'Go.', '--store', 'own/other.db');
  } finally {
    process.umask(before);
  }
  expect(modeOf('.telltale')).toBe(0o700);
  expect(modeOf('.telltale/telltale.db')).toBe(0o600);
  expect(modeOf('own/other.db')).toBe(0o600);
  for (const [path, mode] of [
    ['.telltale', 0o755],
    ['.telltale/telltale.db', 0o644],
  ] as const)
    execFileSync('chmod', [mode.toString(8), join(folder, path)]);
  await cli(folder, 'run', 'agent.yml', 'Go.');
  expect([modeOf('.telltale'), modeOf('.telltale/telltale.db')]).toEqual([0o700, 0o600]);
});

describe('telltale serve and dev', { timeout: 90_000 }, () => {
  const session = async (folder: string, command: string, ...args: readonly string[]) => {
    const daemon = await daemonIn(folder, command, ...args);
    const { id } = await daemon.post('/sessions', { agent: 'hostile', input: 'Go.' });
    await expect
      .poll(() => daemon.get(`/sessions/${id}`), { timeout: 60_000 })
      .toMatchObject({ status: 'completed' });
    return daemon;
  };

  test.each([
    ['dev', []],
    ['dev', ['.']],
    ['serve', ['.']],
  ] as const)('%s %j loads nothing that an agent wrote, now or at the next start', async (command, args) => {
    const folder = attackedProject({
      tools: ['builtin:shell', './tools/*.yml'],
      permissions: '{ shell: allow, sandbox: require }',
      files: { ...TOOLS, 'work/x.txt': 'x' },
      calls: [
        write('evil.yml', EVIL_AGENT),
        write('tools/evil.yml', EVIL_TOOL),
        write('work/evil.yml', EVIL_AGENT),
        shell(
          'printf "kind: Agent\nname: evil\nmodel: scripted:../turns.yml\n" > work/made.yml; cp work/made.yml evil.yml; cp work/made.yml tools/evil.yml; mkdir agents',
        ),
      ],
    });
    const daemon = await session(folder, command, ...args);
    expect(textOf(folder, 'work/made.yml')).toContain('name: evil');
    expect(existsSync(join(folder, 'evil.yml'))).toBe(false);
    await daemon.stop();
    const next = await daemonIn(folder, command, ...args);
    const listed = JSON.stringify(await next.get('/agents'));
    const started = await next.post('/sessions', { agent: 'evil', input: 'Go.' });
    expect(started).not.toHaveProperty('id');
    if (args.length > 0) expect(listed).toContain('manifest_in_workspace');
    await next.stop();
  });

  test('an agent of a served folder is kept from the manifests of all its projects', async () => {
    const folder = temporaryProject({
      'one/package.json': '{}',
      'one/agent.yml': `kind: Agent\nname: hostile\nmodel: scripted:./turns.yml\nimport: { tools: ["builtin:filesystem"] }\npermissions: { paths: [".."] }\n`,
      'one/turns.yml': transcript([
        write('../two/agent.yml', EVIL_AGENT),
        write('../two/kit/tool.mjs', 'x'),
        write('../three/agent.yml', EVIL_AGENT),
        write('../two/free.txt', 'x'),
      ]),
      'two/package.json': '{}',
      'two/agent.yml':
        'kind: Agent\nname: second\nmodel: scripted:./x.yml\nimport: { tools: [./kit/tool.yml] }\n',
      'two/kit/tool.yml': 'kind: Tool\nname: tool\nimplementation: { module: ./tool.mjs }\n',
      'two/kit/tool.mjs': 'export const run = () => 1;\n',
    });
    const daemon = await session(folder, 'serve', '.');
    expect(textOf(folder, 'two/agent.yml')).toContain('second');
    expect(textOf(folder, 'two/kit/tool.mjs')).toContain('run');
    expect(existsSync(join(folder, 'three'))).toBe(false);
    expect(textOf(folder, 'two/free.txt')).toBe('x');
    await daemon.stop();
  });
});
