import { type Reference, readWholeReference } from '../expressions/references/reference.ts';
import { readPath } from '../expressions/values.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { completesStep, type DeclaredAction, isInBackground, isReported, rollsBack } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import { ask, askForEach, claim } from './ask.ts';
import { closeParallel, endTurn, openGate, seal, spoil, type TurnEnding } from './dependency-graph.ts';
import type { SchedulerDeps } from './edges.ts';
import { neverEnded, revived, whyUnavailable } from './failures.ts';
import type { FaultsFault } from './faults.ts';
import { spoilGroup } from './gates-of.ts';
import { above, awaitsMore, type Gate, isClosed, isPending, type Node } from './graph.ts';
import { named, seek } from './named.ts';
import { find, type NameSpace, type Standing } from './names.ts';
import { apply } from './record.ts';
import { restore } from './restore.ts';
import { ended, failSession, rollback } from './rollback.ts';
import { first, QUEUED, type Run, ring, SchedulerCore, shifted, waitForEnds } from './run.ts';
import type { Loop, Resolution, RolledBack, Scheduler, SchedulerOptions } from './scheduler.ts';
import { start } from './start.ts';
import { lose, openOf, stop, whenIdle } from './stop.ts';
import { isTaken } from './take.ts';

/** Starts actions as soon as they may start, and sees them to their end. The files beside this one are its parts. */
class ActionScheduler extends SchedulerCore implements Scheduler {
  /** Whether something is being started: what comes up meanwhile is taken up behind it. */
  #starting = false;

  declare(action: DeclaredAction, cause: Cause): string | undefined {
    if (this.life === 'lost') return undefined;
    const id = ask(this, action, cause);
    this.goOn();
    return id;
  }

  claim(id: string): string | FaultsFault {
    return claim(this, id, 'the <parallel>');
  }

  isTaken(id: string): boolean {
    return isTaken(this, id);
  }

  loop(asked: Loop, cause: Cause): void {
    if (this.life === 'lost') return;
    askForEach(this, asked, cause);
    this.goOn();
  }

  named(values: Readonly<Record<string, unknown>>, cause: Cause): void {
    if (this.graph.unnamed === undefined) return;
    for (const name of Object.keys(values)) named(this, name, cause);
    this.goOn();
  }

  whenEnded(ids: readonly string[], then: () => void): () => void {
    const open = this.#stillOpen(ids);
    return this.#whenNoted(open, open.length, then);
  }

  whenOneEnded(ids: readonly string[], then: () => void): () => void {
    const open = this.#stillOpen(ids);
    return this.#whenNoted(open, open.length < ids.length ? 0 : 1, then);
  }

