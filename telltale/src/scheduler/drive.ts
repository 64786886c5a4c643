import { type Reference, readWholeReference } from '../expressions/references/reference.ts';
import { readPath } from '../expressions/values.ts';
import { RunAhead } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import { added, NONE, NOTHING } from '../lib/grow.ts';
import type { Json } from '../lib/json.ts';
import { withMethods } from '../lib/with-methods.ts';
import { completesStep, type DeclaredAction, isInBackground, isReported, rollsBack } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import { ask, askForEach, claim as claimId } from './ask.ts';
import { closeParallel, endTurn, openGate, seal, spoil, type TurnEnding } from './dependency-graph.ts';
import type { SchedulerDeps } from './edges.ts';
import { neverEnded, revived, whyUnavailable } from './failures.ts';
import type { FaultsFault } from './faults.ts';
import { spoilGroup } from './gates-of.ts';
import { above, awaitsMore as awaits, createGraph, type Gate, isPending, type Node } from './graph.ts';
import { seek, named as tellNamed } from './named.ts';
import { find, type NameSpace, type Standing } from './names.ts';
import { apply } from './record.ts';
import { restore as takeOver } from './restore.ts';
import { ended, failSession, rollback as undo } from './rollback.ts';
import { first, QUEUED, type Run, ring, shifted, type Works } from './run.ts';
import type { Loop, Resolution, Scheduler, SchedulerOptions } from './scheduler.ts';
import { start } from './start.ts';
import { lose, openOf, stop, whenIdle } from './stop.ts';
import { isTaken as isIdTaken } from './take.ts';
import { whenEnded as callWhenEnded, whenOneEnded as callWhenOneEnded } from './when-ended.ts';

/** Unfinished actions that somebody waits for. */
const trackedIds = (works: Works): readonly string[] => idsWhere(works, true);

/** Unfinished actions that nobody waits for. */
const untrackedIds = (works: Works): readonly string[] => idsWhere(works, false);

function idsWhere(works: Works, areTracked: boolean): readonly string[] {
  const { runs } = works;
  if (runs.size === 0) return NONE;
  const behind = behindBackground(works);
  let ids: readonly string[] = NONE;
  for (const run of runs.values()) {
    if (isTracked(works, run, behind) === areTracked) ids = added(ids, run.action.id);
  }
  return ids;
}

function isTracked(works: Works, run: Run, behind: ReadonlySet<Node>): boolean {
  const { action, node } = run;
  // A turn never goes on in the midst of the end of a step.
  if (completesStep(action)) return true;
  return isReported(action) && !isRunInBackground(works, run) && !behind.has(node);
}

const NOBODY: ReadonlySet<Node> = new Set();

function isRunInBackground({ state }: Works, { action }: Run): boolean {
  return isInBackground(state.actions.get(action.id) ?? { action });
}

/** What cannot end before an action in the background has. */
function behindBackground(works: Works): ReadonlySet<Node> {
  let found: Set<Node> | undefined;
  for (const run of works.runs.values())
    if (isRunInBackground(works, run)) {
      found ??= new Set();
      for (const next of dependentsOf(run.node)) found.add(next);
    }
  if (found === undefined) return NOBODY;
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const node of found) for (const next of dependentsOf(node)) found.add(next);
  return found;
}

/** What waits for a node: its dependents, and those of the collections that it belongs to. */
function* dependentsOf(node: Node): Iterable<Node> {
  for (const next of node.dependents) if (isPending(next)) yield next;
  for (const gate of node.gates) if (isPending(gate)) yield gate;
}

/** Whether `node` waits for something in `among`, however far up. */
function waitsForAny(node: Node, among: ReadonlySet<Node>): boolean {
  const seen = new Set<Node>([node]);
  for (const each of seen)
    for (const next of above(each)) {
      if (among.has(next)) return true;
      if (isPending(next)) seen.add(next);
    }
  return false;
}

/** No model can write such an id. */
const outsideId = (name: string) => `feed:${name}`;

/** What has to be waited for until `name` has a value outside; undefined where it stands for nothing there. */
function fromOutside(works: Works, name: string): Gate | undefined {
  const { graph, deps } = works;
  if (deps.fetch === undefined) return undefined;
  const id = outsideId(name);
  const known = graph.gates?.get(id);
  if (known !== undefined) return known;
  const gate = openGate(graph, id, 'outside');
  const arrived = (failure?: RuntimeError) => {
    if (works.life !== 'lost') {
      gate.error = failure?.toJSON();
      // Nothing to be had: what depends on it does not start, as with an action that failed.
      const changes = deps.lookup(name) === undefined ? spoil(graph, gate, id) : [];
      apply(works, seal(graph, gate, changes), undefined);
      works.goOn();
    }
    // The next one that names it asks anew.
    graph.gates?.delete(id);
  };
  if (deps.fetch(name, arrived)) return gate;
  graph.gates?.delete(id);
  return undefined;
}

function awaitsOutside({ graph }: Works): boolean {
  if (graph.gates === undefined) return false;
  for (const gate of graph.gates.values()) if (gate.of === 'outside') return true;
  return false;
}

