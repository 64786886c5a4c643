import type { RuntimeError } from '../lib/errors.ts';
import { completesStep, type DeclaredAction, isInBackground, isReported, rollsBack } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import { claimId, declareAction, declareForEach, isIdTaken } from './declare.ts';
import { closeParallel, endTurn, invalidate, openJoin, seal, type TurnEnding } from './dependency-graph.ts';
import { type FaultBody, revived } from './faults.ts';
import { dependenciesOf, isClosed, isPending, type JoinNode, type Node, waitsForStream } from './graph.ts';
import { resolveResponseReference } from './names.ts';
import { announceName, announceOutsideNames, applyChanges, invalidateParallel } from './record.ts';
import { restore } from './restore.ts';
import { failSession, rollback, whenStopped } from './rollback.ts';
import { QUEUED, type Run, SchedulerCore } from './scheduler-core.ts';
import type {
  ForEachLoop,
  Resolution,
  RollbackResult,
  SchedulerDeps,
  SchedulerOptions,
} from './scheduler-deps.ts';
import { start } from './start.ts';
import { openRunsOf, releaseLog, stopRuns, whenIdle } from './stop.ts';

export const createScheduler = (options: SchedulerOptions, deps: SchedulerDeps): ActionScheduler =>
  new ActionScheduler(options, deps);

/**
 * Starts actions as soon as they may start, and follows them to their end. Each session has one. The other files in this
 * folder are its parts.
 */
export class ActionScheduler extends SchedulerCore {
  /** Whether an action is being started right now. What becomes ready meanwhile starts after it. */
  #starting = false;

  /**
   * Appends `action.declared` and starts the action at once if it may start. Synchronous up to the call of its target.
   * Returns the action's id on the log, or undefined if the id it asks for is taken.
   */
  declare(action: DeclaredAction, cause: Cause): string | undefined {
    if (this.status === 'lost') return undefined;
    const id = declareAction(this, action, cause);
    this.advance();
    return id;
  }

  /** The id that a `<parallel>` with this written id gets on the log, or the fault if the id is taken. */
  claimId(id: string): string | FaultBody {
    return claimId(this, id, 'the <parallel>');
  }

  /** Whether an action or a group has this id on the log. */
  isIdTaken(id: string): boolean {
    return isIdTaken(this, id);
  }

  /**
   * Declares the actions of a closed `<foreach>`: each once per item, as soon as the list is there. The list may be
   * declared later in the turn.
   */
  declareForEach(loop: ForEachLoop, cause: Cause): void {
    if (this.status === 'lost') return;
    declareForEach(this, loop, cause);
    this.advance();
  }

  /** These values were set outside the scheduler. A `<foreach>` may wait for one of them. */
  valuesSet(values: Readonly<Record<string, unknown>>, cause: Cause): void {
    if (this.graph.unnamed.size === 0) return;
    for (const name of Object.keys(values)) announceName(this, name, cause);
    this.advance();
  }

  /**
   * Calls back once all of these actions and groups have ended; synchronously if they already have. The returned function
   * cancels that.
   */
  whenAllEnded(ids: readonly string[], then: () => void): () => void {
    const open = this.#stillOpen(ids);
    return this.#whenEnded(open, open.length, then);
  }

  /** Calls back once the first of these has ended. */
  whenAnyEnded(ids: readonly string[], then: () => void): () => void {
    const open = this.#stillOpen(ids);
    return this.#whenEnded(open, open.length < ids.length ? 0 : 1, then);
  }

