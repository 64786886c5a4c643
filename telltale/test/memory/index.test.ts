import {
  appendFileSync,
  mkdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, createSystemClock } from '../../src/lib/clock.ts';
import type { Json } from '../../src/lib/json.ts';
import type { PassRequest } from '../../src/memory/index/index-thread.ts';
import { type IndexThread, startIndexThread } from '../../src/memory/index/index-thread.ts';
import { createIndexer, type Indexer } from '../../src/memory/index/indexer.ts';
import { BATCH_FILES, BATCHES_AHEAD, MAX_RESTARTS, STUCK_MS } from '../../src/memory/index/read-source.ts';
import {
  createResolveView,
  EMPTY_CONTEXT,
  readContext,
} from '../../src/memory/index/resolve/read-context.ts';
import { pythonImports, resolveImport } from '../../src/memory/index/resolve/resolve-import.ts';
import { runIndex } from '../../src/memory/index/run-index.ts';
import type { Language } from '../../src/memory/memory.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { type KeptGraph, keptGraph } from './kept-graph.ts';

const FRAGILE = new URL('./fragile-parser.ts', import.meta.url);
const clock = createSystemClock();
const opened: Indexer[] = [];
let shared: IndexThread | undefined;
/** One for all tests, as long as it lives: to start one takes longer than most of them. */
const sharedThread = (): IndexThread => {
  if (shared?.isAlive !== true) shared = startIndexThread(FRAGILE, clock);
  const thread = shared;
  return {
    get isAlive() {
      return thread.isAlive;
    },
    run: thread.run,
    stop: thread.stop,
    end: async () => {},
  };
};
afterAll(() => shared?.end());
afterEach(async () => {
  await Promise.all(opened.splice(0).map((indexer) => indexer.close()));
});

function open(
  folder: string,
  kept: KeptGraph = keptGraph(),
  tables = new Map<string, Json>(),
  time: Clock = clock,
) {
  const indexer = createIndexer({
    store: kept.store,
    tables: {
      get: async (_table, key) => tables.get(key),
      set: async (_table, key, value) => void tables.set(key, value),
    },
    graph: 'g',
    folder,
    clock: time,
    startThread: time === clock ? sharedThread : () => startIndexThread(FRAGILE, time),
  });
  opened.push(indexer);
  return { indexer, kept, tables };
}

const OLD = new Date(Date.now() - 60_000);

/** Files that were not written just now. */
function project(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = temporaryProject(files);
  for (const name of Object.keys(files)) utimesSync(join(folder, name), OLD, OLD);
  return folder;
}

function change(folder: string, name: string, text: string, at = new Date(Date.now() - 30_000)): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
  utimesSync(join(folder, name), at, at);
}

const symbolsOf = ({ records }: KeptGraph, path: string) =>
  records.get(path)?.symbols.map(({ name }) => name);

