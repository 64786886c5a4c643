import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { MemoryAnswer, MemoryNode, MemoryQuery } from '../../src/memory/memory.ts';
import { queryGraph } from '../../src/memory/query/query-graph.ts';
import { relevantPart } from '../../src/memory/query/relevant-part.ts';
import { renderAnswer } from '../../src/memory/query/render-answer.ts';
import type { GraphStore } from '../../src/store/graph.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { moreRuns } from '../more-runs.ts';
import { fileRecord, symbolOf } from '../store/graph-contract.ts';

const TEXTS: Readonly<Record<string, string>> = {
  'src/parser.ts': [
    "import { lex } from './lexer.ts';",
    '',
    '/** Reads tags. */',
    'export function createTagParser(options: Options): Parser {',
    '  const tokens = lex(options.text);',
    '  return { push: (text) => tokens.add(text) };',
    '}',
  ].join('\n'),
  'src/main.ts': [
    "import { createTagParser } from './parser.ts';",
    'export function main(): void {',
    '  const parser = createTagParser({ text: "" });',
    '}',
  ].join('\n'),
};

const COUNT = (text: string) => Math.ceil(text.length / 3);
const edges = {
  tokenizer: async () => ({ count: COUNT }),
  async readLines(path: string, from: number, to: number) {
    return TEXTS[path]?.split('\n').slice(from - 1, to);
  },
};
const DAY = Date.UTC(2026, 10, 15);

let store: GraphStore;
beforeAll(async () => {
  store = await createMemoryStore({ clock: createSimulatedClock() }).graphs();
  await store.write('g', {
    records: [
      fileRecord('src/lexer.ts', {
        symbols: [symbolOf('lex', 1, { signature: 'export function lex(text: string)' })],
      }),
      fileRecord('src/parser.ts', {
        symbols: [
          symbolOf('createTagParser', 4, {
            endLine: 7,
            signature: 'export function createTagParser(options: Options): Parser',
            doc: 'Reads tags.',
          }),
        ],
        imports: [
          { specifier: './lexer.ts', line: 1, names: ['lex'], target: 'src/lexer.ts' },
          { specifier: 'node:fs', line: 2, names: ['readFileSync'] },
        ],
        calls: [{ name: 'lex', line: 5, from: 0 }],
      }),
      fileRecord('src/main.ts', {
        symbols: [symbolOf('main', 2, { endLine: 4, signature: 'export function main(): void' })],
        imports: [{ specifier: './parser.ts', line: 1, names: ['createTagParser'], target: 'src/parser.ts' }],
        calls: [{ name: 'createTagParser', line: 3, from: 0 }],
      }),
      fileRecord('test/parser.test.ts', {
        imports: [
          { specifier: '../src/parser.ts', line: 1, names: ['createTagParser'], target: 'src/parser.ts' },
        ],
        calls: [{ name: 'createTagParser', line: 9 }],
      }),
      fileRecord('src/start.ts', {
        symbols: [symbolOf('start', 1)],
        imports: [{ specifier: './main.ts', line: 1, names: ['main'], target: 'src/main.ts' }],
        calls: [
          { name: 'main', line: 3, from: 0 },
          { name: 'createTagParser', receiver: 'legacy', line: 4, from: 0 },
        ],
      }),
      fileRecord('README.md', { symbols: [symbolOf('Tags', 1, { kind: 'heading', signature: '# Tags' })] }),
    ],
  });
  await store.learn('g', [
    {
      kind: 'fact',
      text: 'The parser keeps half a tag.',
      about: [{ path: 'src/parser.ts' }],
      atMs: DAY,
      session: 's1',
    },
    { kind: 'decision', text: 'Tags are read by hand.', about: [{ symbol: 'createTagParser' }], atMs: DAY },
    { kind: 'fact', text: 'The lexer is slow.', about: [{ path: 'src/lexer.ts' }], atMs: DAY },
  ]);
  await store.write('g', {
    records: [fileRecord('src/lexer.ts', { hash: 'new', symbols: [symbolOf('lex', 1)] })],
  });
  await store.noteSession('g', {
    session: 's1',
    title: 'Mend the parser',
    atMs: DAY,
    read: ['src/main.ts'],
    changed: ['src/parser.ts'],
  });
});

const ask = (query: MemoryQuery): Promise<MemoryAnswer> => queryGraph(store, 'g', '/repo', query, edges);
const places = (nodes: readonly MemoryNode[]) =>
  nodes.map((node) => ('at' in node ? node.at : node.kind === 'module' ? node.name : node.kind));

