import { isAbsolute, relative, sep } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { LoadTokenizer } from '../../lib/tokens.ts';
import type { GraphStore } from '../../store/graph.ts';
import type { MemoryAnswer, MemoryEdge, MemoryNode, MemoryQuery, MemoryView } from '../memory.ts';
import { createDraft, type Draft, type DraftNode, keyOf, placeOf, type QueryDeps } from './draft.ts';
import {
  type GraphView,
  gatherCalls,
  gatherDefined,
  gatherFacts,
  gatherFound,
  gatherImports,
  gatherSessions,
  type Reach,
} from './gather.ts';
import { renderAnswer } from './render-answer.ts';

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const DEFAULT_DEPTH = 1;
const MAX_DEPTH = 3;
const DEFAULT_TOKENS = 2000;
const MIN_TOKENS = 100;
const MAX_TOKENS = 100_000;
/** Calls of one symbol that are looked at. */
const CALLERS = 30;
/** Of what words have found, whose callers are looked for; of one name all that are listed, up to so many. */
const AROUND = 3;
const NAMESAKES = 10;
/** Of those that are more than one step away, in one answer. */
const FURTHER = 8;
const ROOT = 4;
const LINE = /^(.+?):(\d+)(?::\d+)?$/;

/** Answers a question about one graph: what was found, and what stands around it, the best first. */
export async function queryGraph(
  store: GraphStore,
  graph: string,
  folder: string,
  query: MemoryQuery,
  edges: QueryDeps,
): Promise<MemoryAnswer> {
  const { limit, depth, maxTokens } = boundsOf(query);
  const view: GraphView = { store, graph };
  const draft = createDraft();
  const said = await gather(view, draft, folder, query, limit, depth);
  const found = draft.nodes();
  const seen = await inView(found, edges.view);
  const nodes = await addSnippets(seen, edges.readLines);
  return fitAnswer(
    nodes.map(({ node }) => node),
    draft.edges(),
    found.length === seen.length ? said : unseen(said, found.length - seen.length),
    maxTokens,
    edges.tokenizer,
  );
}

/** Those that stand in files which may be read, and what stands in none. */
async function inView(
  nodes: readonly DraftNode[],
  view: MemoryView | undefined,
): Promise<readonly DraftNode[]> {
  if (view === undefined) return nodes;
  const pathOf = ({ node, symbol }: DraftNode) =>
    symbol?.path ?? (node.kind === 'file' ? node.at : undefined);
  const allowed = await view.mayRead([...new Set(nodes.flatMap((each) => pathOf(each) ?? []))]);
  return nodes.filter((each) => {
    const path = pathOf(each);
    return path === undefined || allowed.has(path);
  });
}

function unseen(note: string | undefined, count: number): string {
  const more = `${count} ${count === 1 ? 'is' : 'are'} not shown: the agent's "permissions: { paths }" do not name these files.`;
  return note === undefined ? more : `${note} ${more}`;
}

function boundsOf({ limit, depth, maxTokens }: MemoryQuery) {
  const within = (value: number | undefined, usual: number, least: number, most: number) =>
    value === undefined || !Number.isFinite(value)
      ? usual
      : Math.min(most, Math.max(least, Math.floor(value)));
  return {
    limit: within(limit, DEFAULT_LIMIT, 1, MAX_LIMIT),
    depth: within(depth, DEFAULT_DEPTH, 0, MAX_DEPTH),
    maxTokens: within(maxTokens, DEFAULT_TOKENS, MIN_TOKENS, MAX_TOKENS),
  };
}

/** Returns what there is to say about how the answer came about. */
function gather(
  view: GraphView,
  draft: Draft,
  folder: string,
  { query, symbol, path }: MemoryQuery,
  limit: number,
  depth: number,
): Promise<string | undefined> {
  const given = [query, symbol, path].filter((one) => one !== undefined && one.trim() !== '');
  if (given.length !== 1) throw queryMalformed(given.length);
  if (symbol !== undefined && symbol.trim() !== '') return bySymbol(view, draft, symbol.trim(), limit, depth);
  if (path !== undefined && path.trim() !== '')
    return byPath(view, draft, normalPath(path.trim(), folder), limit, depth);
  return byWords(view, draft, (query ?? '').trim(), limit, depth);
}

const reach = (depth: number, callers: number, callees: number): Reach => ({
  depth,
  callers,
  callees,
  further: { left: FURTHER },
});