describe('indexing', { timeout: 30_000 }, () => {
  it('reads what is there, then only what has changed, and drops what is gone', async () => {
    const folder = project({ 'a.ts': 'def one\n', 'b.py': 'def two\n', 'c.txt': 'def no\n' });
    const { indexer, kept } = open(folder);
    expect(await indexer.index({})).toMatchObject({ files: 2, parsed: 2, removed: 0, symbols: 2, notes: {} });
    expect(await indexer.index({})).toMatchObject({ files: 2, parsed: 0, removed: 0, symbols: 0 });
    change(folder, 'a.ts', 'def three\n');
    change(folder, 'd/e.ts', 'def four\n');
    rmSync(join(folder, 'b.py'));
    expect(await indexer.index({})).toMatchObject({ files: 2, parsed: 2, removed: 1 });
    expect([...kept.records.keys()].toSorted()).toEqual(['a.ts', 'd/e.ts']);
    expect(symbolsOf(kept, 'a.ts')).toEqual(['three']);
    expect(kept.records.get('a.ts')).toMatchObject({ language: 'typescript', size: 10 });
  });

  it('parses nothing where only the time is another, and notes it', async () => {
    const folder = project({ 'a.ts': 'def one\n' });
    const { indexer, kept } = open(folder);
    await indexer.index({});
    const at = new Date(Date.now() - 20_000);
    utimesSync(join(folder, 'a.ts'), at, at);
    expect(await indexer.index({})).toMatchObject({ parsed: 0 });
    expect(kept.changes.at(-2)?.touched).toMatchObject([
      { path: 'a.ts', mtimeMs: statSync(join(folder, 'a.ts')).ctimeMs },
    ]);
    const writes = kept.changes.length;
    await indexer.index({});
    expect(kept.changes.slice(writes)).toMatchObject([{ walkedAtMs: expect.any(Number) }]);
  });

  it('does not trust the time of a file that was written in the moment it was read', async () => {
    const folder = project({});
    const { indexer, kept } = open(folder);
    const now = new Date(Date.now() + 5_000);
    change(folder, 'a.ts', 'def one\n', now);
    await indexer.index({});
    change(folder, 'a.ts', 'def two\n', now);
    expect(await indexer.index({})).toMatchObject({ parsed: 1 });
    expect(symbolsOf(kept, 'a.ts')).toEqual(['two']);
  });

  it('with paths looks at these alone, folders with all in them', async () => {
    const folder = project({
      'a.ts': 'def a\n',
      'd/b.ts': 'def b\n',
      'd/c.ts': 'def c\n',
      'n.yml': 'a: 1\n',
    });
    const { indexer, kept } = open(folder);
    expect(await indexer.index({ paths: ['d/b.ts', 'gone.ts', 'n.yml'] })).toMatchObject({
      files: 1,
      parsed: 1,
    });
    expect(await indexer.index({ paths: ['d'] })).toMatchObject({ files: 2, parsed: 1 });
    rmSync(join(folder, 'd/b.ts'));
    expect(await indexer.index({ paths: ['d/b.ts'] })).toMatchObject({ removed: 1 });
    expect([...kept.records.keys()]).toEqual(['d/c.ts']);
  });

  it('takes a file of no known language by name where it is asked to, and then looks after it', async () => {
    const folder = project({ 'n.yml': 'a: 1\n' });
    const { indexer, kept } = open(folder);
    await indexer.index({ paths: ['n.yml'], byName: true });
    const { hash } = kept.records.get('n.yml') ?? {};
    expect(kept.records.get('n.yml')).toMatchObject({ symbols: [] });
    expect(kept.records.get('n.yml')?.language).toBe(undefined);
    change(folder, 'n.yml', 'a: 2\n');
    await indexer.index({});
    expect(kept.records.get('n.yml')?.hash).not.toBe(hash);
  });

  it('knows files by name only that are too large, binary or a program’s, and says how many', async () => {
    const folder = project({
      'huge.ts': 'def no\n',
      'video.ts': new Uint8Array([71, 0, 1, 2]),
      'bundle.min.js': `def no\n${'x'.repeat(30_000)}`,
      'prose.md': `def heading\n${'word '.repeat(10_000)}`,
    });
    truncateSync(join(folder, 'huge.ts'), 200 * 1024 * 1024);
    writeFileSync(join(folder, 'big.ts'), 'const a = 1;\n'.repeat(100_000));
    const { indexer, kept } = open(folder);
    const report = await indexer.index({});
    expect(report.notes).toEqual({ binary: 2, too_large: 1, minified: 1 });
    expect(kept.records.get('big.ts')).toMatchObject({ note: 'too_large', symbols: [], size: 1_300_000 });
    expect(symbolsOf(kept, 'prose.md')).toEqual(['heading']);
    const before = kept.records.get('big.ts')?.hash;
    appendFileSync(join(folder, 'big.ts'), 'x');
    await indexer.index({});
    expect(kept.records.get('big.ts')?.hash).not.toBe(before);
  });

  it('goes on with a new thread behind files that end it, and notes these', async () => {
    const folder = project({ 'a.ts': 'def a\n', 'b.ts': 'CRASH', 'c.ts': 'THROW', 'd.ts': 'def d\n' });
    const { indexer, kept } = open(folder);
    expect(await indexer.index({})).toMatchObject({ files: 4, notes: { broken: 2 } });
    expect(symbolsOf(kept, 'd.ts')).toEqual(['d']);
    expect(kept.records.get('b.ts')).toMatchObject({ note: 'broken', language: 'typescript', symbols: [] });
    // They are not tried again until they change.
    expect(await indexer.index({})).toMatchObject({ parsed: 0, notes: { broken: 2 } });
  });

  it('is not held for ever by a file that holds its thread', async () => {
    const folder = project({ 'a.ts': 'HANG' });
    const soon = (ms: number) => (ms === STUCK_MS ? 100 : ms);
    const { indexer } = open(folder, keptGraph(), new Map(), {
      ...clock,
      after: (ms, fire) => clock.after(soon(ms), fire),
    });
    expect(await indexer.index({})).toMatchObject({ files: 1, notes: { broken: 1 } });
  });

  it('looks again where imports lead that were resolved before the manifests were known', async () => {
    const folder = project({
      'a.ts': 'import own/x\n',
      'p/package.json': '{"name": "own"}',
      'p/x.ts': 'def x\n',
    });
    const { kept, tables } = open(folder);
    await open(folder, kept, tables).indexer.index({});
    change(folder, 'a.ts', 'import own/x\ndef more\n');
    await open(folder, kept, tables).indexer.index({ paths: ['a.ts'] });
    await open(folder, kept, tables).indexer.index({});
    expect(kept.records.get('a.ts')?.imports).toMatchObject([{ target: 'p/x.ts' }]);
  });

  it('gives up where one file after the other ends its thread', async () => {
    let runs = 0;
    const end = { kind: 'died', began: true, cause: new Error('out of memory') } as const;
    const thread = {
      isAlive: true,
      stop: () => {},
      end: async () => {},
      run: async ({ avoid }: Pick<PassRequest, 'avoid'>) => {
        expect(avoid).toHaveLength(runs);
        return { ...end, path: `x${++runs}.ts` };
      },
    };
    const plan = { known: new Map(), context: EMPTY_CONTEXT, below: [''], byName: [], staleBeforeMs: 0 };
    const edges = { store: keptGraph().store, graph: 'g', folder: '/f', thread: () => thread };
    const pass = runIndex(plan, {
      ...edges,
      isStopped: () => false,
      onProgress: () => {},
      onOther: async () => {},
      onPart: async () => {},
    });
    await expect(pass).rejects.toMatchObject({ code: 'index_failed', retryable: true });
    expect(runs).toBe(MAX_RESTARTS + 1);
  });

  it('writes as it goes: what a failing store has not taken is read by the next pass, and only that', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `f${String(at).padStart(3, '0')}.ts`);
    const folder = project(Object.fromEntries(names.map((name) => [name, `def s${name.slice(1, 4)}\n`])));
    const { indexer, kept } = open(folder);
    let writes = 0;
    kept.beforeWrite = () => {
      if (++writes === 3) throw new Error('The disk is full.');
    };
    await expect(indexer.index({})).rejects.toThrow('The disk is full.');
    const before = kept.records.size;
    expect(before).toBeGreaterThan(0);
    expect(await indexer.index({})).toMatchObject({ files: 200, parsed: 200 - before });
  });

  it('is at most a few batches ahead of the store', async () => {
    const counted = join(temporaryProject({ count: '' }), 'count');
    const names = Array.from({ length: 6 * BATCH_FILES }, (_, at) => `f${at}.ts`);
    const folder = project(Object.fromEntries(names.map((name) => [name, `COUNT ${counted}\n`])));
    const { indexer, kept } = open(folder);
    let letGo = () => {};
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    kept.beforeWrite = () => gate;
    const done = indexer.index({});
    const most = BATCHES_AHEAD * BATCH_FILES;
    while (statSync(counted).size < most) await new Promise((resolve) => setTimeout(resolve, 20));
    await indexer.index({ signal: AbortSignal.timeout(50) }).catch(() => undefined);
    expect(statSync(counted).size).toBe(most);
    letGo();
    expect(await done).toMatchObject({ parsed: names.length });
  });

  it('is shared by those who ask at the same time; who comes later gets what is there then', async () => {
    const folder = project({ 'a.ts': 'def one SLOW\n' });
    const { indexer, kept } = open(folder);
    const first = [indexer.index({}), indexer.index({})];
    while (indexer.walking() === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    change(folder, 'b.ts', 'def two\n');
    const later = [indexer.index({}), indexer.index({})];
    const [a, b] = await Promise.all(first);
    const [c, d] = await Promise.all(later);
    expect(a).toBe(b);
    expect(c).toBe(d);
    expect(c).not.toBe(a);
    expect(symbolsOf(kept, 'b.ts')).toEqual(['two']);
    expect(kept.changes.filter(({ walkedAtMs }) => walkedAtMs !== undefined)).toHaveLength(2);
  });

  it('ends soon when nobody wants it any more, and keeps what was read', async () => {
    const names = Array.from({ length: 400 }, (_, at) => `f${at}.ts`);
    const folder = project(Object.fromEntries(names.map((name) => [name, 'def s SLOW\n'])));
    const { indexer, kept } = open(folder);
    const stop = new AbortController();
    const stopped = indexer.index({
      signal: stop.signal,
      onProgress: ({ read }) => {
        if (read > 0) stop.abort(new Error('enough'));
      },
    });
    await expect(stopped).rejects.toThrow('enough');
    await indexer.close();
    expect(kept.records.size).toBeGreaterThan(0);
    expect(kept.records.size).toBeLessThan(400);
    await expect(indexer.index({})).rejects.toMatchObject({ code: 'memory_closed' });
  });

  it('reads all anew where files are read in another way than before, also in two goes', async () => {
    const folder = project({ 'a.ts': 'def a\n', 'b.ts': 'def b\n' });
    const { indexer, kept, tables } = open(folder);
    await indexer.index({});
    const read = Date.now();
    while (Date.now() === read) await new Promise((resolve) => setTimeout(resolve, 1));
    tables.set('g', { reading: -1, sinceMs: 0 });
    expect(await indexer.index({ paths: ['a.ts'] })).toMatchObject({ parsed: 1 });
    expect(await open(folder, kept, tables).indexer.index({})).toMatchObject({ parsed: 1 });
    expect(await indexer.index({})).toMatchObject({ parsed: 0 });
  });

  it('finds where imports lead, also to files that come later, and when they go', async () => {
    const folder = project({
      'a.ts': 'import ./b.js\nimport own/x\nimport node:fs\n',
      'b.ts': 'import ./c\n',
    });
    const { indexer, kept } = open(folder);
    await indexer.index({});
    const targets = (path: string) => kept.records.get(path)?.imports.map(({ target }) => target);
    expect([targets('a.ts'), targets('b.ts')]).toEqual([['b.ts', undefined, undefined], [undefined]]);
    change(folder, 'c/index.tsx', 'def c\n');
    change(folder, 'own/package.json', '{"name": "own"}');
    change(folder, 'own/src/x.ts', 'def x\n');
    await indexer.index({});
    expect([targets('a.ts'), targets('b.ts')]).toEqual([
      ['b.ts', 'own/src/x.ts', undefined],
      ['c/index.tsx'],
    ]);
  });
});

