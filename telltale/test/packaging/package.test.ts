import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createConsumer, type Packed, pack, root, run, runNode } from './packed.ts';

let folder: string;
let packed: Packed;
let consumer: string;
const manifest = JSON.parse(readFileSync(join(root, 'telltale', 'package.json'), 'utf8'));

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-pack-')));
  packed = await pack(folder);
  consumer = await createConsumer(folder, packed);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('npm start in a clone is named in what the command line prints', async () => {
  const launcher = join(root, 'scripts', 'launch.js');
  const { code, output } = await run(process.execPath, [launcher, 'start', 'resmue'], root);
  expect({ code, output }).toEqual({ code: 2, output: expect.stringContaining('\n  npm start -- resmue\n') });
});

describe('the tarball', () => {
  const ALLOWED =
    /^(bin\/[\w-]+\.js|bundle\/.+\.js|dist\/.+\.(js|d\.ts)|transcripts\/(?:coding|tour)\/(?:[\w-]+\/)*[\w.-]+\.(?:yml|m?js|json|csv|md)|docs\/[\w-]+\.md|web\/(?:index\.html|favicon\.svg|assets\/[\w.-]+\.(?:js|css))|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;

  test('holds what users need and nothing else', () => {
    expect(packed.files.filter((file) => !ALLOWED.test(file))).toEqual([]);
    expect(packed.files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'package.json',
        'bin/telltale.js',
        'dist/index.js',
        'docs/manifests.md',
        'transcripts/tour/agent.yml',
        'web/index.html',
        'dist/index.d.ts',
      ]),
    );
  });

  test('holds every file that package.json points at', () => {
    const targets = (value: unknown): readonly string[] =>
      typeof value === 'string' ? [value] : Object.values(value as object).flatMap(targets);
    const paths = [...targets(manifest.exports), ...targets(manifest.bin)].map((path) =>
      path.replace(/^\.\//, ''),
    );
    expect(paths.length).toBeGreaterThan(0);
    expect(packed.files).toEqual(expect.arrayContaining(paths));
  });

  test('holds a bundle of every entry, every thread and what they load', () => {
    const inBundle = packed.files.filter((file) => file.startsWith('bundle/') && !file.includes('/chunks/'));
    const entries = Object.values(manifest.exports as Record<string, string | { default: string }>).flatMap(
      (entry) => (typeof entry === 'string' ? [] : [entry.default.replace('./dist/', 'bundle/')]),
    );
    expect(inBundle).toEqual(expect.arrayContaining([...entries, 'bundle/cli/start.js']));
    expect(inBundle.filter((file) => file.endsWith('/thread/worker.js'))).toHaveLength(4);
    expect(packed.files).toEqual(
      expect.arrayContaining(inBundle.map((file) => file.replace('bundle/', 'dist/'))),
    );
  });

  test('holds the types of every module', () => {
    const modules = packed.files.filter((file) => /^dist\/.+\.js$/.test(file));
    expect(packed.files).toEqual(
      expect.arrayContaining(modules.map((file) => file.replace(/\.js$/, '.d.ts'))),
    );
  });

  test('is found faultless by publint', async () => {
    const { messages, pkg } = await publint({
      pkgDir: join(consumer, 'node_modules', 'telltale'),
      strict: true,
      pack: false,
    });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test('has types where attw looks for them', async () => {
    const attw = '@arethetypeswrong/cli/dist/index.js';
    const { code, output } = await runNode(
      attw,
      [packed.tarball, '--profile', 'esm-only', '--no-color'],
      root,
    );
    expect(output).toContain('telltale/protocol');
    expect(output).toContain('telltale/testing');
    expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
  });
});

describe('a project that installs it', () => {
  test('can import every entry and package.json', async () => {
    const file = join(consumer, 'import.js');
    writeFileSync(
      file,
      `import { RuntimeError } from 'telltale';
       import { createTagParser } from 'telltale/protocol';
       import { scripted } from 'telltale/testing';
       import manifest from 'telltale/package.json' with { type: 'json' };
       const events = [...createTagParser().push('<thought>x</thought>')];
       const { id } = scripted([]);
       console.log(new RuntimeError('a_code', 'A message.').code, events.length > 0, id, manifest.version);`,
    );
    expect(await run(process.execPath, [file], consumer)).toMatchObject({
      code: 0,
      output: `a_code true scripted ${manifest.version}\n`,
    });
  });

  test('gets every entry from one copy of the package, in a few files', async () => {
    const file = join(consumer, 'copies.js');
    writeFileSync(
      file,
      `import { registerHooks } from 'node:module';
       const files = new Set();
       registerHooks({
         load(url, context, next) {
           if (url.includes('/telltale/')) files.add(url.split('/telltale/').at(-1));
           return next(url, context);
         },
       });
       const { RuntimeError } = await import('telltale');
       const imported = files.size;
       const client = await import('telltale/client');
       await import('telltale/protocol');
       await import('telltale/testing');
       await import('telltale/server');
       const compiled = [...files].filter((name) => name.startsWith('dist/'));
       console.log(client.RuntimeError === RuntimeError, imported < 10, JSON.stringify(compiled));`,
    );
    expect(await run(process.execPath, [file], consumer)).toMatchObject({
      code: 0,
      output: 'true true []\n',
    });
  });

  test('cannot reach past the entries', async () => {
    const file = join(consumer, 'reach.js');
    writeFileSync(file, "import 'telltale/dist/index.js';");
    const { code, output } = await run(process.execPath, [file], consumer);
    expect(code).toBe(1);
    expect(output).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  test.concurrent.each([
    ['7', '@typescript/native/bin/tsc', 'nodenext', 'nodenext'],
    ['7', '@typescript/native/bin/tsc', 'esnext', 'bundler'],
    ['6', 'typescript/bin/tsc6', 'nodenext', 'nodenext'],
    ['6', 'typescript/bin/tsc6', 'esnext', 'bundler'],
  ])(
    'gets types from TypeScript %s (%s --module %s --moduleResolution %s)',
    async (version, tsc, module, resolution) => {
      const name = `types-${version}-${resolution}.ts`;
      // The expected errors prove that the types have arrived and are not any.
      writeFileSync(
        join(consumer, name),
        `import * as entry from 'telltale';
       import { createTagParser, type TagParser } from 'telltale/protocol';
       import { scripted } from 'telltale/testing';
       export const parser: TagParser = createTagParser({ max_body: 1024 });
       export const error: entry.RuntimeError<'a_code'> = new entry.RuntimeError('a_code', 'A message.', { hint: 'Do.' });
       const parameters = { '~standard': {
         version: 1, vendor: 'own', types: undefined as { input: { n: number }, output: { n: number } } | undefined,
         validate: (value: unknown) => ({ value: value as { n: number } }),
       } } as const;
       export const tool = entry.defineTool({ name: 'twice', parameters, run: ({ n }) => n * 2 });
       // @ts-expect-error
       entry.defineTool({ name: 'twice', parameters, run: ({ n }) => n.trim() });
       export const agent = entry.defineAgent({ name: 'a', model: scripted([]), tools: [tool], limits: { turns: 3 } });
       // @ts-expect-error
       entry.defineAgent({ name: 'a', limits: { turn: 3 } });
       // @ts-expect-error
       parser.push(1);
       // @ts-expect-error
       export const wrong: number = error.code;`,
      );
      const strict = [
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        'false',
        '--skipDefaultLibCheck',
        '--exactOptionalPropertyTypes',
        '--target',
        'es2023',
      ];
      const flags = [...strict, '--lib', 'es2023,dom', '--module', module, '--moduleResolution', resolution];
      expect(await runNode(tsc, [...flags, name], consumer)).toMatchObject({ code: 0, output: '' });
    },
  );

  test('gets the command line', async () => {
    const { code, stdout } = await run('npx', ['--no-install', 'telltale', '--version'], consumer);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${manifest.version}\n` });
  });

  test('gets what its tools import in the same copy that runs them', async () => {
    const project = join(consumer, 'shop');
    mkdirSync(project);
    const files = {
      'agent.yml': 'kind: Agent\nname: shop\nmodel: scripted:./turns.yml\nimport: { tools: [./stock.yml] }\n',
      'stock.yml': 'kind: Tool\nname: stock\nimplementation: { module: ./stock.mjs }\n',
      'stock.mjs': `import { RuntimeError } from 'telltale';
         export const run = () => {
           throw new RuntimeError('out_of_stock', import.meta.resolve('telltale'));
         };`,
      'turns.yml': `turns:
         - '<action type="tool" id="a">{"name":"stock","parameters":{}}</action>'
         - '<response final="true">Done.</response>'`,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
    const telltale = (...args: readonly string[]) =>
      run('npx', ['--no-install', 'telltale', ...args], project);
    expect(await telltale('run', 'agent.yml', 'Go')).toMatchObject({ code: 0 });
    const { stdout } = await telltale('logs', 'last', '--type', 'action.failed', '--json');
    expect(JSON.parse(stdout).error).toMatchObject({
      code: 'out_of_stock',
      message: expect.stringMatching(/telltale\/bundle\/index\.js$/),
    });
  });

  test('finds the thread, the grammars and the tokenizer of memory and feeds', async () => {
    const project = join(consumer, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'tide.py'), 'def tide_at(hour):\n    return hour\n');
    writeFileSync(
      join(project, 'agent.yml'),
      'kind: Agent\nname: a\nmodel: scripted:x.yml\ncontext_feeds: [{ id: tide, source: { type: file, name: tide.py }, max_tokens: 7 }]\n',
    );
    const telltale = (...args: readonly string[]) =>
      run('npx', ['--no-install', 'telltale', ...args], project);
    expect(await telltale('memory', 'index')).toMatchObject({
      code: 0,
      output: expect.stringContaining('1 file: 1 read with 1 symbol'),
    });
    expect(await telltale('feeds', 'agent.yml', 'tide')).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /def tide_at\(hour\):\n[\s\S]*tide: \d tokens, about \d tokens? left out/,
      ),
    });
  });

  test('can run the demo, with all it reads', async () => {
    const { code, output } = await run('npx', ['--no-install', 'telltale', 'demo'], consumer);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('Next:') });
  });
});