async function byWords(view: GraphView, draft: Draft, words: string, limit: number, depth: number) {
  const found = await view.store.search(view.graph, words, { limit });
  await gatherFound(view, draft, found, AROUND, reach(depth, 5, 5));
  return found.length === 0 ? 'Nothing in the graph has these words.' : undefined;
}

async function bySymbol(view: GraphView, draft: Draft, name: string, limit: number, depth: number) {
  const symbols = await view.store.symbols(view.graph, name, limit);
  if (symbols.length === 0) {
    const found = await view.store.search(view.graph, name, { limit, kinds: ['symbol'] });
    await gatherFound(view, draft, found, 1, reach(depth, 10, 5));
    await gatherFacts(view, draft, { symbol: name }, name, ROOT);
    const like = found.length === 0 ? 'and nothing is called like it' : 'these are called like it';
    return `No symbol is named ${name}; ${like}.`;
  }
  // The more of one name, the less of what each calls. Who calls them is what was asked for.
  const share = symbols.length <= 2 ? 1 : 2 / symbols.length;
  const far = reach(depth, CALLERS, Math.ceil(10 * share));
  for (const [place, symbol] of symbols.entries()) draft.symbol(symbol, 0, ROOT + (symbols.length - place));
  await Promise.all([
    ...symbols
      .slice(0, NAMESAKES)
      .map((symbol) => gatherCalls(view, draft, symbol, { ...far, score: ROOT, distance: 1 })),
    ...symbols.slice(0, 1).map((one) => gatherFacts(view, draft, { symbol: one.name }, placeOf(one), ROOT)),
  ]);
  return undefined;
}

async function byPath(view: GraphView, draft: Draft, asked: string, limit: number, depth: number) {
  const [, beforeLine, line] = LINE.exec(asked) ?? [];
  const path = beforeLine ?? asked;
  const { store, graph } = view;
  const symbols = await gatherDefined(view, draft, path, ROOT);
  await Promise.all([
    gatherFacts(view, draft, { path }, path, ROOT),
    gatherSessions(view, draft, path, ROOT, 5),
    ...(depth > 0 ? [gatherImports(view, draft, path, ROOT, 2 * limit)] : []),
  ]);
  const at = line === undefined ? undefined : Number(line);
  const shown = symbols.filter((one) => at === undefined || (one.line <= at && one.endLine >= at));
  for (const [place, symbol] of shown.slice(0, limit).entries()) {
    draft.symbol(symbol, at === undefined ? 1 : 0, ROOT * (0.9 - place / 1000));
    draft.edge({ kind: 'defines', from: path, to: placeOf(symbol) });
  }
  if (symbols.length > 0 || draft.nodes().length > 1) return undefined;
  const isKnown = (await store.importsOf(graph, path, 1)).length > 0;
  const found = isKnown ? [] : await store.search(graph, path, { limit, kinds: ['file'] });
  if (found.some((one) => one.kind === 'file' && one.path === path)) return undefined;
  draft.drop(path);
  await gatherFound(view, draft, found, 0, reach(0, 0, 0));
  const like = found.length === 0 ? 'and none is called like it' : 'these are called like it';
  return `No file of the graph is ${path}; ${like}.`;
}

/** As the graph names files: relative to its folder, with `/`. */
function normalPath(path: string, folder: string): string {
  const inside = isAbsolute(path) ? relative(folder, path) : path;
  return inside
    .split(sep)
    .join('/')
    .replace(/^(?:\.\/)+/, '');
}

const queryMalformed = (given: number) =>
  new RuntimeError(
    'query_malformed',
    given === 0
      ? 'The query of the knowledge graph asks for nothing.'
      : `The query of the knowledge graph has ${given} of query, symbol and path.`,
    { hint: 'Give one of them: query for words, symbol for a name, path for a file.' },
  );

/** Lines of a definition that are shown, and characters of a line. */
const LINES = 12;
const LINE_CHARS = 200;
/** Definitions, and calls, of which lines are read. */
const DEFINITIONS = 10;
const CALLS = 30;

