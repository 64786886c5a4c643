import type { FactSubject, Found, FoundCall, FoundSymbol, GraphStore } from '../../store/graph.ts';
import { type Draft, placeOf } from './draft.ts';

/** What one step away from a symbol is worth, of its own score. */
const CALLER = 0.5;
const CALLEE = 0.4;
const BY_NAME = 0.6;
const OF_FILE = 0.45;
const FACT = 0.7;
const TEST = 0.7;
const FACTS_A_NODE = 5;
const DEFINED = 60;

const TEST_PATH = /(^|\/)(tests?|__tests__|spec)\/|[._-](test|spec)\.[^/]+$|(^|\/)test_[^/]+$/i;

/** How much is gathered around a symbol. */
export interface Reach {
  readonly depth: number;
  readonly callers: number;
  readonly callees: number;
  /** Symbols whose own calls are still looked at, of all together that are more than one step away. */
  readonly further: { left: number };
}

/** One graph of a store. */
export interface GraphView {
  readonly store: GraphStore;
  readonly graph: string;
}

/** Puts what was found by words into the draft, with what stands around the first of it. */
export async function gatherFound(
  view: GraphView,
  draft: Draft,
  found: readonly Found[],
  around: number,
  reach: Reach,
): Promise<void> {
  const symbols: { readonly symbol: FoundSymbol; readonly score: number }[] = [];
  for (const one of found)
    switch (one.kind) {
      case 'symbol':
        draft.symbol(one.symbol, 0, one.score);
        symbols.push(one);
        break;
      case 'file':
        draft.file(one.path, 0, one.score);
        break;
      case 'fact':
        draft.fact(one.fact, 0, one.score);
    }
  const nearest = symbols.slice(0, around);
  await Promise.all([
    ...nearest.map(({ symbol, score }) => gatherCalls(view, draft, symbol, { ...reach, score, distance: 1 })),
    ...nearest.map(({ symbol, score }) =>
      gatherFacts(view, draft, { symbol: symbol.name }, placeOf(symbol), score),
    ),
    ...found.flatMap((one) => (one.kind === 'file' ? [gatherDefined(view, draft, one.path, one.score)] : [])),
  ]);
}

interface GatherStep extends Reach {
  readonly score: number;
  readonly distance: number;
}

/** Who calls a symbol and what it calls, then the same of those, `depth` steps far. */
export async function gatherCalls(
  view: GraphView,
  draft: Draft,
  symbol: FoundSymbol,
  step: GatherStep,
): Promise<void> {
  if (step.distance > step.depth || symbol.kind === 'heading') return;
  const { store, graph } = view;
  const [callers, callees] = await Promise.all([
    store.callersOf(graph, symbol, step.callers),
    store.calleesOf(graph, symbol, step.callees * 4),
  ]);
  const next: { readonly symbol: FoundSymbol; readonly score: number }[] = [];
  const add = (one: FoundSymbol, score: number, call?: FoundCall) => {
    if (!draft.has(placeOf(one))) next.push({ symbol: one, score });
    draft.symbol(one, step.distance, score, call);
  };
  for (const call of callers) {
    const { from, path, resolved } = call;
    const score = step.score * CALLER * (resolved ? 1 : BY_NAME) * (TEST_PATH.test(path) ? TEST : 1);
    if (from === undefined) draft.file(path, step.distance, score);
    else if (placeOf(from) !== placeOf(symbol)) add(from, score, call);
    draft.edge({
      kind: 'calls',
      from: from === undefined ? path : placeOf(from),
      to: placeOf(symbol),
      at: placeOf(call),
      ...(resolved ? {} : { byName: true }),
    });
  }
  const called = new Map<string, FoundCall & { readonly to: FoundSymbol }>();
  for (const call of callees) {
    const { to } = call;
    if (to === undefined || called.size >= step.callees || called.has(placeOf(to))) continue;
    called.set(placeOf(to), { ...call, to });
  }
  for (const [place, call] of called) {
    if (place !== placeOf(symbol)) add(call.to, step.score * CALLEE);
    draft.edge({ kind: 'calls', from: placeOf(symbol), to: place, at: placeOf(call) });
  }
  const further = {
    ...step,
    distance: step.distance + 1,
    callers: half(step.callers),
    callees: half(step.callees),
  };
  if (further.distance > step.depth) return;
  // The best first: an answer has room for a few of them, and each costs as much as the first step did.
  const best = next.sort((a, b) => b.score - a.score).slice(0, step.further.left);
  step.further.left -= best.length;
  await Promise.all(
    best.map((one) => gatherCalls(view, draft, one.symbol, { ...further, score: one.score })),
  );
}

const half = (count: number): number => Math.max(1, Math.floor(count / 2));

export async function gatherFacts(
  { store, graph }: GraphView,
  draft: Draft,
  about: FactSubject,
  place: string,
  score: number,
): Promise<void> {
  for (const fact of await store.factsAbout(graph, about, FACTS_A_NODE)) {
    draft.fact(fact, 1, score * FACT * (fact.stale.length === 0 ? 1 : BY_NAME));
    draft.edge({ kind: 'mentions', from: fact.id, to: place });
  }
}

/** A file with the names of what it defines. */
export async function gatherDefined(
  { store, graph }: GraphView,
  draft: Draft,
  path: string,
  score: number,
): Promise<readonly FoundSymbol[]> {
  const symbols = await store.symbolsOf(graph, path, DEFINED);
  const top = symbols.filter(({ within }) => within === undefined);
  const defines = top.map(({ name, line }) => `${name}:${line}`);
  draft.file(path, 0, score, defines.length === 0 ? {} : { defines });
  return symbols;
}

/** What a file imports and who imports it. */
export async function gatherImports(
  { store, graph }: GraphView,
  draft: Draft,
  path: string,
  score: number,
  limit: number,
): Promise<void> {
  const [imports, importers] = await Promise.all([
    store.importsOf(graph, path, limit),
    store.importersOf(graph, path, limit),
  ]);
  for (const { path: from, line } of importers) {
    draft.file(from, 1, score * OF_FILE * (TEST_PATH.test(from) ? TEST : 1));
    draft.edge({ kind: 'imports', from, to: path, at: `${from}:${line}` });
  }
  for (const { target, specifier, line } of imports) {
    if (target === undefined) draft.module(specifier, 1, score * OF_FILE * BY_NAME);
    else draft.file(target, 1, score * OF_FILE);
    draft.edge({ kind: 'imports', from: path, to: target ?? specifier, at: `${path}:${line}` });
  }
}

/** Who read and changed a file. */
export async function gatherSessions(
  { store, graph }: GraphView,
  draft: Draft,
  path: string,
  score: number,
  limit: number,
): Promise<void> {
  for (const session of await store.sessionsOf(graph, path, limit)) {
    draft.session(session, 1, score * OF_FILE);
    draft.edge({ kind: 'mentions', from: session.session, to: path });
  }
}