/** Whether all that is unfinished waits for people, or for what does: nothing will move by itself. */
function isAtRest(works: Works): boolean {
  let asks = false;
  if (awaitsOutside(works)) return false;
  for (const run of works.runs.values()) {
    if (waitsForPeople(works, run)) asks = true;
    else if (!waitsForOthers(works, run)) return false;
  }
  return asks;
}

/** Tracked actions that wait neither for people, nor for what does. */
function movingIds(works: Works): readonly string[] {
  const tracked = trackedIds(works);
  if (tracked.length === 0) return tracked;
  const resting = new Set<Node>();
  for (const run of works.runs.values()) if (waitsForPeople(works, run)) resting.add(run.node);
  if (resting.size === 0) return tracked;
  if (isAtRest(works)) return NONE;
  return tracked.filter((id) => {
    const node = works.runs.get(id)?.node;
    return node !== undefined && !resting.has(node) && !waitsForAny(node, resting);
  });
}

function waitsForPeople({ deps }: Works, { stage, action }: Run): boolean {
  if (stage.at === 'clearing') return deps.asks?.(action.id) !== false;
  return stage.at === 'running' && deps.rests?.(action.id) === true;
}

function waitsForOthers(works: Works, { stage, action }: Run): boolean {
  if (stage.at === 'waiting') return true;
  // Where those at rest have all places, whoever stands behind them cannot begin either.
  if (stage.at === 'queued') return works.places <= 0;
  if (stage.at !== 'running') return false;
  if (rollsBack(action)) return some(works, ({ undoes }) => undoes !== undefined);
  return completesStep(action) && some(works, (run) => isReported(run.action) && waitsForPeople(works, run));
}

function some({ runs }: Works, fits: (run: Run) => boolean): boolean {
  for (const run of runs.values()) if (fits(run)) return true;
  return false;
}

/** One way to read a reference of a response: ids may have hyphens, and prose puts hyphens behind names. The longest comes first. */
interface DriveReading extends Reference {
  /** What of the source is text in this reading. */
  readonly rest: string;
}

function* readings(reference: Reference): Iterable<DriveReading> {
  const { source } = reference;
  yield { ...reference, rest: '' };
  for (let end = source.lastIndexOf('-'); end > 0; end = source.lastIndexOf('-', end - 1)) {
    const shorter = readWholeReference(source.slice(0, end));
    if (shorter !== undefined) yield { ...shorter, rest: source.slice(end) };
  }
}

/** The first reading of `reference` that stands for something, and what that is. */
function findReference(
  names: NameSpace,
  reference: Reference,
): { readonly reading: DriveReading; readonly standing: Standing } | undefined {
  for (const reading of readings(reference)) {
    const standing = find(names, reading.name);
    if (standing === undefined) continue;
    if (standing.state === 'value' && readPath(standing.value, reading.path) === undefined) continue;
    return { reading, standing };
  }
  return undefined;
}

/** What a reference of a response stands for at this moment. */
function resolution(names: NameSpace, source: string): Resolution {
  const reference = readWholeReference(source);
  const found = reference === undefined ? undefined : findReference(names, reference);
  if (found === undefined) return { state: 'unknown' };
  const { rest, path } = found.reading;
  const { standing } = found;
  switch (standing.state) {
    case 'open':
      return { state: 'pending', id: standing.node.id, rest };
    case 'value':
      return { state: 'value', value: readPath(standing.value, path) as Json, id: standing.id, rest };
    case 'failed': {
      const { id, because } = standing;
      if (standing.error !== undefined) return { state: 'failed', id, error: standing.error, rest };
      const known = names.state.actions.get(id) ?? names.state.actions.get(because);
      const error = known === undefined ? neverEnded(id) : whyUnavailable(known);
      return { state: 'failed', id, error, rest };
    }
  }
}

/** Nothing more comes in this turn. */
function endOfTurn(works: Works, how: TurnEnding): void {
  for (const run of works.openLoops ?? []) if (run.turn === 'open') run.turn = how;
  apply(works, endTurn(works.graph, how), undefined);
}

/** One of its `<parallel>`s has closed: nothing more is read before all in it has ended. */
function endOfGroup(works: Works, group: string): void {
  const { graph } = works;
  const gate = graph.gates?.get(group);
  if (gate?.of !== 'parallel') return;
  if (graph.unnamed !== undefined) seek(works);
  apply(works, closeParallel(graph, gate), undefined);
}

const METHODS = {
  goOn,
  fatal,
  lookup,
  coming,
  heard,
  declare,
  claim,
  isTaken,
  loop,
  named,
  whenEnded,
  whenOneEnded,
  resolve,
  turnEnded,
  closed,
  spoil: spoilDrive,
  awaitsMore,
  tracked,
  moving,
  untracked,
  atRest,
  rollback,
  cancel,
  abandon,
  restore,
};