describe('a query for a symbol', () => {
  test('gives its definition with lines first, then who calls it with the line, and what it calls', async () => {
    const { nodes, edges: found } = await ask({ symbol: 'createTagParser' });
    expect(nodes[0]).toMatchObject({
      kind: 'symbol',
      what: 'function',
      name: 'createTagParser',
      at: 'src/parser.ts:4',
      distance: 0,
      snippet: TEXTS['src/parser.ts']?.split('\n').slice(3).join('\n'),
    });
    const main = nodes.find((node) => 'at' in node && node.at === 'src/main.ts:2');
    expect(main).toMatchObject({ distance: 1, snippet: 'const parser = createTagParser({ text: "" });' });
    expect(found).toContainEqual({
      kind: 'calls',
      from: 'src/main.ts:2',
      to: 'src/parser.ts:4',
      at: 'src/main.ts:3',
    });
    expect(found).toContainEqual(expect.objectContaining({ from: 'src/start.ts:1', byName: true }));
    expect(found).toContainEqual(expect.objectContaining({ from: 'src/parser.ts:4', to: 'src/lexer.ts:1' }));
    expect(found).toContainEqual(
      expect.objectContaining({ from: 'test/parser.test.ts', at: 'test/parser.test.ts:9' }),
    );
    expect(places(nodes)).toContain('decision');
    const keys = new Set([...places(nodes), ...nodes.flatMap((node) => ('id' in node ? [node.id] : []))]);
    for (const { from, to } of found) expect(keys.has(from) && keys.has(to)).toBe(true);
  });

  test('that several files define has the callers of each', async () => {
    const homes = ['a', 'b', 'c', 'd', 'e'];
    await store.write('namesakes', {
      records: homes.flatMap((home) => [
        fileRecord(`${home}/end.ts`, { symbols: [symbolOf('endRun', 1)] }),
        fileRecord(`${home}/use.ts`, {
          symbols: [symbolOf(`use_${home}`, 2)],
          imports: [{ specifier: './end.ts', line: 1, names: ['endRun'], target: `${home}/end.ts` }],
          calls: [{ name: 'endRun', line: 3, from: 0 }],
        }),
      ]),
    });
    const { edges: found } = await queryGraph(store, 'namesakes', '/', { symbol: 'endRun' }, edges);
    const calls = found.filter(({ kind }) => kind === 'calls').map(({ at, to }) => `${at} ${to}`);
    expect(calls.sort()).toEqual(homes.map((home) => `${home}/use.ts:3 ${home}/end.ts:1`));
  });

  test('goes on with the callers of its callers where depth says so', async () => {
    const near = await ask({ symbol: 'lex', depth: 1 });
    expect(places(near.nodes)).not.toContain('src/main.ts:2');
    const far = await ask({ symbol: 'lex', depth: 2 });
    expect(far.nodes.find((node) => 'at' in node && node.at === 'src/main.ts:2')).toMatchObject({
      distance: 2,
    });
    const none = await ask({ symbol: 'lex', depth: 0 });
    expect(none.edges.filter(({ kind }) => kind === 'calls')).toEqual([]);
  });

  test('that is not there gives those that are called like it, and says so', async () => {
    const { nodes, note } = await ask({ symbol: 'TagParser' });
    expect(nodes[0]).toMatchObject({ name: 'createTagParser' });
    expect(note).toBe('No symbol is named TagParser; these are called like it.');
    expect((await ask({ symbol: 'zzz' })).note).toContain('nothing is called like it');
  });
});

describe('a query by words', () => {
  test('gives what matches best first, with its neighbours', async () => {
    const { nodes, edges: found } = await ask({ query: 'tag parser' });
    expect(nodes[0]).toMatchObject({ name: 'createTagParser', distance: 0 });
    expect(found).toContainEqual(expect.objectContaining({ to: 'src/parser.ts:4', at: 'src/main.ts:3' }));
    expect((await ask({ query: 'nothing has thisword zzz' })).nodes).toEqual([]);
  });

  test('marks facts whose file has changed', async () => {
    const { nodes } = await ask({ query: 'lexer slow' });
    expect(nodes.find(({ kind }) => kind === 'fact')).toMatchObject({ stale: ['src/lexer.ts'] });
  });
});

describe('a query for a path', () => {
  test('gives what the file defines, imports and who imports it, facts and sessions', async () => {
    const { nodes, edges: found } = await ask({ path: 'src/parser.ts' });
    expect(nodes[0]).toMatchObject({ kind: 'file', at: 'src/parser.ts', defines: ['createTagParser:4'] });
    expect(places(nodes)).toEqual(
      expect.arrayContaining([
        'src/lexer.ts',
        'node:fs',
        'src/main.ts',
        'test/parser.test.ts',
        'fact',
        'session',
      ]),
    );
    expect(found).toContainEqual({
      kind: 'imports',
      from: 'src/main.ts',
      to: 'src/parser.ts',
      at: 'src/main.ts:1',
    });
  });

  test('takes an absolute path, one with ./ and one with a line', async () => {
    for (const path of ['/repo/src/parser.ts', './src/parser.ts'])
      expect((await ask({ path })).nodes[0]).toMatchObject({ at: 'src/parser.ts' });
    const { nodes } = await ask({ path: 'src/parser.ts:5' });
    expect(nodes).toContainEqual(expect.objectContaining({ name: 'createTagParser', distance: 0 }));
  });

  test('that is not there gives those that are called like it', async () => {
    const { nodes, note } = await ask({ path: 'lib/parser.ts' });
    expect(places(nodes)).toContain('src/parser.ts');
    expect(places(nodes)).not.toContain('lib/parser.ts');
    expect(note).toContain('No file of the graph is lib/parser.ts');
  });
});

