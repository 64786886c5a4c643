import type { Fact, Found, FoundSymbol, GraphStore } from '../../store/graph.ts';
import type { MemoryAnswer, MemoryNode, MemoryView } from '../memory.ts';
import type { QueryDeps } from './draft.ts';
import { dayOf, inline, staleness } from './render-answer.ts';

const FOUND = 40;
/** Below that part of the best score something is no longer about the text. */
const OF_BEST = 0.4;
const LEAST = 0.3;
const NAMED = 8;
const SYMBOLS_A_NAME = 3;
const SYMBOLS_A_FILE = 8;
const FILES = 12;
const FACTS = 20;
const FACTS_A_FILE = 3;
const SESSIONS = 5;
const LINE_CHARS = 240;
const MAX_TEXT_CHARS = 20_000;
/** Facts come first, but take no more than this part of the room. */
const FOR_FACTS = 0.4;

/** Names of code in prose: `createTagParser`, `Session.run`, `tag_line`, `src/session.ts`. */
const NAME = /[\w$]+(?:(?:\.|::|#)[\w$]+)+|[a-z$_]\w*[A-Z_]\w*|[A-Z]\w*[a-z]\w*[A-Z]\w*/g;
const PATH = /[\w@.-]+(?:\/[\w@.-]+)+/g;

export interface RelevantPart {
  readonly part: string;
  /** The files that it speaks of. */
  readonly files: readonly string[];
}

interface QueryRelevantPart {
  readonly symbols: ReadonlyMap<string, readonly FoundSymbol[]>;
  readonly facts: readonly string[];
  readonly sessions: readonly string[];
  readonly files: readonly string[];
}

/**
 * What a session should know at its start: the facts and the symbols that have most to do with a text, by file, and who
 * worked on these files, as Markdown of at most `maxTokens`. Empty where nothing has to do with it.
 */
export async function relevantPart(
  store: GraphStore,
  graph: string,
  text: string,
  maxTokens: number,
  edges: Pick<QueryDeps, 'tokenizer' | 'view'>,
): Promise<RelevantPart> {
  if (!(maxTokens > 0)) return { part: '', files: [] };
  const { symbols, facts, sessions, files } = await gather(
    store,
    graph,
    text.slice(0, MAX_TEXT_CHARS),
    edges.view,
  );
  if (symbols.size === 0 && facts.length === 0) return { part: '', files };
  const tokenizer = await edges.tokenizer();
  const lines: string[] = [];
  let left = maxTokens;
  const add = (title: string, block: readonly string[], most: number) => {
    let room = Math.min(left, most) - tokenizer.count(`${title}\n`);
    const kept: string[] = [];
    for (const line of block) {
      const cost = tokenizer.count(`${line}\n`);
      if (cost > room) break;
      room -= cost;
      kept.push(line);
    }
    if (kept.length === 0) return;
    for (const line of [title, ...kept]) left -= tokenizer.count(`${line}\n`);
    lines.push(title, ...kept);
  };
  add('Facts:', facts, symbols.size === 0 ? left : maxTokens * FOR_FACTS);
  for (const [path, own] of symbols) add(`${path}:`, own.map(symbolLine), left);
  add('Sessions that worked on these files:', sessions, left);
  return { part: lines.join('\n'), files };
}

async function gather(
  store: GraphStore,
  graph: string,
  text: string,
  view: MemoryView | undefined,
): Promise<QueryRelevantPart> {
  const [found, named] = await Promise.all([
    store.search(graph, text, { limit: FOUND }),
    namedIn(store, graph, text),
  ]);
  const best = Math.max(0, ...found.map(({ score }) => score));
  const close = found.filter(({ score }) => score >= Math.max(LEAST, best * OF_BEST));
  const symbols = new Map<string, FoundSymbol[]>();
  const add = (symbol: FoundSymbol) => {
    const own = symbols.get(symbol.path) ?? [];
    if (own.length >= SYMBOLS_A_FILE || (own.length === 0 && symbols.size >= FILES)) return;
    if (!own.some(({ id }) => id === symbol.id)) symbols.set(symbol.path, [...own, symbol]);
  };
  for (const symbol of named) add(symbol);
  for (const one of close) if (one.kind === 'symbol') add(one.symbol);
  for (const path of close.flatMap((one) => (one.kind === 'file' ? [one.path] : [])).slice(0, 2))
    for (const symbol of await store.symbolsOf(graph, path, SYMBOLS_A_FILE)) add(symbol);
  const allowed = await view?.mayRead([...symbols.keys()]);
  for (const path of symbols.keys()) if (allowed?.has(path) === false) symbols.delete(path);
  const paths = [...symbols.keys()];
  const [facts, sessions] = await Promise.all([
    factsOf(store, graph, paths, close),
    sessionsOf(store, graph, paths.slice(0, SESSIONS)),
  ]);
  for (const own of symbols.values()) own.sort((a, b) => a.line - b.line);
  const about = await Promise.all(facts.map((fact) => factFiles(store, graph, fact)));
  const files = [...new Set([...paths, ...about.flat()])];
  return { symbols, facts: facts.map(factLine), sessions, files };
}

/** Symbols that the text calls by name, and those of files that it names. */
async function namedIn(store: GraphStore, graph: string, text: string): Promise<readonly FoundSymbol[]> {
  const paths = [...new Set(text.match(PATH) ?? [])].slice(0, NAMED);
  const names = [...new Set(text.match(NAME) ?? [])].filter(
    (name) => !paths.some((path) => path.includes(name)),
  );
  const found = await Promise.all([
    ...paths.map((path) => store.symbolsOf(graph, path.replace(/^\.\//, ''), SYMBOLS_A_FILE)),
    ...names.slice(0, NAMED).map((name) => store.symbols(graph, name, SYMBOLS_A_NAME)),
  ]);
  return found.flat();
}

/** Those that hold first. */
async function factsOf(
  store: GraphStore,
  graph: string,
  paths: readonly string[],
  found: readonly Found[],
): Promise<readonly Fact[]> {
  const about = await Promise.all(paths.map((path) => store.factsAbout(graph, { path }, FACTS_A_FILE)));
  const facts = new Map(
    [...found.flatMap((one) => (one.kind === 'fact' ? [one.fact] : [])), ...about.flat()].map((fact) => [
      fact.id,
      fact,
    ]),
  );
  const fresh = [...facts.values()].filter(({ stale }) => stale.length === 0);
  const stale = [...facts.values()].filter((fact) => fact.stale.length > 0);
  return [...fresh, ...stale].slice(0, FACTS);
}

const factLine = ({ text, stale }: Fact): string => `- ${inline(text)}${staleness(stale)}`;

async function sessionsOf(
  store: GraphStore,
  graph: string,
  paths: readonly string[],
): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => store.sessionsOf(graph, path, SESSIONS)));
  const sessions = new Map<
    string,
    { readonly atMs: number; readonly title: string; readonly changed: Set<string> }
  >();
  for (const [place, own] of found.entries())
    for (const { session, atMs, title, did } of own) {
      const known = sessions.get(session) ?? { atMs, title, changed: new Set<string>() };
      if (did === 'changed') known.changed.add(paths[place] ?? '');
      sessions.set(session, known);
    }
  return [...sessions]
    .sort(([, a], [, b]) => b.atMs - a.atMs)
    .slice(0, SESSIONS)
    .map(([session, { atMs, title, changed }]) => {
      const did = changed.size === 0 ? 'read' : `changed ${[...changed].join(', ')}`;
      return `- ${dayOf(atMs)} ${session} ${did}: ${inline(title)}`;
    });
}

function symbolLine({ line, signature, doc, within, kind }: FoundSymbol): string {
  const owner = within === undefined || kind === 'heading' ? '' : `${within}: `;
  const said = doc === undefined ? '' : ` — ${inline(doc)}`;
  return `- ${line} ${owner}\`${inline(signature)}\`${said}`.slice(0, LINE_CHARS);
}

/** Files that define a symbol by which a fact goes stale, as many as the store takes. */
const FILES_A_SYMBOL = 16;

type FactNode = Extract<MemoryNode, { readonly kind: 'fact' | 'decision' }>;
const isFact = (node: MemoryNode): node is FactNode => node.kind === 'fact' || node.kind === 'decision';

/** The files that an answer speaks of: where its nodes stand, and what its facts are about. */
export async function answerFiles(
  store: GraphStore,
  graph: string,
  { nodes }: MemoryAnswer,
): Promise<readonly string[]> {
  const places = nodes.flatMap((node) =>
    node.kind === 'symbol' || node.kind === 'file' ? [node.at.replace(/:\d+$/, '')] : [],
  );
  const facts = await store.facts(
    graph,
    nodes.filter(isFact).map(({ id }) => id),
  );
  const about = await Promise.all(facts.map((fact) => factFiles(store, graph, fact)));
  return [...new Set([...places, ...about.flat()])];
}

/** The files by whose change a fact goes stale. */
async function factFiles(store: GraphStore, graph: string, { about }: Fact): Promise<readonly string[]> {
  const files = await Promise.all(
    about.map(async ({ path, symbol }) =>
      path === undefined
        ? (await store.symbols(graph, symbol ?? '', FILES_A_SYMBOL)).map((each) => each.path)
        : [path],
    ),
  );
  return files.flat();
}

/** The answer, its facts marked stale where the graph has not heard yet that their files changed. */
export async function withStaleFacts(
  store: GraphStore,
  graph: string,
  answer: MemoryAnswer,
  hasChanged: (path: string) => boolean,
): Promise<MemoryAnswer> {
  const ids = answer.nodes.filter(isFact).map(({ id }) => id);
  if (ids.length === 0) return answer;
  const changed = new Map<string, readonly string[]>();
  for (const fact of await store.facts(graph, ids))
    changed.set(fact.id, (await factFiles(store, graph, fact)).filter(hasChanged));
  const nodes = answer.nodes.map((node) =>
    isFact(node)
      ? { ...node, stale: [...new Set([...node.stale, ...(changed.get(node.id) ?? [])])].sort() }
      : node,
  );
  return { ...answer, nodes };
}