export const createScheduler = (options: SchedulerOptions, deps: SchedulerDeps): Scheduler =>
  withMethods<Works, keyof typeof METHODS>(METHODS, {
    // A copy: docs/decisions/copies.md
    options,
    deps,
    state: options.state,
    graph: createGraph(),
    keys: undefined,
    loops: undefined,
    runs: NOTHING,
    openLoops: undefined,
    queue: undefined,
    free: undefined,
    places: options.parallelActions,
    ahead: new RunAhead(),
    starting: false,
    completed: NONE,
    life: 'open',
    shutReason: '',
    idle: undefined,
    undoing: undefined,
    loopsMade: 0,
    notes: undefined,
    waiters: NOTHING,
    ringing: false,
  });

function goOn(this: Works): void {
  if (this.starting) return; // a target that was called just now declares or cancels: taken up below
  this.starting = true;
  try {
    startAll(this);
  } finally {
    this.starting = false;
  }
  ring(this);
}

/** Starts what is ready, in its order, as long as there are places. */
function startAll(works: Works): void {
  for (let run = next(works); run !== undefined; run = next(works))
    if (run.stage === QUEUED) start(works, run); // or it was cancelled meanwhile
}

function next(works: Works): Run | undefined {
  const { free, queue } = works;
  if (free !== undefined) {
    const run = first(free);
    works.free = shifted(free);
    return run;
  }
  if (queue === undefined || works.places <= 0) return undefined;
  const run = first(queue);
  works.queue = shifted(queue);
  return run;
}

function fatal(this: Works, id: string, error: RuntimeError, cause: Cause | undefined): void {
  failSession(this, id, error, cause);
}

function lookup(this: Works, name: string): Json | undefined {
  return this.deps.lookup(name);
}

function coming(this: Works, name: string): Gate | undefined {
  return fromOutside(this, name);
}

function heard(this: Works, id: string): void {
  if (this.graph.gates?.has(id) !== true) this.options.onEnded?.(id);
}

function declare(this: Works, action: DeclaredAction, cause: Cause): string | undefined {
  if (this.life === 'lost') return undefined;
  const id = ask(this, action, cause);
  this.goOn();
  return id;
}

function claim(this: Works, id: string): string | FaultsFault {
  return claimId(this, id, 'the <parallel>');
}

function isTaken(this: Works, id: string): boolean {
  return isIdTaken(this, id);
}

function loop(this: Works, asked: Loop, cause: Cause): void {
  if (this.life === 'lost') return;
  askForEach(this, asked, cause);
  this.goOn();
}

function named(this: Works, values: Readonly<Record<string, unknown>>, cause: Cause): void {
  if (this.graph.unnamed === undefined) return;
  for (const name of Object.keys(values)) tellNamed(this, name, cause);
  this.goOn();
}

function whenEnded(this: Works, ids: readonly string[], then: () => void): () => void {
  return callWhenEnded(this, ids, then);
}

function whenOneEnded(this: Works, ids: readonly string[], then: () => void): () => void {
  return callWhenOneEnded(this, ids, then);
}

function resolve(this: Works, source: string): Resolution {
  return resolution(this, source);
}

function turnEnded(this: Works, how: TurnEnding): void {
  if (this.life === 'lost') return;
  endOfTurn(this, how);
  this.goOn();
}

function spoilDrive(this: Works, groups: readonly string[]): void {
  if (this.life === 'lost') return;
  for (const group of groups) spoilGroup(this, group);
  this.goOn();
}

function closed(this: Works, group: string): void {
  if (this.life === 'lost') return;
  endOfGroup(this, group);
  this.goOn();
}

function awaitsMore(this: Works, id: string): boolean {
  const { graph } = this;
  const node = graph.nodes.get(id) ?? graph.gates?.get(id);
  return node !== undefined && awaits(graph, node);
}

function tracked(this: Works): readonly string[] {
  return trackedIds(this);
}

function untracked(this: Works): readonly string[] {
  return untrackedIds(this);
}

function moving(this: Works): readonly string[] {
  return movingIds(this);
}

function atRest(this: Works): boolean {
  return isAtRest(this);
}

function rollback(this: Works, ...[to, cause, asked]: Parameters<Scheduler['rollback']>) {
  return undo(this, to, cause, asked && { ...asked, sparesLater: true });
}

function cancel(this: Works, reason: string, ids?: readonly string[]): Promise<void> {
  if (this.life === 'lost') return new Promise((resolve) => whenIdle(this, resolve));
  if (ids === undefined) {
    this.life = 'closed';
    this.shutReason = reason;
  }
  const those = ids === undefined ? this.runs.values() : ids.flatMap((id) => openOf(this, id));
  const running = stop(this, those, reason);
  this.goOn();
  return ended(this, running);
}

function abandon(this: Works): Promise<void> {
  lose(this);
  return new Promise((resolve) => whenIdle(this, resolve));
}

function restore(this: Works, state: SessionState): void {
  this.starting = true; // nothing starts before all is known again
  const failed = takeOver(this, state);
  this.starting = false;
  if (failed?.error !== undefined) {
    const { id } = failed.action;
    failSession(this, id, revived(failed.error), undefined, { by: id, sparesLater: false });
  }
  this.goOn();
}