describe('what an answer may take', () => {
  test('what is worth least is left out until it fits, and the note counts it', async () => {
    const whole = await ask({ symbol: 'createTagParser' });
    expect(whole.note).toBeUndefined();
    for (const maxTokens of [100, 150, 200, 300, 400]) {
      const { nodes, note, ...rest } = await ask({ symbol: 'createTagParser', maxTokens });
      const answer = { nodes, ...rest, ...(note === undefined ? {} : { note }) };
      expect(COUNT(renderAnswer(answer))).toBeLessThanOrEqual(maxTokens);
      if (nodes.length < whole.nodes.length)
        expect(note).toMatch(new RegExp(`^${whole.nodes.length - nodes.length} more (is|are) left out`));
    }
  });

  test('limit bounds what is found', async () => {
    const { nodes } = await ask({ query: 'tag parser main start lex', limit: 2 });
    expect(nodes.filter(({ distance }) => distance === 0)).toHaveLength(2);
  });

  test('a query of none or two things is refused with what to give', async () => {
    const refused = { code: 'query_malformed', hint: expect.stringContaining('one of them') };
    await expect(ask({})).rejects.toMatchObject(refused);
    await expect(ask({ query: ' ' })).rejects.toMatchObject(refused);
    await expect(ask({ query: 'a', path: 'b' })).rejects.toMatchObject(refused);
  });

  test('any text and any numbers are a query', async () => {
    const odd = fc.constantFrom(Number.NaN, -1, 0, 0.5, 7, Number.POSITIVE_INFINITY, 1e9);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('query', 'symbol', 'path'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }).filter((text) => text.trim() !== ''),
        odd,
        async (key, text, n) => {
          const answer = await ask({ [key]: text, depth: n, limit: n, maxTokens: n });
          expect(typeof renderAnswer(answer)).toBe('string');
        },
      ),
      { numRuns: moreRuns(60) },
    );
  });
});

describe('an answer as Markdown', () => {
  test('names places, callers and what is stale', async () => {
    const text = renderAnswer(await ask({ symbol: 'createTagParser' }));
    expect(text).toContain('**createTagParser** function src/parser.ts:4');
    expect(text).toContain(
      '- called by src/main.ts:3 in main: `const parser = createTagParser({ text: "" });`',
    );
    expect(text).toContain('- called by src/start.ts:4 in start (by name only)');
    expect(text).toContain('- calls lex src/lexer.ts:1');
    expect(text).toContain('decision: Tags are read by hand.');
    expect(renderAnswer(await ask({ query: 'lexer slow' }))).toContain('(stale: src/lexer.ts changed since)');
    expect(renderAnswer(await ask({ path: 'src/parser.ts' }))).toContain('- imported by src/main.ts:1');
    expect(renderAnswer({ nodes: [], edges: [], note: 'Nothing.' })).toBe('_Nothing._');
  });

  test('a snippet cannot end its own fence', () => {
    const node: MemoryNode = {
      kind: 'symbol',
      what: 'function',
      name: 'f',
      at: 'a.ts:1',
      signature: 'f()',
      snippet: '```\nnot the end\n```',
      distance: 0,
    };
    expect(renderAnswer({ nodes: [node], edges: [] })).toContain('````\n```\nnot the end\n```\n````');
  });
});

describe('the part that a session starts with', () => {
  const part = async (text: string, maxTokens = 500) =>
    (await relevantPart(store, 'g', text, maxTokens, edges)).part;

  test('has symbols by file, facts with the fresh ones first, and who worked there', async () => {
    const text = await part('Please make createTagParser quicker, and look at src/lexer.ts too.');
    expect(text).toContain(
      'src/parser.ts:\n- 4 `export function createTagParser(options: Options): Parser` — Reads tags.',
    );
    expect(text).toContain('src/lexer.ts:\n- 1 ');
    expect(text).toContain('- The lexer is slow. (stale: src/lexer.ts changed since)');
    expect(text.indexOf('keeps half a tag')).toBeLessThan(text.indexOf('lexer is slow'));
    expect(text).toContain('- 2026-11-15 s1 changed src/parser.ts: Mend the parser');
  });

  test('is empty where nothing has to do with the text, and never longer than it may be', async () => {
    expect(await part('zzz')).toBe('');
    expect(await part('')).toBe('');
    expect(await part('createTagParser', 0)).toBe('');
    for (const maxTokens of [10, 40, 80, 120]) {
      const text = await part('createTagParser lex main start tags', maxTokens);
      expect(COUNT(text)).toBeLessThanOrEqual(maxTokens);
    }
  });
});