  #whenEnded(open: readonly string[], count: number, then: () => void): () => void {
    if (count === 0) then();
    const cancel = count === 0 ? () => undefined : this.notifier.wait(open, count, then);
    this.advance();
    return cancel;
  }

  #stillOpen(ids: readonly string[]): readonly string[] {
    const { graph, runs } = this;
    return ids.filter((id) => {
      const join = graph.joins.get(id);
      return runs.has(id) || (join !== undefined && !isClosed(join));
    });
  }

  /** What a `$reference` in a response stands for at this moment. */
  resolveReference(source: string): Resolution {
    return resolveResponseReference(this, source);
  }

  /**
   * The model's stream of this turn has ended. Actions that wait for unknown ids or lists are skipped, and targets that
   * start `on_turn_end` start.
   */
  turnEnded(how: TurnEnding): void {
    if (this.status === 'lost') return;
    for (const run of this.openLoops) if (run.turn === 'open') run.turn = how;
    applyChanges(this, endTurn(this.graph, how), undefined);
    this.advance();
  }

  /** This `<parallel>` was closed: it gets no more actions, and the stream waits for those it has. */
  parallelClosed(group: string): void {
    if (this.status === 'lost') return;
    const join = this.graph.joins.get(group);
    if (join?.source === 'parallel') {
      announceOutsideNames(this);
      applyChanges(this, closeParallel(this.graph, join), undefined);
    }
    this.advance();
  }

  /** Something in these `<parallel>`s could not be declared. Actions that depend on them are skipped. */
  invalidateParallels(groups: readonly string[]): void {
    if (this.status === 'lost') return;
    for (const group of groups) invalidateParallel(this, group);
    this.advance();
  }

  /** Whether the action or group cannot end before the model has written more, or has ended its turn. */
  waitsForStream(id: string): boolean {
    const { graph } = this;
    const node = graph.nodes.get(id) ?? graph.joins.get(id);
    return node !== undefined && waitsForStream(graph, node);
  }

  /**
   * Unfinished actions of any turn whose results the agent waits for. Leaves out `fire_and_forget` and background actions,
   * and whatever depends on one of those.
   */
  tracked(): readonly string[] {
    return this.#idsWhere(true);
  }

  /** All other unfinished actions. */
  untracked(): readonly string[] {
    return this.#idsWhere(false);
  }

  #idsWhere(areTracked: boolean): readonly string[] {
    const behind = this.#behindBackground();
    return [...this.runs.values()]
      .filter((run) => this.#isTracked(run, behind) === areTracked)
      .map((run) => run.action.id);
  }

  #isTracked(run: Run, behind: ReadonlySet<Node>): boolean {
    const { action, node } = run;
    // The next turn never begins while a step is being completed.
    if (completesStep(action)) return true;
    return isReported(action) && !this.#isInBackground(run) && !behind.has(node);
  }

  #isInBackground({ action }: Run): boolean {
    return isInBackground(this.state.actions.get(action.id) ?? { action });
  }

  /** Nodes that cannot end before an action in the background has. */
  #behindBackground(): ReadonlySet<Node> {
    const found = new Set<Node>();
    for (const run of this.runs.values())
      if (this.#isInBackground(run)) for (const next of dependentsOf(run.node)) found.add(next);
    // Iterating over a Set also visits what is added on the way.
    for (const node of found) for (const next of dependentsOf(node)) found.add(next);
    return found;
  }

  /** Tracked actions that wait neither for a person nor for an action that does. */
  trackedAndActive(): readonly string[] {
    const tracked = this.tracked();
    if (tracked.length === 0) return tracked;
    const waiting = new Set<Node>();
    for (const run of this.runs.values()) if (this.#waitsForPeople(run)) waiting.add(run.node);
    if (waiting.size === 0) return tracked;
    if (this.isParked()) return [];
    return tracked.filter((id) => {
      const node = this.runs.get(id)?.node;
      return node !== undefined && !waiting.has(node) && !waitsForAny(node, waiting);
    });
  }

  /** Whether every unfinished action waits for a person, or for an action that does: nothing moves by itself. */
  isParked(): boolean {
    if ([...this.graph.joins.values()].some((join) => join.source === 'outside')) return false;
    let asksPeople = false;
    for (const run of this.runs.values()) {
      if (this.#waitsForPeople(run)) asksPeople = true;
      else if (!this.#waitsForOthers(run)) return false;
    }
    return asksPeople;
  }

  #waitsForPeople({ stage, action }: Run): boolean {
    if (stage.at === 'awaiting_approval') return this.deps.awaitsPerson?.(action.id) !== false;
    return stage.at === 'running' && this.deps.isParked?.(action.id) === true;
  }

  #waitsForOthers({ stage, action }: Run): boolean {
    if (stage.at === 'waiting') return true;
    // Parked actions may hold all the capacity.
    if (stage.at === 'queued') return this.capacity <= 0;
    if (stage.at !== 'running') return false;
    if (rollsBack(action)) return this.#some(({ undoes }) => undoes !== undefined);
    return completesStep(action) && this.#some((run) => isReported(run.action) && this.#waitsForPeople(run));
  }

  #some(fits: (run: Run) => boolean): boolean {
    return [...this.runs.values()].some(fits);
  }

  /**
   * Runs `compensate` of completed actions in reverse order, down to and including `to`, or of all of them. Actions
   * declared after the action `by` stay: a rollback may be repeated after a restart, when more has been done. Aborting the
   * signal stops the rollback before the next action.
   */
  rollback(
    to: string | undefined,
    cause: Cause,
    request?: { readonly by: string; readonly signal: AbortSignal },
  ): Promise<RollbackResult> {
    return rollback(this, to, cause, request && { ...request, sparesLater: true });
  }

  /** Aborts running actions and cancels waiting ones, all or only these. Resolves when all of them have stopped. */
  cancel(reason: string, ids?: readonly string[]): Promise<void> {
    if (this.status === 'lost') return this.#untilIdle();
    if (ids === undefined) {
      this.status = 'closed';
      this.closeReason = reason;
    }
    const runs = ids === undefined ? this.runs.values() : ids.flatMap((id) => openRunsOf(this, id));
    const running = stopRuns(this, runs, reason);
    this.advance();
    return whenStopped(this, running);
  }

  /**
   * Aborts what runs and records nothing any more, so that another process can continue from the log. Resolves when
   * everything has stopped.
   */
  release(): Promise<void> {
    releaseLog(this);
    return this.#untilIdle();
  }

  #untilIdle(): Promise<void> {
    return new Promise((resolve) => whenIdle(this, resolve));
  }

  /**
   * Continues a folded session after a restart. An action that had started and has no result runs again as the same
   * attempt if its target is idempotent; otherwise it ends with `action.interrupted`. Waiting actions wait on or start.
   */
  restore(state: SessionState): void {
    this.#starting = true; // nothing starts before all actions are known again
    const failed = restore(this, state);
    this.#starting = false;
    if (failed?.error !== undefined) {
      const { id } = failed.action;
      failSession(this, id, revived(failed.error), undefined, { by: id, sparesLater: false });
    }
    this.advance();
  }

  advance(): void {
    if (this.#starting) return; // a target that was just called declares or cancels: the loop below comes to it
    this.#starting = true;
    try {
      for (let run = this.#next(); run !== undefined; run = this.#next())
        if (run.stage === QUEUED) start(this, run); // it may have been cancelled while it was queued
    } finally {
      this.#starting = false;
    }
    this.notifier.flush();
  }

  #next(): Run | undefined {
    const run = this.uncountedQueue.shift();
    if (run !== undefined) return run;
    return this.capacity > 0 ? this.queue.shift() : undefined;
  }

  failSession(id: string, error: RuntimeError, cause: Cause | undefined): void {
    failSession(this, id, error, cause);
  }

  /** A node to wait for until `name` has a value outside the scheduler. Undefined if it never gets one. */
  loadOutside(name: string): JoinNode | undefined {
    const { graph, deps } = this;
    if (deps.fetch === undefined) return undefined;
    const id = outsideId(name);
    const known = graph.joins.get(id);
    if (known !== undefined) return known;
    const join = openJoin(graph, id, 'outside');
    const loaded = (failure?: RuntimeError) => {
      if (this.status !== 'lost') {
        join.error = failure?.toJSON();
        const changes = deps.lookup(name) === undefined ? invalidate(graph, join, id) : [];
        applyChanges(this, seal(graph, join, changes), undefined);
        this.advance();
      }
      // The next action that uses the name loads it again.
      graph.joins.delete(id);
    };
    if (deps.fetch(name, loaded)) return join;
    graph.joins.delete(id);
    return undefined;
  }
}

/** An id that no model can write. */
const outsideId = (name: string) => `feed:${name}`;

/** Nodes that wait for `node`: its dependents, and the joins it belongs to. */
function* dependentsOf(node: Node): Iterable<Node> {
  for (const next of node.dependents) if (isPending(next)) yield next;
  for (const join of node.joins) if (isPending(join)) yield join;
}

/** Whether `node` waits for something in `among`, directly or not. */
function waitsForAny(node: Node, among: ReadonlySet<Node>): boolean {
  const seen = new Set<Node>([node]);
  for (const each of seen)
    for (const next of dependenciesOf(each)) {
      if (among.has(next)) return true;
      if (isPending(next)) seen.add(next);
    }
  return false;
}