/** Adds lines of the files: the beginning of what was asked for, the line of a call of what is around it. */
async function addSnippets(
  nodes: readonly DraftNode[],
  readLines: QueryDeps['readLines'],
): Promise<readonly DraftNode[]> {
  let [definitions, calls] = [0, 0];
  return Promise.all(
    nodes.map(async (one) => {
      const { node, symbol, call } = one;
      if (node.kind !== 'symbol' || symbol === undefined) return one;
      const isFound = node.distance === 0;
      if (isFound ? ++definitions > DEFINITIONS : call === undefined || ++calls > CALLS) return one;
      const lines = isFound
        ? await readLines(symbol.path, symbol.line, Math.min(symbol.endLine, symbol.line + LINES - 1))
        : await readLines(call?.path ?? '', call?.line ?? 0, call?.line ?? 0);
      const snippet = textOf(lines ?? []);
      // A definition of one line is its signature.
      if (snippet === '' || snippet.trim() === node.signature.trim()) return one;
      return { ...one, node: { ...node, snippet } };
    }),
  );
}

/** Without the indentation that all of them share. */
function textOf(lines: readonly string[]): string {
  const shared = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines
    .slice(0, LINES)
    .map((line) => (Number.isFinite(shared) ? line.slice(shared) : line).trimEnd().slice(0, LINE_CHARS))
    .join('\n')
    .trimEnd();
}

/** Of a text that is far too long only so much is counted: source has three to four characters a token. */
const MOST_CHARACTERS_A_TOKEN = 8;

/** A node, and the edges between it and those before it. */
interface Group {
  readonly node: MemoryNode;
  readonly edges: readonly MemoryEdge[];
}

/**
 * The answer as long as it may be: what is worth least is left out, with the edges that lead to it, and the note says
 * how much that is. Counted as Markdown, as models read it; as JSON it is three to four times as long. Counting is what
 * takes time (2,000 tokens: 3 ms), so it is done two or three times, however much there is.
 */
async function fitAnswer(
  nodes: readonly MemoryNode[],
  edges: readonly MemoryEdge[],
  note: string | undefined,
  maxTokens: number,
  loadTokenizer: LoadTokenizer,
): Promise<MemoryAnswer> {
  const groups = groupsOf(nodes, edges);
  const whole = answerOf(groups, note);
  const text = renderAnswer(whole);
  // No token is shorter than a byte.
  if (Buffer.byteLength(text) <= maxTokens) return whole;
  const tokenizer = await loadTokenizer();
  const begun = text.slice(0, maxTokens * MOST_CHARACTERS_A_TOKEN);
  const tokens = tokenizer.count(begun);
  if (begun === text && tokens <= maxTokens) return whole;
  const roomChars = (maxTokens * begun.length) / tokens;
  const first = (count: number, more: readonly Group[] = []): MemoryAnswer => {
    const kept = [...groups.slice(0, count), ...more];
    return answerOf(kept, leftOut(note, groups.length - kept.length, maxTokens));
  };
  let count = longest(groups.length - 1, (tried) => renderAnswer(first(tried)).length <= roomChars);
  const fits = (answer: MemoryAnswer) => tokenizer.count(renderAnswer(answer)) <= maxTokens;
  while (count > 0 && !fits(first(count))) count--;
  // What was asked for stands there at least without its lines.
  const next = groups[count];
  const short = next === undefined || count > 0 ? undefined : first(0, [withoutSnippet(next)]);
  return short !== undefined && fits(short) ? short : first(count);
}

/** The most, up to `most`, for which it holds; it holds for 0, and for all below one for which it does. */
function longest(most: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, Math.max(0, most)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function groupsOf(nodes: readonly MemoryNode[], edges: readonly MemoryEdge[]): readonly Group[] {
  const places = new Map(nodes.map((node, place) => [keyOf(node), place]));
  const own: MemoryEdge[][] = nodes.map(() => []);
  for (const edge of edges) {
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    // What is superseded is no node of any answer.
    const isWhole = to !== undefined || edge.kind === 'supersedes';
    if (from !== undefined && isWhole) own[Math.max(from, to ?? 0)]?.push(edge);
  }
  return nodes.map((node, place) => ({ node, edges: own[place] ?? [] }));
}

function withoutSnippet(group: Group): Group {
  if (group.node.kind !== 'symbol' || group.node.snippet === undefined) return group;
  const { snippet: _, ...node } = group.node;
  return { ...group, node };
}

function answerOf(groups: readonly Group[], note: string | undefined): MemoryAnswer {
  return {
    nodes: groups.map(({ node }) => node),
    edges: groups.flatMap(({ edges }) => edges),
    ...(note === undefined ? {} : { note }),
  };
}

function leftOut(note: string | undefined, missing: number, maxTokens: number): string | undefined {
  if (missing === 0) return note;
  const more = `${missing} more ${missing === 1 ? 'is' : 'are'} left out to keep within ${maxTokens} tokens.`;
  return note === undefined ? more : `${note} ${more}`;
}