describe('a graph that was brought up to date', { timeout: 30_000 }, () => {
  const targets = ({ records }: KeptGraph, path: string) =>
    records.get(path)?.imports.map(({ target }) => target);

  it('has a file of the same size whose time was set back', async () => {
    const folder = project({ 'a.ts': 'def one\n' });
    const { indexer, kept } = open(folder);
    await indexer.index({});
    change(folder, 'a.ts', 'def two\n', OLD);
    await indexer.index({});
    expect(symbolsOf(kept, 'a.ts')).toEqual(['two']);
  });

  it('counts a file that is too large to be read as another when it was written', async () => {
    const text = Buffer.alloc(1_100_000, 'a');
    const folder = project({ 'a.md': text });
    const { indexer, kept } = open(folder);
    await indexer.index({});
    const before = kept.records.get('a.md');
    expect(before).toMatchObject({ note: 'too_large' });
    await indexer.index({});
    expect(kept.records.get('a.md')?.hash).toBe(before?.hash);
    change(folder, 'a.md', `${text.subarray(1)}b`, OLD);
    await indexer.index({});
    expect(kept.records.get('a.md')?.hash).not.toBe(before?.hash);
  });

  it('has imports where they lead now, also those that led elsewhere', async () => {
    const paths = (target: string) => JSON.stringify({ compilerOptions: { paths: { own: [target] } } });
    const folder = project({
      'a.ts': 'import ./b\nimport own\n',
      'b.js': 'def b\n',
      'c.ts': '',
      'd.ts': '',
      'tsconfig.json': paths('./c.ts'),
    });
    const { indexer, kept } = open(folder);
    await indexer.index({});
    expect(targets(kept, 'a.ts')).toEqual(['b.js', 'c.ts']);
    change(folder, 'b.ts', 'def b\n');
    await indexer.index({});
    expect(targets(kept, 'a.ts')).toEqual(['b.ts', 'c.ts']);
    change(folder, 'tsconfig.json', paths('./d.ts'));
    await indexer.index({});
    expect(targets(kept, 'a.ts')).toEqual(['b.ts', 'd.ts']);
    for (const name of ['b.ts', 'b.js', 'tsconfig.json']) rmSync(join(folder, name));
    await indexer.index({});
    expect(targets(kept, 'a.ts')).toEqual([undefined, undefined]);
  });

  it('has imports that lead to files of a pass that did not come to its end', async () => {
    const folder = project({ 'a.ts': 'import ./b\nimport ./gone\n', 'gone.ts': '' });
    const { indexer, kept, tables } = open(folder);
    await indexer.index({});
    const resolve = kept.store.resolve;
    Object.assign(kept.store, { resolve: () => Promise.reject(new Error('Killed.')) });
    change(folder, 'b.ts', 'def b\n');
    rmSync(join(folder, 'gone.ts'));
    await expect(indexer.index({})).rejects.toThrow('Killed.');
    Object.assign(kept.store, { resolve });
    // By another process, which finds nothing that it has to read.
    expect(await open(folder, kept, tables).indexer.index({})).toMatchObject({ parsed: 0, removed: 0 });
    expect(targets(kept, 'a.ts')).toEqual(['b.ts', undefined]);
  });

  it('keeps where imports lead when single files are read by one that does not know the manifests', async () => {
    const folder = project({
      'a.ts': 'import own/x\n',
      'p/package.json': '{"name": "own"}',
      'p/x.ts': 'def x\n',
    });
    const { indexer, kept, tables } = open(folder);
    await indexer.index({});
    change(folder, 'new.ts', 'import ./a\n');
    await open(folder, kept, tables).indexer.index({ paths: ['new.ts'] });
    expect([targets(kept, 'a.ts'), targets(kept, 'new.ts')]).toEqual([['p/x.ts'], ['a.ts']]);
  });
});

