import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FileRecord, FoundSymbol, GraphStore } from '../../src/store/graph.ts';
import { moreRuns } from '../more-runs.ts';

export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

export const fileRecord = (path: string, parts: Partial<FileRecord> = {}): FileRecord => ({
  path,
  hash: hashOf(path),
  size: 100,
  mtimeMs: 1000.5,
  readAtMs: 2000,
  language: 'typescript',
  symbols: [],
  imports: [],
  calls: [],
  ...parts,
});

type Symbol = FileRecord['symbols'][number];

export const symbolOf = (name: string, line: number, parts: Partial<Symbol> = {}): Symbol => ({
  name,
  kind: 'function',
  line,
  endLine: line + 5,
  signature: `export function ${name}(): void`,
  exported: true,
  ...parts,
});

const names = (symbols: readonly FoundSymbol[]) => symbols.map(({ name }) => name);
const foundNames = async (store: GraphStore, graph: string, words: string) =>
  (await store.search(graph, words, { limit: 20 })).map((one) =>
    one.kind === 'symbol' ? one.symbol.name : one.kind === 'file' ? one.path : one.fact.text,
  );

/** What every home of knowledge graphs promises. */
export function graphContract(open: () => GraphStore): void {
  let tests = 0;
  /** A graph of the test's own. */
  const fresh = () => `graph ${++tests}`;
  const one = async (graph: string, name: string): Promise<FoundSymbol> => {
    const [symbol] = await open().symbols(graph, name, 1);
    if (symbol === undefined) throw new Error(`There is no ${name}.`);
    return symbol;
  };

  describe('files', () => {
    test('what is written of a file is read back, by path', async () => {
      const [store, graph] = [open(), fresh()];
      const { symbols: _, imports: __, calls: ___, ...file } = fileRecord('b.ts', { note: 'broken' });
      const plain = { path: 'a.png', hash: 'x', size: 1, mtimeMs: 1, readAtMs: 2 };
      await store.write(graph, {
        records: [fileRecord('b.ts', { note: 'broken' }), { ...plain, symbols: [], imports: [], calls: [] }],
      });
      expect(await store.files(graph)).toEqual([plain, file]);
    });

    test('a file that is read anew has its new symbols, imports and calls only', async () => {
      const [store, graph] = [open(), fresh()];
      const parts = (name: string): Partial<FileRecord> => ({
        hash: hashOf(name),
        symbols: [symbolOf(`${name}One`, 1), symbolOf(`${name}Two`, 9)],
        imports: [{ specifier: `./${name}.ts`, line: 1, names: [name], target: `${name}.ts` }],
        calls: [{ name: `call${name}`, line: 2, from: 0 }],
      });
      await store.write(graph, {
        records: [fileRecord('a.ts', parts('Old')), fileRecord('z.ts', parts('Other'))],
      });
      await store.write(graph, { records: [fileRecord('a.ts', parts('New'))] });
      expect(names(await store.symbolsOf(graph, 'a.ts', 9))).toEqual(['NewOne', 'NewTwo']);
      expect(await store.symbols(graph, 'OldOne', 9)).toEqual([]);
      expect(await foundNames(store, graph, 'old')).toEqual([]);
      expect((await store.importsOf(graph, 'a.ts', 9)).map(({ specifier }) => specifier)).toEqual([
        './New.ts',
      ]);
      expect(await store.importersOf(graph, 'Old.ts', 9)).toEqual([]);
      expect((await store.calleesOf(graph, await one(graph, 'NewOne'), 9)).map(({ name }) => name)).toEqual([
        'callNew',
      ]);
      expect(names(await store.symbolsOf(graph, 'z.ts', 9))).toEqual(['OtherOne', 'OtherTwo']);
      expect(await store.stats(graph)).toMatchObject({ files: 2, symbols: 4, imports: 2, calls: 2 });
    });

    test('a removed file is gone with all that it defined; one that is not there may be removed', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [fileRecord('src/gone.ts', { symbols: [symbolOf('vanish', 1)] })],
      });
      await store.write(graph, { removed: ['src/gone.ts', 'never.ts'] });
      expect(await store.files(graph)).toEqual([]);
      expect(await foundNames(store, graph, 'vanish gone')).toEqual([]);
    });

    test('a file that another process has read since with another content is not touched', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, { records: [{ ...fileRecord('a.ts'), hash: hashOf('new') }] });
      const [before] = await store.files(graph);
      await store.write(graph, { touched: [{ ...fileRecord('a.ts'), hash: hashOf('old'), mtimeMs: 8 }] });
      expect(await store.files(graph)).toEqual([before]);
    });

    test('a touched file keeps what is known of it; an unknown one stays unknown', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, { records: [fileRecord('a.ts', { symbols: [symbolOf('kept', 1)] })] });
      const touched = { ...fileRecord('a.ts'), size: 7, mtimeMs: 8, readAtMs: 9 };
      await store.write(graph, { touched: [touched, fileRecord('no.ts')], commit: 'abc', walkedAtMs: 5 });
      expect(await store.files(graph)).toMatchObject([{ path: 'a.ts', size: 7, mtimeMs: 8, readAtMs: 9 }]);
      expect(names(await store.symbols(graph, 'kept', 9))).toEqual(['kept']);
      expect(await store.stats(graph)).toMatchObject({ files: 1, commit: 'abc', walkedAtMs: 5 });
    });

    test('a change that cannot be made changes nothing', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, { records: [fileRecord('a.ts')] });
      const bad = { removed: ['a.ts'], records: [fileRecord('b.ts'), fileRecord('')] };
      await expect(store.write(graph, bad)).rejects.toMatchObject({ code: 'name_malformed' });
      const broken = fileRecord('c.ts', { size: undefined as unknown as number });
      await expect(store.write(graph, { removed: ['a.ts'], records: [broken] })).rejects.toMatchObject({
        code: 'store_failed',
      });
      expect((await store.files(graph)).map(({ path }) => path)).toEqual(['a.ts']);
    });
  });

  describe('symbols', () => {
    test('a symbol is found with all that was said of it', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [
          fileRecord('s.ts', {
            symbols: [
              symbolOf('Session', 3, {
                kind: 'class',
                signature: 'class Session',
                doc: 'A run of an agent.',
              }),
              symbolOf('run', 5, { kind: 'method', container: 0, exported: false, signature: 'run(): void' }),
            ],
          }),
        ],
      });
      const [session, run] = await store.symbolsOf(graph, 's.ts', 9);
      expect(session).toEqual({
        id: expect.any(Number),
        path: 's.ts',
        name: 'Session',
        kind: 'class',
        line: 3,
        endLine: 8,
        signature: 'class Session',
        exported: true,
        doc: 'A run of an agent.',
      });
      expect(run).toMatchObject({ name: 'run', within: 'Session', exported: false });
      for (const name of [
        'run',
        'Session.run',
        'Session#run',
        'Session::run',
        'ses.Session.run',
        'session.RUN',
      ])
        expect(await store.symbols(graph, name, 9)).toEqual([run]);
      expect(await store.symbols(graph, 'Store.run', 9)).toEqual([]);
      expect((await store.symbols(graph, 'session', 9))[0]).toEqual(session);
    });

    test('the exact name goes before names in another case, exported ones before others, tests last', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [
          fileRecord('test/a.test.ts', { symbols: [symbolOf('open', 1)] }),
          fileRecord('b.ts', { symbols: [symbolOf('open', 1, { exported: false })] }),
          fileRecord('c.ts', { symbols: [symbolOf('open', 1), symbolOf('OPEN', 9)] }),
        ],
      });
      const paths = (await store.symbols(graph, 'open', 9)).map(({ path, name }) => `${path} ${name}`);
      expect(paths).toEqual(['c.ts open', 'b.ts open', 'test/a.test.ts open']);
      expect(await store.symbols(graph, 'open', 1)).toHaveLength(1);
    });

    test.each(['$', '_', 'größe', '数据库', 'operator+', 'v1.2 of Node.js', '__init__'])(
      'one that is called %s is found by its name',
      async (name) => {
        const [store, graph] = [open(), fresh()];
        await store.write(graph, { records: [fileRecord('x.ts', { symbols: [symbolOf(name, 1)] })] });
        expect(names(await store.symbols(graph, name, 9))).toEqual([name]);
      },
    );
  });

  describe('search', () => {
    test('words of a name find it, however it joins them, and so do the whole name and its beginning', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [
          fileRecord('p.ts', {
            symbols: [symbolOf('createTagParser', 1), symbolOf('tag_line', 9), symbolOf('HTMLParser2', 20)],
          }),
        ],
      });
      for (const words of [
        'tag parser',
        'createTagParser',
        'createTag',
        'create_tag_parser',
        'CREATETAGPARSER',
      ])
        expect((await foundNames(store, graph, words))[0]).toBe('createTagParser');
      expect((await foundNames(store, graph, 'tagLine'))[0]).toBe('tag_line');
      expect((await foundNames(store, graph, 'creTag'))[0]).toBe('createTagParser');
      expect((await foundNames(store, graph, 'html parser'))[0]).toBe('HTMLParser2');
      expect(await foundNames(store, graph, 'parsing')).toContain('createTagParser');
      expect(await foundNames(store, graph, 'where is the tag parser defined?')).toContain('createTagParser');
    });

    test('a name counts more than a comment, and what has all words more than what has some', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [
          fileRecord('lease.ts', {
            symbols: [
              symbolOf('alpha', 1, { doc: 'Renews the lease of an owner.' }),
              symbolOf('renewLease', 9),
              symbolOf('leaseAge', 20),
            ],
          }),
        ],
      });
      const found = await foundNames(store, graph, 'renew lease');
      expect(found[0]).toBe('renewLease');
      expect(found).toContain('alpha');
      expect(found).toContain('leaseAge');
    });

    test('files are found by their path, headings as symbols, facts by what they say', async () => {
      const [store, graph] = [open(), fresh()];
      const heading = symbolOf('How sessions recover', 3, {
        kind: 'heading',
        signature: '## How sessions recover',
      });
      await store.write(graph, {
        records: [fileRecord('docs/crash-recovery.md', { language: 'markdown', symbols: [heading] })],
      });
      await store.learn(graph, [
        { kind: 'fact', text: 'Tests need the flag --expose-gc.', about: [], atMs: 1 },
      ]);
      const search = (words: string) => store.search(graph, words, { limit: 9 });
      expect(await search('crash recovery')).toMatchObject([
        { kind: 'file', path: 'docs/crash-recovery.md' },
      ]);
      expect(await search('docs')).toMatchObject([{ kind: 'file' }]);
      expect((await search('sessions recover')).slice(0, 1)).toMatchObject([
        { kind: 'symbol', symbol: { kind: 'heading' } },
      ]);
      expect(await search('expose gc flag')).toMatchObject([
        { kind: 'fact', fact: { text: expect.stringContaining('expose-gc') } },
      ]);
      expect(await store.search(graph, 'recover', { limit: 9, kinds: ['file'] })).toHaveLength(1);
      expect(await store.search(graph, 'recover', { limit: 0 })).toEqual([]);
    });

    test('words of scripts without spaces are found within a text', async () => {
      const [store, graph] = [open(), fresh()];
      await store.learn(graph, [{ kind: 'fact', text: '数据库连接池的大小是十。', about: [], atMs: 1 }]);
      expect(await foundNames(store, graph, '连接池')).toHaveLength(1);
    });

    test('any text is a harmless query', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, { records: [fileRecord('a.ts', { symbols: [symbolOf('alpha', 1)] })] });
      const hostile = [
        '"',
        '" OR "',
        "'",
        'a" NEAR b',
        'name:alpha',
        'alpha*',
        '* *',
        '(',
        ')',
        '{whole} : x',
        '-alpha',
        'a AND',
        'NOT',
        '\0',
        'alpha\0beta',
        '😀',
        '\ud800',
        '',
        ' ',
        '$',
        '_',
        '½ ⑴ ﬁ',
        'alpha '.repeat(2000),
        '"'.repeat(10_000),
        '--',
        ';DROP TABLE x',
      ];
      for (const words of hostile)
        expect(Array.isArray(await store.search(graph, words, { limit: 3 }))).toBe(true);
      expect(await foundNames(store, graph, 'alpha '.repeat(2000))).toEqual(['alpha']);
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 40 }), async (words) => {
          await store.search(graph, words, { limit: 3 });
          await store.symbols(graph, words, 3);
        }),
        { numRuns: moreRuns(60) },
      );
    });

    test('a name of any text can be written, and is found by it', async () => {
      const [store, graph] = [open(), fresh()];
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }), async (name) => {
          await store.write(graph, { records: [fileRecord('a.ts', { symbols: [symbolOf(name, 1)] })] });
          expect(names(await store.symbols(graph, name, 3))).toEqual([name]);
          await store.search(graph, name, { limit: 3 });
        }),
        // SQLite has the first of these for no letter, and JavaScript for one.
        { numRuns: moreRuns(40), examples: [['ᦰⰀ'], ['a\u19b0b'], ['\u19b0\u3021'], ['größe_наме中文']] },
      );
      await store.write(graph, {
        records: [fileRecord('a.ts', { symbols: [symbolOf('größe_наме中文', 1)] })],
      });
      for (const words of ['Größe', 'НАМЕ', '中', 'на'])
        expect([words, await foundNames(store, graph, words)]).toEqual([words, ['größe_наме中文']]);
    });
  });

  describe('imports', () => {
    test('importers of a file, what it imports and what is open', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [
          fileRecord('a.ts', {
            imports: [
              { specifier: './b.ts', line: 1, names: ['b'], target: 'b.ts' },
              { specifier: 'node:fs', line: 2, names: ['*'] },
              { specifier: './c.ts', line: 3, names: ['c', 'd'], reexport: true },
            ],
          }),
          fileRecord('b.ts'),
          fileRecord('c.ts'),
        ],
      });
      expect(await store.importersOf(graph, 'b.ts', 9)).toEqual([
        { path: 'a.ts', specifier: './b.ts', line: 1, names: ['b'], target: 'b.ts' },
      ]);
      const all = await store.imports(graph, 0, 9);
      expect(all).toMatchObject([
        { path: 'a.ts', specifier: './b.ts', names: ['b'], target: 'b.ts' },
        { path: 'a.ts', specifier: 'node:fs', names: ['*'] },
        { path: 'a.ts', specifier: './c.ts' },
      ]);
      expect(all.map((each) => 'target' in each)).toEqual([true, false, false]);
      expect(await store.imports(graph, all[0]?.id ?? 0, 1)).toEqual(all.slice(1, 2));
      expect(await store.imports(graph, all[2]?.id ?? 0, 9)).toEqual([]);
      await store.resolve(graph, [{ id: all[2]?.id ?? 0, target: 'c.ts' }]);
      expect(await store.importersOf(graph, 'c.ts', 9)).toMatchObject([
        { names: ['c', 'd'], reexport: true },
      ]);
      expect(await store.stats(graph)).toMatchObject({ imports: 3, resolvedImports: 2 });
      await store.write(graph, { removed: ['b.ts'] });
      expect(await store.stats(graph)).toMatchObject({ resolvedImports: 1 });
      await store.resolve(graph, [{ id: all[2]?.id ?? 0 }]);
      expect((await store.imports(graph, 0, 9)).map(({ target }) => target)).toEqual([
        'b.ts',
        undefined,
        undefined,
      ]);
      expect(await store.stats(graph)).toMatchObject({ resolvedImports: 0 });
      expect((await store.importsOf(graph, 'a.ts', 9)).map(({ line }) => line)).toEqual([1, 2, 3]);
      expect(await store.importsOf(graph, 'a.ts', 1)).toHaveLength(1);
    });
  });

  describe('calls', () => {
    const callers = async (graph: string, symbol: FoundSymbol) =>
      (await open().callersOf(graph, symbol, 50)).map(
        ({ path, line, resolved }) => `${path}:${line}${resolved ? '' : ' by name'}`,
      );
    const load = { specifier: './load.ts', line: 1, names: ['load'], target: 'load.ts' };

    const only = async (graph: string, name: string): Promise<FoundSymbol> => {
      const [symbol] = await open().symbols(graph, name, 1);
      if (symbol === undefined) throw new Error(`There is no ${name}.`);
      return symbol;
    };

    test('a caller is resolved over a file that hands on all of many others', async () => {
      const [store, graph] = [open(), fresh()];
      const parts = Array.from({ length: 20 }, (_, at) => `part${at}.ts`);
      const all = (target: string) => ({ specifier: `./${target}`, line: 1, names: ['*'], target });
      await store.write(graph, {
        records: [
          ...parts.map((path, at) => fileRecord(path, { symbols: [symbolOf(`made${at}`, 1)] })),
          fileRecord('index.ts', {
            imports: parts.map((path) => ({ ...all(path), reexport: true as const })),
          }),
          fileRecord('user.ts', {
            imports: [{ ...all('index.ts'), names: ['made19'] }],
            calls: [{ name: 'made19', line: 3 }],
          }),
          fileRecord('space.ts', {
            imports: [all('index.ts')],
            calls: [{ name: 'made19', receiver: 'z', line: 4 }],
          }),
        ],
      });
      expect(await callers(graph, await only(graph, 'made19'))).toEqual(['user.ts:3', 'space.ts:4']);
    });

    test('files of a folder are one package in Go and Java, and in no other language', async () => {
      const [store, graph] = [open(), fresh()];
      const method = symbolOf('run', 2, { kind: 'method', container: 0 });
      const cart = { specifier: 'shop/cart', line: 1, names: ['*'], target: 'cart/a.go' };
      const call = (line: number, receiver?: string) => ({
        calls: [{ name: 'price', line, ...(receiver === undefined ? {} : { receiver }) }],
      });
      await store.write(graph, {
        records: [
          fileRecord('cart/a.go', call(1)),
          fileRecord('cart/b.go', { symbols: [symbolOf('price', 1)] }),
          fileRecord('cart/deep/c.go', call(2)),
          fileRecord('cart/d.ts', call(3)),
          fileRecord('main.go', { imports: [cart], ...call(4, 'cart') }),
          fileRecord('first.go', { calls: [{ name: 'second', line: 5 }] }),
          fileRecord('other.go', { symbols: [symbolOf('second', 1)] }),
          fileRecord('j/Job.java', { symbols: [symbolOf('Job', 1, { kind: 'class' }), method] }),
          fileRecord('j/Use.java', { calls: [{ name: 'run', receiver: 'job', line: 6 }] }),
          fileRecord('k/Taken.java', {
            imports: [{ specifier: 'j.Job.run', line: 1, names: ['run'], target: 'j/Job.java' }],
            calls: [{ name: 'run', line: 7 }],
          }),
        ],
      });
      expect(await callers(graph, await only(graph, 'price'))).toEqual([
        'cart/a.go:1',
        'main.go:4',
        'cart/d.ts:3 by name',
        'cart/deep/c.go:2 by name',
      ]);
      expect(await callers(graph, await only(graph, 'second'))).toEqual(['first.go:5']);
      expect(await callers(graph, await only(graph, 'run'))).toEqual(['j/Use.java:6', 'k/Taken.java:7']);
    });

    test('a caller is resolved where its file defines or imports the symbol, over re-exports too', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [
          fileRecord('load.ts', {
            symbols: [symbolOf('load', 1), symbolOf('reload', 10)],
            calls: [{ name: 'load', line: 11, from: 1 }],
          }),
          fileRecord('index.ts', { imports: [{ ...load, reexport: true }] }),
          fileRecord('all.ts', {
            imports: [{ specifier: './index.ts', line: 1, names: ['*'], target: 'index.ts', reexport: true }],
          }),
          fileRecord('far.ts', {
            imports: [{ specifier: './all.ts', line: 1, names: ['load'], target: 'all.ts' }],
            calls: [{ name: 'load', line: 3 }],
          }),
          fileRecord('near.ts', { imports: [load], calls: [{ name: 'load', line: 4 }] }),
          fileRecord('space.ts', {
            imports: [{ specifier: './load.ts', line: 1, names: ['*'], target: 'load.ts' }],
            calls: [{ name: 'load', receiver: 'loading', line: 5 }],
          }),
          fileRecord('stranger.ts', {
            calls: [
              { name: 'load', line: 6 },
              { name: 'load', receiver: 'x', line: 7 },
            ],
          }),
          fileRecord('local.ts', {
            symbols: [symbolOf('load', 1, { exported: false })],
            calls: [{ name: 'load', line: 8 }],
          }),
          fileRecord('outside.ts', {
            imports: [{ specifier: 'loader', line: 1, names: ['load'] }],
            calls: [{ name: 'load', line: 9 }],
          }),
        ],
      });
      const [, first] = await store.symbols(graph, 'load', 2);
      const symbol = (await store.symbols(graph, 'load', 9)).find(({ path }) => path === 'load.ts') ?? first;
      if (symbol === undefined) throw new Error('There is no load.');
      expect(await callers(graph, symbol)).toEqual([
        'far.ts:3',
        'load.ts:11',
        'near.ts:4',
        'space.ts:5',
        'stranger.ts:6 by name',
        'stranger.ts:7 by name',
      ]);
      const [own] = await store
        .callersOf(graph, symbol, 2)
        .then((found) => found.filter(({ line }) => line === 11));
      expect(own).toMatchObject({
        from: { name: 'reload' },
        to: { name: 'load' },
        name: 'load',
        resolved: true,
      });
      const local = (await store.symbols(graph, 'load', 9)).find(({ path }) => path === 'local.ts');
      expect((await callers(graph, local as FoundSymbol))[0]).toBe('local.ts:8');
      expect(await callers(graph, local as FoundSymbol)).not.toContain('near.ts:4');
    });

    test('a method is called on its own class, or on what is called like it; a function is not called so', async () => {
      const [store, graph] = [open(), fresh()];
      const classOf = (name: string) => [
        symbolOf(name, 1, { kind: 'class', endLine: 20 }),
        symbolOf('start', 2, { kind: 'method', container: 0 }),
        symbolOf('again', 8, { kind: 'method', container: 0 }),
      ];
      await store.write(graph, {
        records: [
          fileRecord('session.ts', {
            symbols: classOf('Session'),
            calls: [{ name: 'start', receiver: 'this', line: 9, from: 2 }],
          }),
          fileRecord('engine.ts', {
            symbols: classOf('Engine'),
            calls: [{ name: 'start', receiver: 'this', line: 9, from: 2 }],
          }),
          fileRecord('main.ts', {
            imports: [
              { specifier: './session.ts', line: 1, names: ['Session'], target: 'session.ts' },
              { specifier: './engine.ts', line: 2, names: ['Engine'], target: 'engine.ts' },
            ],
            calls: [
              { name: 'start', receiver: 'session', line: 5 },
              { name: 'start', receiver: 'engine', line: 6 },
              { name: 'start', receiver: 'thing', line: 7 },
              { name: 'Session', line: 8 },
            ],
          }),
        ],
      });
      expect(await callers(graph, await one(graph, 'Session.start'))).toEqual([
        'main.ts:5',
        'session.ts:9',
        'main.ts:7 by name',
      ]);
      expect(await callers(graph, await one(graph, 'Session'))).toEqual(['main.ts:8']);
    });

    test('what a symbol calls leads to the symbols that are meant, with what stands in it', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [
          fileRecord('load.ts', { symbols: [symbolOf('load', 1)] }),
          fileRecord('main.ts', {
            imports: [load],
            symbols: [
              symbolOf('main', 3, { endLine: 20 }),
              symbolOf('inner', 5, { container: 0 }),
              symbolOf('after', 30),
            ],
            calls: [
              { name: 'load', line: 4, from: 0 },
              { name: 'inner', line: 6, from: 0 },
              { name: 'mystery', receiver: 'x', line: 7, from: 1 },
              { name: 'after', line: 31, from: 2 },
              { name: 'load', line: 40 },
            ],
          }),
        ],
      });
      const called = await store.calleesOf(graph, await one(graph, 'main'), 9);
      expect(called.map(({ name, line, to, resolved }) => [name, line, to?.path, resolved])).toEqual([
        ['load', 4, 'load.ts', true],
        ['inner', 6, 'main.ts', true],
        ['mystery', 7, undefined, false],
      ]);
      expect(await store.calleesOf(graph, await one(graph, 'main'), 1)).toHaveLength(1);
    });
  });

  describe('facts', () => {
    const fact = (text: string, parts: object = {}) => ({
      kind: 'fact' as const,
      text,
      about: [],
      atMs: 1,
      ...parts,
    });

    test('a fact goes stale when a file that it is about changes, is renewed by learning it again', async () => {
      const [store, graph] = [open(), fresh()];
      const record = fileRecord('a.ts', { symbols: [symbolOf('alpha', 1)] });
      await store.write(graph, { records: [record, fileRecord('b.ts')] });
      const about = [{ symbol: 'alpha' }, { path: 'b.ts' }];
      const learned = fact('Alpha needs b.', { about, session: 's1', commit: 'c1' });
      const [id = ''] = await store.learn(graph, [learned]);
      expect(await store.facts(graph, [id, 'no such'])).toEqual([{ ...learned, id, stale: [] }]);
      await store.write(graph, { records: [{ ...record, hash: 'changed' }], removed: ['b.ts'] });
      expect(await store.facts(graph, [id])).toMatchObject([{ stale: ['a.ts', 'b.ts'] }]);
      expect(await store.stats(graph)).toMatchObject({ facts: 1, staleFacts: 1 });
      const again = await store.learn(graph, [
        { ...learned, about: [...about].reverse(), atMs: 2, session: 's2' },
      ]);
      expect(again).toEqual([id]);
      expect(await store.facts(graph, [id])).toMatchObject([{ stale: [], session: 's2', atMs: 2 }]);
      expect(await store.stats(graph)).toMatchObject({ facts: 1, staleFacts: 0 });
    });

    test('one without files is never stale; one about a file unknown then is stale once it is known', async () => {
      const [store, graph] = [open(), fresh()];
      const [free = '', of = ''] = await store.learn(graph, [
        fact('General.', { about: [{ symbol: 'nowhere' }] }),
        fact('Of a file.', { about: [{ path: 'later.ts' }] }),
      ]);
      expect(await store.facts(graph, [free, of])).toMatchObject([{ stale: [] }, { stale: [] }]);
      await store.write(graph, { records: [fileRecord('later.ts', { symbols: [symbolOf('nowhere', 1)] })] });
      expect(await store.facts(graph, [free, of])).toMatchObject([{ stale: [] }, { stale: ['later.ts'] }]);
    });

    test('facts about something come newest first, without those that others supersede', async () => {
      const [store, graph] = [open(), fresh()];
      const about = [{ path: 'a.ts', symbol: 'alpha' }];
      const [old = ''] = await store.learn(graph, [fact('The limit is 5.', { about, atMs: 1 })]);
      const [next = ''] = await store.learn(graph, [
        fact('The limit is 7.', { about, atMs: 2, supersedes: [old] }),
        fact('It is checked first.', { about, atMs: 3, kind: 'decision' }),
      ]);
      const texts = async (of: object) => (await store.factsAbout(graph, of, 9)).map(({ text }) => text);
      const both = ['It is checked first.', 'The limit is 7.'];
      expect(await texts({ path: 'a.ts' })).toEqual(both);
      expect(await texts({ symbol: 'alpha' })).toEqual(both);
      expect(await texts({ path: 'a.ts', symbol: 'alpha' })).toEqual(both);
      expect(await texts({ path: 'b.ts', symbol: 'alpha' })).toEqual([]);
      expect(await texts({})).toEqual([]);
      expect(await foundNames(store, graph, 'limit')).toEqual(['The limit is 7.']);
      expect(await foundNames(store, graph, 'alpha')).toHaveLength(2);
      expect(await foundNames(store, graph, 'path')).toEqual([]);
      expect(await store.facts(graph, [next])).toMatchObject([{ supersedes: [old] }]);
      expect(await store.stats(graph)).toMatchObject({ facts: 2 });
      await store.learn(graph, [fact('The limit is 5.', { about, atMs: 9 })]);
      expect(await foundNames(store, graph, 'limit')).toHaveLength(2);
    });

    test('a fact that cannot be kept is refused, and nothing with it', async () => {
      const [store, graph] = [open(), fresh()];
      const refused = (bad: object, code: string) =>
        expect(store.learn(graph, [fact('Fine.'), { ...fact('Bad.'), ...bad }])).rejects.toMatchObject({
          code,
          hint: expect.any(String),
        });
      await refused({ supersedes: ['fact_0'] }, 'fact_unknown');
      await refused({ text: ' ' }, 'fact_malformed');
      await refused({ text: 'x'.repeat(9000) }, 'fact_malformed');
      await refused({ about: [{}] }, 'fact_malformed');
      await refused({ about: Array.from({ length: 99 }, () => ({ path: 'x' })) }, 'fact_malformed');
      expect(await store.stats(graph)).toMatchObject({ facts: 0 });
    });
  });

  describe('sessions', () => {
    test('a file knows who read and changed it, the newest first; a session that comes again adds', async () => {
      const [store, graph] = [open(), fresh()];
      const note = (session: string, atMs: number, read: string[], changed: string[]) =>
        store.noteSession(graph, { session, title: `About ${session}`, atMs, read, changed });
      await note('s1', 1, ['a.ts', 'b.ts'], []);
      await note('s2', 2, ['a.ts'], ['a.ts']);
      await note('s1', 3, [], ['b.ts']);
      expect(await store.sessionsOf(graph, 'a.ts', 9)).toEqual([
        { session: 's1', title: 'About s1', atMs: 3, did: 'read' },
        { session: 's2', title: 'About s2', atMs: 2, did: 'changed' },
      ]);
      expect(await store.sessionsOf(graph, 'b.ts', 9)).toMatchObject([{ session: 's1', did: 'changed' }]);
      expect(await store.sessionsOf(graph, 'a.ts', 1)).toHaveLength(1);
      expect(await store.stats(graph)).toMatchObject({ sessions: 2 });
    });
  });

  describe('graphs', () => {
    test('graphs know nothing of each other, and one that is dropped is gone and may begin anew', async () => {
      const store = open();
      const [left, right] = [fresh(), fresh()];
      for (const graph of [left, right]) {
        await store.write(graph, {
          records: [
            fileRecord('a.ts', { symbols: [symbolOf('alpha', 1)], calls: [{ name: 'beta', line: 1 }] }),
          ],
        });
        await store.learn(graph, [
          { kind: 'fact', text: 'Alpha is first.', about: [{ path: 'a.ts' }], atMs: 1 },
        ]);
      }
      expect(await store.graphs()).toEqual(expect.arrayContaining([left, right]));
      expect(await foundNames(store, left, 'alpha')).toHaveLength(2);
      await store.drop(left);
      await store.drop(left);
      expect(await store.graphs()).not.toContain(left);
      expect(await foundNames(store, left, 'alpha')).toEqual([]);
      expect(await store.stats(left)).toMatchObject({ files: 0, facts: 0 });
      await store.write(left, { records: [fileRecord('new.ts')] });
      expect((await store.files(left)).map(({ path }) => path)).toEqual(['new.ts']);
      expect(await store.factsAbout(left, { path: 'a.ts' }, 9)).toEqual([]);
      expect(await foundNames(store, right, 'alpha')).toHaveLength(2);
    });

    test('a graph that was never written has nothing', async () => {
      const [store, graph] = [open(), fresh()];
      expect(await store.files(graph)).toEqual([]);
      expect(await store.search(graph, 'x', { limit: 3 })).toEqual([]);
      expect(await store.imports(graph, 0, 9)).toEqual([]);
      await store.resolve(graph, [{ id: 1, target: 'c' }]);
      expect(await store.stats(graph)).toMatchObject({ files: 0, languages: {}, notes: {} });
      expect(await store.graphs()).not.toContain(graph);
    });

    test('all that one graph gives makes another the same, page by page', async () => {
      const store = open();
      const [left, right] = [fresh(), fresh()];
      const records = [
        fileRecord('a.ts', {
          symbols: [
            symbolOf('Session', 1, { kind: 'class', doc: 'A run.' }),
            symbolOf('run', 2, { container: 0 }),
          ],
          imports: [{ specifier: './b.ts', line: 1, names: ['beta'], target: 'b.ts' }],
          calls: [
            { name: 'beta', line: 3, from: 1, receiver: 'it' },
            { name: 'free', line: 9 },
          ],
        }),
        fileRecord('b.ts', {
          note: 'broken',
          imports: [{ specifier: 'x', line: 1, names: ['*'], reexport: true }],
        }),
      ];
      await store.write(left, { records, commit: 'c1', walkedAtMs: 7 });
      const fact = {
        kind: 'fact' as const,
        about: [{ symbol: 'Session' }, { path: 'later.ts' }],
        session: 's1',
      };
      const [old = ''] = await store.learn(left, [{ ...fact, text: 'Old.', atMs: 1 }]);
      await store.learn(left, [{ ...fact, text: 'New.', atMs: 2, supersedes: [old] }]);
      await store.noteSession(left, {
        session: 's1',
        title: 'One',
        atMs: 3,
        read: ['a.ts'],
        changed: ['b.ts'],
      });
      await store.noteSession(left, { session: 's2', title: 'Two', atMs: 4, read: [], changed: [] });
      await store.write(left, { records: [{ ...records[0]!, hash: 'changed' }] });

      const all = async <T>(read: (last: T | undefined) => Promise<readonly T[]>): Promise<readonly T[]> => {
        const found: T[] = [];
        for (let page = await read(undefined); page.length > 0; page = await read(found.at(-1)))
          found.push(...page);
        return found;
      };
      const everything = async (graph: string) => ({
        records: await all<FileRecord>((last) => store.records(graph, last?.path ?? '', 1)),
        learned: await all<{ n: number }>((last) => store.learned(graph, last?.n ?? 0, 1)),
        notes: await all<{ n: number }>((last) => store.notes(graph, last?.n ?? 0, 1)),
      });
      const given = await everything(left);
      expect(given.records).toEqual([{ ...records[0]!, hash: 'changed' }, records[1]]);
      expect(given.learned).toMatchObject([{ kept: { holds: false } }, { kept: { holds: true } }]);
      for (let time = 0; time < 2; time++) {
        await store.write(right, { records: given.records, commit: 'c1', walkedAtMs: 7 });
        // Whatever the order.
        for (const { n: _, ...rest } of [...given.learned].reverse())
          await store.learn(right, [rest as never]);
        for (const { n: _, ...rest } of given.notes) await store.noteSession(right, rest as never);
      }
      const unnumbered = ({ learned, notes, ...rest }: typeof given) => ({
        ...rest,
        learned: learned
          .map(({ n: _, ...own }) => own)
          .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
        notes: notes.map(({ n: _, ...own }) => own),
      });
      expect(unnumbered(await everything(right))).toEqual(unnumbered(given));
      expect(await store.stats(right)).toEqual(await store.stats(left));
      expect(await foundNames(store, right, 'old new')).toEqual(['New.']);
      expect(await store.callersOf(right, await one(right, 'run'), 9)).toEqual([]);
    });

    test('stats count files by language and by what is missing', async () => {
      const [store, graph] = [open(), fresh()];
      await store.write(graph, {
        records: [
          fileRecord('a.ts'),
          fileRecord('b.ts', { note: 'broken' }),
          fileRecord('c.go', { language: 'go', note: 'broken' }),
        ],
      });
      expect(await store.stats(graph)).toMatchObject({
        files: 3,
        languages: { typescript: 2, go: 1 },
        notes: { broken: 2 },
      });
    });
  });
}