  /** Calls back once so many of these have ended; at once for none. The returned function forgets it. */
  #whenNoted(open: readonly string[], count: number, then: () => void): () => void {
    if (count === 0) then();
    const forget = count === 0 ? () => undefined : waitForEnds(this, open, count, then);
    this.goOn();
    return forget;
  }

  #stillOpen(ids: readonly string[]): readonly string[] {
    const { graph, runs } = this;
    return ids.filter((id) => {
      const gate = graph.gates?.get(id);
      return runs.has(id) || (gate !== undefined && !isClosed(gate));
    });
  }

  resolve(source: string): Resolution {
    return resolution(this, source);
  }

  turnEnded(how: TurnEnding): void {
    if (this.life === 'lost') return;
    for (const run of this.openLoops ?? []) if (run.turn === 'open') run.turn = how;
    apply(this, endTurn(this.graph, how), undefined);
    this.goOn();
  }

  closed(group: string): void {
    if (this.life === 'lost') return;
    const gate = this.graph.gates?.get(group);
    if (gate?.of === 'parallel') {
      if (this.graph.unnamed !== undefined) seek(this);
      apply(this, closeParallel(this.graph, gate), undefined);
    }
    this.goOn();
  }

  spoil(groups: readonly string[]): void {
    if (this.life === 'lost') return;
    for (const group of groups) spoilGroup(this, group);
    this.goOn();
  }

  awaitsMore(id: string): boolean {
    const { graph } = this;
    const node = graph.nodes.get(id) ?? graph.gates?.get(id);
    return node !== undefined && awaitsMore(graph, node);
  }

  tracked(): readonly string[] {
    return this.#idsWhere(true);
  }

  untracked(): readonly string[] {
    return this.#idsWhere(false);
  }

  #idsWhere(areTracked: boolean): readonly string[] {
    const { runs } = this;
    if (runs.size === 0) return [];
    const behind = this.#behindBackground();
    const ids: string[] = [];
    for (const run of runs.values()) if (this.#isTracked(run, behind) === areTracked) ids.push(run.action.id);
    return ids;
  }

  #isTracked(run: Run, behind: ReadonlySet<Node>): boolean {
    const { action, node } = run;
    // A turn never goes on in the midst of the end of a step.
    if (completesStep(action)) return true;
    return isReported(action) && !this.#isInBackground(run) && !behind.has(node);
  }

  #isInBackground({ action }: Run): boolean {
    return isInBackground(this.state.actions.get(action.id) ?? { action });
  }

  /** What cannot end before an action in the background has. */
  #behindBackground(): ReadonlySet<Node> {
    const found = new Set<Node>();
    for (const run of this.runs.values())
      if (this.#isInBackground(run)) for (const next of dependentsOf(run.node)) found.add(next);
    // A Set is walked in the order of insertion, with what is added on the way.
    for (const node of found) for (const next of dependentsOf(node)) found.add(next);
    return found;
  }

  moving(): readonly string[] {
    const tracked = this.tracked();
    if (tracked.length === 0) return tracked;
    const resting = new Set<Node>();
    for (const run of this.runs.values()) if (this.#waitsForPeople(run)) resting.add(run.node);
    if (resting.size === 0) return tracked;
    if (this.atRest()) return [];
    return tracked.filter((id) => {
      const node = this.runs.get(id)?.node;
      return node !== undefined && !resting.has(node) && !waitsForAny(node, resting);
    });
  }

  atRest(): boolean {
    let asks = false;
    if (this.#awaitsOutside()) return false;
    for (const run of this.runs.values()) {
      if (this.#waitsForPeople(run)) asks = true;
      else if (!this.#waitsForOthers(run)) return false;
    }
    return asks;
  }

  #awaitsOutside(): boolean {
    for (const gate of this.graph.gates?.values() ?? []) if (gate.of === 'outside') return true;
    return false;
  }

  #waitsForPeople({ stage, action }: Run): boolean {
    if (stage.at === 'clearing') return this.deps.asks?.(action.id) !== false;
    return stage.at === 'running' && this.deps.rests?.(action.id) === true;
  }

  #waitsForOthers({ stage, action }: Run): boolean {
    if (stage.at === 'waiting') return true;
    // Where those at rest have all places, whoever stands behind them cannot begin either.
    if (stage.at === 'queued') return this.places <= 0;
    if (stage.at !== 'running') return false;
    if (rollsBack(action)) return this.#some(({ undoes }) => undoes !== undefined);
    return completesStep(action) && this.#some((run) => isReported(run.action) && this.#waitsForPeople(run));
  }

  #some(fits: (run: Run) => boolean): boolean {
    for (const run of this.runs.values()) if (fits(run)) return true;
    return false;
  }

  rollback(
    to: string | undefined,
    cause: Cause,
    asked?: { readonly by: string; readonly signal: AbortSignal },
  ): Promise<RolledBack> {
    return rollback(this, to, cause, asked && { ...asked, sparesLater: true });
  }

  cancel(reason: string, ids?: readonly string[]): Promise<void> {
    if (this.life === 'lost') return this.#untilIdle();
    if (ids === undefined) {
      this.life = 'closed';
      this.shutReason = reason;
    }
    const those = ids === undefined ? this.runs.values() : ids.flatMap((id) => openOf(this, id));
    const running = stop(this, those, reason);
    this.goOn();
    return ended(this, running);
  }

  abandon(): Promise<void> {
    lose(this);
    return this.#untilIdle();
  }

  #untilIdle(): Promise<void> {
    return new Promise((resolve) => whenIdle(this, resolve));
  }

  restore(state: SessionState): void {
    this.#starting = true; // nothing starts before all is known again
    const failed = restore(this, state);
    this.#starting = false;
    if (failed?.error !== undefined) {
      const { id } = failed.action;
      failSession(this, id, revived(failed.error), undefined, { by: id, sparesLater: false });
    }
    this.goOn();
  }

  goOn(): void {
    if (this.#starting) return; // a target that was called just now declares or cancels: taken up below
    this.#starting = true;
    try {
      this.#startAll();
    } finally {
      this.#starting = false;
    }
    ring(this);
  }

  /** Starts what is ready, in its order, as long as there are places. */
  #startAll(): void {
    for (let run = this.#next(); run !== undefined; run = this.#next())
      if (run.stage === QUEUED) start(this, run); // or it was cancelled meanwhile
  }

  #next(): Run | undefined {
    const { free, queue } = this;
    if (free !== undefined) {
      const run = first(free);
      this.free = shifted(free);
      return run;
    }
    if (queue === undefined || this.places <= 0) return undefined;
    const run = first(queue);
    this.queue = shifted(queue);
    return run;
  }

  fatal(id: string, error: RuntimeError, cause: Cause | undefined): void {
    failSession(this, id, error, cause);
  }

  /** What has to be waited for until `name` has a value outside; undefined where it stands for nothing there. */
  coming(name: string): Gate | undefined {
    const { graph, deps } = this;
    if (deps.fetch === undefined) return undefined;
    const id = outsideId(name);
    const known = graph.gates?.get(id);
    if (known !== undefined) return known;
    const gate = openGate(graph, id, 'outside');
    const arrived = (failure?: RuntimeError) => {
      if (this.life !== 'lost') {
        gate.error = failure?.toJSON();
        // Nothing to be had: what depends on it does not start, as with an action that failed.
        const changes = deps.lookup(name) === undefined ? spoil(graph, gate, id) : [];
        apply(this, seal(graph, gate, changes), undefined);
        this.goOn();
      }
      // The next one that names it asks anew.
      graph.gates?.delete(id);
    };
    if (deps.fetch(name, arrived)) return gate;
    graph.gates?.delete(id);
    return undefined;
  }
}

export const createScheduler = (options: SchedulerOptions, deps: SchedulerDeps): Scheduler =>
  new ActionScheduler(options, deps);

/** No model can write such an id. */
const outsideId = (name: string) => `feed:${name}`;

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