describe('an import', () => {
  let paths: Set<string>;
  let context = EMPTY_CONTEXT;
  beforeEach(() => {
    context = EMPTY_CONTEXT;
  });
  const given = (...files: readonly string[]) => {
    paths = new Set(files);
  };
  const manifests = (texts: Readonly<Record<string, string | object>>) => {
    context = readContext(
      Object.entries(texts).map(([path, text]) => ({
        path,
        text: typeof text === 'string' ? text : JSON.stringify(text),
      })),
    );
  };
  const lead = (language: Language, from: string, ...specifiers: readonly string[]) => {
    const view = createResolveView(
      (path) => paths.has(path),
      () => paths,
    );
    return specifiers.map((specifier) =>
      resolveImport({ specifier, names: ['*'] }, from, language, view, context),
    );
  };

  it('of TypeScript leads to the file that is meant by a path, whatever ending is written', () => {
    given(
      'src/a.ts',
      'src/b.tsx',
      'src/c.mts',
      'src/d/index.ts',
      'src/e.d.ts',
      'src/f.js',
      'src/f.ts',
      'g.ts',
    );
    expect(
      lead(
        'typescript',
        'src/x.ts',
        './a.ts',
        './a',
        './a.js',
        './b.jsx',
        './c.mjs',
        './d',
        './d/',
        './e',
        './f.js',
      ),
    ).toEqual([
      'src/a.ts',
      'src/a.ts',
      'src/a.ts',
      'src/b.tsx',
      'src/c.mts',
      'src/d/index.ts',
      'src/d/index.ts',
      'src/e.d.ts',
      'src/f.ts',
    ]);
    expect(lead('typescript', 'src/x.ts', '../g', '../../g', './none', 'node:fs', 'react', '/a')).toEqual([
      'g.ts',
      ...Array(5).fill(undefined),
    ]);
    expect(lead('javascript', 'src/d/x.js', '.', '..')).toEqual(['src/d/index.ts', undefined]);
    expect(lead('typescript', 'src/x.ts', './a.ts?raw')).toEqual(['src/a.ts']);
  });

  it('of a package of the folder leads into it, by its exports, its main or its source', () => {
    given('p/src/index.ts', 'p/src/sub.ts', 'p/src/deep/x.ts', 'q/lib.js', 'q/src/y.ts', 'r/index.ts');
    manifests({
      'p/package.json': {
        name: '@s/p',
        exports: {
          '.': { types: './dist/index.d.ts', import: './dist/index.js' },
          './sub': './dist/sub.js',
          './*': './dist/*.js',
        },
        imports: { '#in/*': './src/*.ts' },
      },
      'q/package.json': { name: 'q', main: 'lib.js' },
      'r/package.json': { name: 'r' },
      'broken/package.json': '{',
    });
    expect(lead('typescript', 'z.ts', '@s/p', '@s/p/sub', '@s/p/deep/x', 'q', 'q/y', 'r', 'qq')).toEqual([
      'p/src/index.ts',
      'p/src/sub.ts',
      'p/src/deep/x.ts',
      'q/lib.js',
      'q/src/y.ts',
      'r/index.ts',
      undefined,
    ]);
    expect(lead('typescript', 'p/src/sub.ts', '#in/deep/x', '#none')).toEqual(['p/src/deep/x.ts', undefined]);
  });

  it('is looked for by paths and baseUrl of the nearest tsconfig, comments and parents included', () => {
    given('src/a.ts', 'src/lib/b.ts', 'app/src/c.ts', 'app/d.ts', 'src/special.ts');
    manifests({
      'tsconfig.json': `{ // the top
        "extends": "./tsconfig.base.json", }`,
      'tsconfig.base.json':
        '{"compilerOptions": {"paths": {"@/*": ["./none/*", "./src/*"], "@/a": ["src/special.ts"]}} /* "x" */}',
      'app/tsconfig.json': { compilerOptions: { baseUrl: '.', paths: { '~/*': ['src/*'] } } },
    });
    expect(lead('typescript', 'src/x.ts', '@/lib/b', '@/a', '~/c')).toEqual([
      'src/lib/b.ts',
      'src/special.ts',
      undefined,
    ]);
    expect(lead('typescript', 'app/x.ts', '~/c', 'd', '@/a')).toEqual([
      'app/src/c.ts',
      'app/d.ts',
      undefined,
    ]);
  });

  it('is looked for option by option: a baseUrl may be inherited, paths be its own, and the other way round', () => {
    given('lib/src/a.ts', 'app/src/a.ts', 'app/a.ts', 'web/src/a.ts', 'lib/web/a.ts', 'src/a.ts');
    manifests({
      'lib/tsconfig.base.json': { compilerOptions: { baseUrl: '.' } },
      // As TypeScript reads it, paths begin at the baseUrl that holds in the end, whoever says it.
      'app/tsconfig.json': {
        extends: '../lib/tsconfig.base',
        compilerOptions: { paths: { '~/*': ['src/*'] } },
      },
      'tsconfig.paths.json': { compilerOptions: { paths: { '@/*': ['./src/*'] } } },
      'web/tsconfig.json': { extends: '../tsconfig.paths.json', compilerOptions: { baseUrl: '.' } },
      'both/tsconfig.json': { extends: ['../tsconfig.paths.json', '../lib/tsconfig.base.json'] },
      'bare/tsconfig.json': { extends: ['../tsconfig.paths.json'] },
    });
    expect(lead('typescript', 'app/x.ts', '~/a', 'src/a', 'web/a')).toEqual([
      'lib/src/a.ts',
      'lib/src/a.ts',
      'lib/web/a.ts',
    ]);
    expect(lead('typescript', 'web/x.ts', '@/a', 'src/a')).toEqual(['web/src/a.ts', 'web/src/a.ts']);
    expect(lead('typescript', 'both/x.ts', '@/a', 'web/a')).toEqual(['lib/src/a.ts', 'lib/web/a.ts']);
    expect(lead('typescript', 'bare/x.ts', '@/a', 'src/a')).toEqual(['src/a.ts', undefined]);
  });

  it('of Python leads to a module or a package, relative or absolute', () => {
    given(
      'src/p/__init__.py',
      'src/p/a.py',
      'src/p/q/__init__.py',
      'src/p/q/b.py',
      'tool.py',
      'src/p/json.py',
    );
    expect(
      lead('python', 'src/p/q/b.py', '.', '.b', '..a', '..', 'p.a', 'p', 'p.q.b', 'json', 'tool', '....x'),
    ).toEqual([
      'src/p/q/__init__.py',
      'src/p/q/b.py',
      'src/p/a.py',
      'src/p/__init__.py',
      'src/p/a.py',
      'src/p/__init__.py',
      'src/p/q/b.py',
      undefined,
      'tool.py',
      undefined,
    ]);
  });

  it('of Python that takes a module from its package leads to the module, and each name where it leads', () => {
    given('p/__init__.py', 'p/a.py', 'p/q/__init__.py', 'p/b.py', 'n/m.py', 'main.py');
    const view = createResolveView(
      (path) => paths.has(path),
      () => paths,
    );
    const to = (from: string, specifier: string, ...names: readonly string[]) =>
      pythonImports([{ specifier, line: 1, names }], from, view).map(
        (each) => `${each.names} ${resolveImport(each, from, 'python', view, context)}`,
      );
    expect(to('p/b.py', '.', 'a', 'VERSION', 'q')).toEqual([
      'a p/a.py',
      'VERSION p/__init__.py',
      'q p/q/__init__.py',
    ]);
    expect(to('main.py', 'p', 'a')).toEqual(['a p/a.py']);
    expect(to('main.py', 'n', 'm', 'x')).toEqual(['m n/m.py', 'x undefined']);
    expect(to('main.py', 'p.a', 'one', 'two')).toEqual(['one,two p/a.py']);
    expect(to('main.py', 'typing', 'List', 'Dict')).toEqual(['List,Dict undefined']);
  });

  it('of Go leads to the first file of the folder that is the package', () => {
    given('pkg/z/b.go', 'pkg/z/a_test.go', 'pkg/z/c.go', 'm.go', 'sub/x/x.go');
    manifests({
      'go.mod': 'module example.org/m\n\ngo 1.22\n',
      'sub/go.mod': 'module "example.org/m/sub"\n',
    });
    expect(
      lead(
        'go',
        'm.go',
        'example.org/m/pkg/z',
        'example.org/m',
        'example.org/m/sub/x',
        'fmt',
        'example.org/mm',
      ),
    ).toEqual(['pkg/z/b.go', 'm.go', 'sub/x/x.go', undefined, undefined]);
  });

  it('of Rust leads to the module that has the item', () => {
    given(
      'c/src/lib.rs',
      'c/src/a.rs',
      'c/src/a/b.rs',
      'c/src/d/mod.rs',
      'c/src/d/e.rs',
      'k/src/lib.rs',
      'k/src/z.rs',
    );
    manifests({
      'k/Cargo.toml': '[package]\nversion = "1"\nname = "my-k"\n',
      'c/Cargo.toml': '[workspace]\nname = "no"\n',
    });
    expect(
      lead('rust', 'c/src/lib.rs', 'a', 'd', 'crate::a::b::Item', 'crate::a::Item', 'crate', 'std::fs'),
    ).toEqual(['c/src/a.rs', 'c/src/d/mod.rs', 'c/src/a/b.rs', 'c/src/a.rs', 'c/src/lib.rs', undefined]);
    expect(lead('rust', 'c/src/a.rs', 'b', 'self::b::X', 'super::d::e', 'my_k::z::Q', 'my_k::Root')).toEqual([
      'c/src/a/b.rs',
      'c/src/a/b.rs',
      'c/src/d/e.rs',
      'k/src/z.rs',
      'k/src/lib.rs',
    ]);
  });

  it('of Java leads to the class below folders of its package, members included', () => {
    given('app/src/main/java/com/a/B.java', 'other/com/x/B.java');
    expect(
      lead('java', 'X.java', 'com.a.B', 'com.a.B.run', 'com.a.B.Inner.run', 'com.x.B', 'java.util.List'),
    ).toEqual([...Array(3).fill('app/src/main/java/com/a/B.java'), 'other/com/x/B.java', undefined]);
  });

  it('of Markdown is a link within the folder', () => {
    given('docs/a b.md', 'docs/c/README.md', 'README.md', 'src/x.ts');
    expect(
      lead(
        'markdown',
        'docs/i.md',
        './a%20b.md#top',
        'c',
        '/README.md',
        '../src/x.ts',
        '#top',
        'https://x.org/a',
        '../../x',
        '%',
      ),
    ).toEqual(['docs/a b.md', 'docs/c/README.md', 'README.md', 'src/x.ts', ...Array(4).fill(undefined)]);
  });

  it('has no answer for what is written to hurt', () => {
    given('a.ts');
    const odd = [
      '',
      '.',
      '..',
      '/',
      '@',
      '@/',
      '#',
      '*',
      'a'.repeat(10_000),
      '../'.repeat(5000),
      '::',
      '....',
      '\0',
    ];
    for (const language of ['typescript', 'python', 'go', 'rust', 'java', 'markdown'] as const)
      expect(() => lead(language, 'x', ...odd)).not.toThrow();
    const hard = `{ "a": ${'/*'.repeat(50_000)} ${'"\\"'.repeat(20_000)}`;
    expect(() => manifests({ 'tsconfig.json': hard })).not.toThrow();
  });
});
