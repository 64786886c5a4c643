import { readPath } from '../conditions/own-property.ts';
import { readWholeReference } from '../conditions/references/reference.ts';
import { type ActionState, type DeclaredAction, hasEnded, isTracked } from '../events/action.ts';
import type { Cause, EventBody } from '../events/event.ts';
import type { SessionState } from '../events/state.ts';
import type { Json } from '../kernel/json.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import { attempt, type Outcome } from './attempt.ts';
import {
  closeParallel,
  declare,
  endTurn,
  giveUpUnseen,
  openGate,
  recall,
  seal,
  settle,
  spoil,
  waitForMore,
} from './core.ts';
import type { SchedulerEdges, TargetTraits } from './edges.ts';
import { cancelled, revived, whyUnavailable } from './failures.ts';
import { deadlocked, duplicateId, loopFailed } from './faults.ts';
import { createFifo } from './fifo.ts';
import { type Change, createGraph, type Gate, isClosed } from './graph.ts';
import { completionOrder, mayRestart, turnOf } from './history.ts';
import { testIf } from './if-test.ts';
import { resolveInput } from './input.ts';
import { isLoop, itemsOf, loopAction, loopOf, rounds } from './loops.ts';
import { mayRunAgain } from './may-run-again.ts';
import { bind, findReference, lateNeeds, type NameSpace, NO_NEEDS, standingOf } from './names.ts';
import { delayAfter, triesAgain } from './retries.ts';
import { ENDED, QUEUED, type Run, WAITING } from './run.ts';
import type { Loop, Resolution, Scheduler, SchedulerOptions } from './scheduler.ts';
import { undoAction, undoId, undone, undoPlan } from './undo.ts';

/** `failing`: an action with `on_error: fail` failed, and only what undoes others may start. */
type Life = 'open' | 'failing' | 'closed' | 'lost';

interface Waiter {
  left: number;
  readonly then: () => void;
}

export function createScheduler(options: SchedulerOptions, edges: SchedulerEdges): Scheduler {
  const { state } = options;
  const graph = createGraph();
  const names: NameSpace = { state, graph, lookup: edges.lookup, keys: new Map(), loops: new Map() };
  const runs = new Map<string, Run>();
  const openLoops = new Set<Run>();
  /** Ready, and waiting for a place. */
  const queue = createFifo<Run>();
  /** Ready, and in need of none. */
  const free = createFifo<Run>();
  const notices = createFifo<string>();
  const waiters = new Map<string, Waiter[]>();
  /** In the order of completion. */
  const completed: string[] = [];
  let life: Life = 'open';
  let shutReason = '';
  let places = options.parallelActions;
  let starting = false;
  let telling = false;
  let loopsMade = 0;

  const append = (body: EventBody, cause?: Cause): Cause => edges.append(body, cause);

  // --- what follows from a transition of the graph

  const apply = (changes: readonly Change[], cause: Cause | undefined) => {
    for (const change of changes) {
      if (change.kind === 'closed') {
        notices.push(change.gate.id);
        continue;
      }
      const run = runs.get(change.node.id);
      if (run === undefined || life === 'closed' || (life === 'failing' && run.undoes === undefined))
        continue;
      switch (change.kind) {
        case 'ready':
          enqueue(run, cause);
          break;
        case 'skip': {
          const { reason, because } = change;
          close(run, { type: 'action.skipped', id: run.action.id, reason, ...given({ because }) }, cause);
          break;
        }
        case 'deadlock': {
          const at = append(deadlocked(run.action.id, change.why), cause);
          const because = change.why.kind === 'cycle' ? change.why.path.join(' → ') : change.why.id;
          close(run, { type: 'action.skipped', id: run.action.id, reason: 'deadlock', because }, at);
          break;
        }
      }
    }
  };

  const enqueue = (run: Run, cause: Cause | undefined) => {
    run.stage = QUEUED;
    run.cause = cause ?? run.cause;
    (run.counted ? queue : free).push(run);
  };

  /** Records an end that the graph knows of already. */
  const close = (run: Run, body: EventBody, cause: Cause | undefined): Cause => {
    const at = append(body, cause ?? run.cause);
    run.stage = ENDED;
    runs.delete(run.action.id);
    openLoops.delete(run);
    notices.push(run.action.id);
    return at;
  };

  /** Records an end and passes it on; `because` is what dependents are skipped for, undefined where it went well. */
  const finish = (run: Run, body: EventBody, because?: string) => {
    const at = close(run, body, run.cause);
    apply(settle(graph, run.node, because), at);
    return at;
  };

  const elapsed = (run: Run): number =>
    run.attempts === 0 ? 0 : Math.round(edges.clock.monotonic() - run.since);

  const complete = (run: Run, output: Json) => {
    const { id } = run.action;
    completed.push(id);
    const at = finish(run, {
      type: 'action.completed',
      id,
      output,
      ms: elapsed(run),
      attempts: run.attempts,
    });
    if (run.undoes !== undefined) append({ type: 'action.compensated', id: run.undoes, by: id }, at);
  };

  const fail = (run: Run, error: RuntimeError) => {
    const { id, on_error } = run.action;
    const body = {
      type: 'action.failed',
      id,
      error: error.toJSON(),
      ms: elapsed(run),
      attempts: run.attempts,
    } as const;
    const at = finish(run, body, id);
    if (on_error === 'fail' && run.undoes === undefined && life === 'open') failSession(id, error, at);
  };

  // --- starting

  /** Starts what may start, then tells whoever waits for an end. Calls from inside either are taken up by it. */
  const goOn = () => {
    if (starting) return;
    starting = true;
    try {
      for (;;) {
        const run = free.shift() ?? (places > 0 ? queue.shift() : undefined);
        if (run === undefined) break;
        if (run.stage === QUEUED) start(run);
      }
    } finally {
      starting = false;
    }
    tell();
  };

  const tell = () => {
    if (telling) return;
    telling = true;
    try {
      for (let id = notices.shift(); id !== undefined; id = notices.shift()) {
        if (!graph.gates.has(id)) options.onEnded?.(id);
        const waiting = waiters.get(id);
        waiters.delete(id);
        for (const waiter of waiting ?? []) if (--waiter.left === 0) waiter.then();
      }
    } finally {
      telling = false;
    }
  };

  const start = (run: Run) => {
    const { action, binding } = run;
    run.stage = WAITING;
    if (run.attempts > 0 && run.input !== undefined) {
      if (isLoop(action)) expand(run, run.input.in ?? null);
      else begin(run);
      return;
    }
    if (binding.late.length > 0) {
      const { nodes, failedBy } = lateNeeds(names, action, binding.late);
      if (failedBy !== undefined) {
        finish(
          run,
          { type: 'action.skipped', id: action.id, reason: 'dependency', because: failedBy },
          failedBy,
        );
        return;
      }
      if (nodes.length > 0 && waitForMore(graph, run.node, nodes)) return;
    }
    if (action.if !== undefined) {
      const { holds, problem } = testIf(action.if, action, names, edges.context());
      if (!holds) {
        const because = given({ because: problem });
        finish(run, { type: 'action.skipped', id: action.id, reason: 'if', ...because }, action.id);
        return;
      }
    }
    if (isLoop(action)) {
      const list = resolveInput(names, action, binding, action.parameters.in ?? null);
      if (list.ok) expand(run, list.value.value);
      else fail(run, list.error);
      return;
    }
    const input = resolveInput(names, action, binding, action.parameters);
    if (!input.ok) {
      fail(run, input.error);
      return;
    }
    const traits = edges.traits(action);
    const problem = traits === undefined ? edges.unknownTarget(action) : traits.check(input.value.value);
    if (problem !== undefined) {
      fail(run, problem);
      return;
    }
    if (input.value.fault !== undefined) append(input.value.fault, run.cause);
    run.input = input.value.value;
    begin(run);
  };

  const begin = (run: Run) => {
    const { action, input = {} } = run;
    const traits = edges.traits(action);
    if (traits === undefined) {
      fail(run, edges.unknownTarget(action));
      return;
    }
    if (run.attempts++ === 0) run.since = edges.clock.monotonic();
    run.cause = append({ type: 'action.started', id: action.id, attempt: run.attempts, input }, run.cause);
    if (run.counted) places--;
    if (mayRunAgain(traits, input)) {
      perform(run, traits);
      return;
    }
    const stage = { at: 'committing' } as const;
    run.stage = stage;
    edges.committed(run.cause.seq, (error) => {
      if (error !== undefined) lose();
      else if (run.stage === stage) perform(run, traits);
    });
  };

  const perform = (run: Run, traits: TargetTraits) => {
    const { action, input = {} } = run;
    const stage: Extract<Run['stage'], { at: 'running' }> = {
      at: 'running',
      attempt: undefined,
      cancelled: undefined,
    };
    run.stage = stage;
    const timeoutMs =
      action.timeout !== undefined ? action.timeout * 1000 : (traits.timeoutMs ?? options.actionTimeoutMs);
    const call = { action, input, attempt: run.attempts };
    stage.attempt = attempt(edges, call, timeoutMs, (outcome) => settled(run, outcome, stage.cancelled));
    // The target may have cancelled itself while it was called.
    if (stage.cancelled !== undefined) stage.attempt.stop(cancelled(stage.cancelled));
  };

  const settled = (run: Run, outcome: Outcome, cancelledBy: string | undefined) => {
    if (run.counted) places++;
    const { action } = run;
    if (life === 'lost') {
      leave(run);
      return;
    }
    if (cancelledBy !== undefined)
      finish(run, { type: 'action.cancelled', id: action.id, reason: cancelledBy }, action.id);
    else if (outcome.ok) complete(run, outcome.output);
    else {
      run.failures++;
      if (triesAgain(action, run.failures, outcome.error)) rest(run, outcome.error);
      else fail(run, outcome.error);
    }
    goOn();
  };

  const rest = (run: Run, error: RuntimeError) => {
    const { id } = run.action;
    const delay_ms = delayAfter(run.failures, edges.random());
    const body = { id, attempt: run.attempts + 1, error: error.toJSON(), delay_ms } as const;
    run.cause = append({ type: 'action.retrying', ...body }, run.cause);
    const wake = edges.clock.after(delay_ms, () => {
      enqueue(run, undefined);
      goOn();
    });
    run.stage = { at: 'resting', wake };
  };

  /** A `<foreach>` whose list is there. */
  const expand = (run: Run, list: Json) => {
    const { action } = run;
    const loop = loopOf(action);
    const items = itemsOf(loop, list);
    if (!items.ok) {
      const { message, hint } = items.error;
      run.cause = append(loopFailed(`${message} ${hint ?? ''}`.trim()), run.cause);
      fail(run, items.error);
      return;
    }
    if (run.attempts++ === 0) run.since = edges.clock.monotonic();
    const input = { in: items.value };
    run.cause = append({ type: 'action.started', id: action.id, attempt: run.attempts, input }, run.cause);
    const ids: string[] = [];
    for (const member of rounds(loop, items.value)) {
      ids.push(member.id);
      if (!state.actions.has(member.id)) take(member, run.cause, run.turn);
    }
    if (run.turn !== 'open' && graph.unseen.size > 0) apply(giveUpUnseen(graph, new Set(ids)), run.cause);
    for (const gate of run.node.gates) apply(seal(graph, gate), run.cause);
    complete(run, { ids });
  };

  // --- declaring

  const groupOf = ({ group }: DeclaredAction): readonly Gate[] =>
    group === undefined ? [] : [graph.gates.get(group) ?? openGate(graph, group, 'parallel')];

  const gatesOf = (action: DeclaredAction): readonly Gate[] => {
    if (isLoop(action)) return loopOf(action).actions.flatMap(({ id }) => graph.gates.get(id) ?? []);
    const gate = action.base === undefined ? undefined : graph.gates.get(action.base);
    return gate === undefined ? groupOf(action) : [gate];
  };

  const bindingOf = (action: DeclaredAction) => {
    groupOf(action); // it may name the group it is the first of
    return bind(names, action, isLoop(action) ? (action.parameters.in ?? null) : action.parameters);
  };

  const heldBy = (action: DeclaredAction, turn: Run['turn']) => {
    if (turn === 'well' || isLoop(action) || edges.traits(action)?.start !== 'on_turn_end') return 'no';
    return turn === 'broken' ? 'turn_failed' : 'until_turn_end';
  };

  /** Into the graph, without a word to anybody. */
  const place = (
    action: DeclaredAction,
    {
      binding,
      holdsStream,
      ...rest
    }: Pick<Run, 'binding' | 'undoes' | 'turn' | 'cause'> & { holdsStream: boolean },
  ) => {
    const { id, kind, name, output_key, base } = action;
    const loop = isLoop(action);
    const held = rest.undoes === undefined ? heldBy(action, rest.turn) : 'no';
    const gates = gatesOf(action);
    const { node, changes } = declare(graph, {
      id,
      needs: binding,
      gates,
      held,
      holdsStream,
      makesMembers: loop,
    });
    const counted = !loop && !(kind === 'internal' && name === 'rollback');
    const fresh = { stage: WAITING, input: undefined, attempts: 0, failures: 0, since: 0 };
    const run: Run = { action, node, binding, counted, ...rest, ...fresh };
    runs.set(id, run);
    if (loop) openLoops.add(run);
    if (output_key !== undefined && base === undefined) names.keys.set(output_key, id);
    return { run, changes };
  };

  /** Takes an action in: on the log, into the graph, into the queue if it may start. */
  const take = (action: DeclaredAction, cause: Cause | undefined, turn: Run['turn'], undoes?: string) => {
    const { id, mode } = action;
    const holdsStream = mode === 'sync' && action.group === undefined && action.base === undefined;
    // A sync action stands in no parallel, so none is open.
    if (holdsStream) for (const gate of [...graph.unsealed]) apply(seal(graph, gate), cause);
    const binding = bindingOf(action);
    const at = append({ type: 'action.declared', action }, cause);
    if (life !== 'open' && undoes === undefined) {
      append({ type: 'action.cancelled', id, reason: shutReason }, at);
      notices.push(id);
      return;
    }
    const { changes } = place(action, { binding, undoes, turn, cause: at, holdsStream });
    apply(changes, at);
  };

  /** The gates and keys of what a `<foreach>` is going to make. */
  const openLoop = (loop: Loop) => {
    for (const action of loop.actions) {
      openGate(graph, action.id, 'foreach', groupOf(action));
      names.loops.set(action.id, loop);
      if (action.output_key !== undefined) names.keys.set(action.output_key, action.id);
    }
  };

  const isTaken = (id: string) => state.actions.has(id) || graph.gates.has(id);

  const freshLoopId = (): string => {
    for (;;) {
      const id = `foreach_${++loopsMade}`;
      if (!isTaken(id)) return id;
    }
  };

  // --- ending

  /** Stops these, and says which have not ended yet. */
  const stop = (all: Iterable<Run>, reason: string): readonly string[] => {
    const open: string[] = [];
    for (const run of [...all]) {
      const { stage, action } = run;
      if (stage.at === 'ended') continue;
      if (stage.at === 'running') {
        open.push(action.id);
        stage.cancelled ??= reason;
        stage.attempt?.stop(cancelled(reason));
        continue;
      }
      if (stage.at === 'resting') stage.wake();
      if (stage.at === 'committing' && run.counted) places++;
      finish(run, { type: 'action.cancelled', id: action.id, reason }, action.id);
    }
    return open;
  };

  const ended = (ids: readonly string[]): Promise<void> =>
    new Promise((resolve) => {
      if (life === 'lost') whenIdle(resolve);
      else {
        idle.add(resolve);
        whenEnded(ids, () => {
          idle.delete(resolve);
          resolve();
        });
      }
    });

  const failSession = (id: string, error: RuntimeError, cause: Cause | undefined) => {
    life = 'failing';
    shutReason = `Action "${id}" failed, and its on_error is "fail".`;
    const open = stop(
      [...runs.values()].filter(({ undoes }) => undoes === undefined),
      shutReason,
    );
    ended(open)
      .then(() => rollback(undefined, cause))
      .then(() => {
        if (life !== 'failing') return; // cancelled meanwhile: whoever did that has the word
        life = 'closed';
        options.onFatal(error, id);
      });
  };

  // --- after the log is lost

  const idle = new Set<() => void>();

  const whenIdle = (then: () => void) => {
    if (runs.size === 0) then();
    else idle.add(then);
  };

  const leave = (run: Run) => {
    run.stage = ENDED;
    runs.delete(run.action.id);
    if (runs.size === 0) rouse();
  };

  const rouse = () => {
    for (const then of idle) then();
    idle.clear();
  };

  /** Nothing can be recorded any more, so nothing may happen any more. */
  const lose = () => {
    if (life === 'lost') return;
    life = 'lost';
    queue.clear();
    free.clear();
    notices.clear();
    for (const run of [...runs.values()]) {
      if (run.stage.at === 'running') run.stage.attempt?.stop(cancelled('The log of this session was lost.'));
      else {
        if (run.stage.at === 'resting') run.stage.wake();
        leave(run);
      }
    }
    if (runs.size === 0) rouse();
  };

  // --- undoing

  let undoing: Promise<unknown> = Promise.resolve();

  const rollback = (to: string | undefined, cause: Cause | undefined) => {
    const done = undoing.then(() => undo(to, cause));
    undoing = done.catch(() => undefined); // the caller hears of it
    return done;
  };

  const undo = async (to: string | undefined, cause: Cause | undefined) => {
    const ids: string[] = [];
    for (const id of undoPlan(names, completed, to)) {
      if (life === 'closed' || life === 'lost') break;
      await undoOne(id, cause);
      if (state.actions.get(id)?.status === 'compensated') ids.push(id);
    }
    return { undone: ids };
  };

  const undoOne = async (id: string, cause: Cause | undefined) => {
    const known = state.actions.get(id);
    if (known === undefined) return;
    for (let n = 1; ; n++) {
      const by = undoId(id, n);
      const tried = state.actions.get(by);
      if (tried === undefined && !isTaken(by)) {
        take(undoAction(names, by, known), cause, 'well', id);
        goOn();
        await ended([by]);
        return;
      }
      if (tried === undefined || undone(state, tried.action) !== id) continue;
      await ended([by]);
      // Nobody knows whether an interrupted one did its work: doing it twice may be worse than not at all.
      if (tried.status === 'completed' || tried.status === 'interrupted') return;
    }
  };

  // --- after a restart

  const restore = (from: SessionState) => {
    starting = true; // nothing starts before all is known again
    const made: Gate[] = [];
    let fatal: ActionState | undefined;
    for (const known of from.actions.values()) {
      if (isLoop(known.action)) openLoop(loopOf(known.action));
      if (!hasEnded(known.status)) {
        adopt(from, known);
        continue;
      }
      recallEnded(known, made);
      // What was open when it failed would have been cancelled, had there been time.
      if (known.status === 'failed' && known.action.on_error === 'fail' && runs.size > 0) fatal ??= known;
    }
    completed.push(...completionOrder(from));
    for (const gate of [...made, ...graph.unsealed]) apply(seal(graph, gate), undefined);
    if (!from.turnOpen) apply(endTurn(graph, 'well'), undefined);
    fatal ??= halfUndone(from);
    starting = false;
    if (fatal?.error !== undefined) failSession(fatal.action.id, revived(fatal.error), undefined);
    goOn();
  };

  const adopt = (from: SessionState, known: ActionState) => {
    const { action, status, attempts } = known;
    const begun = attempts > 0;
    const binding = begun ? NO_NEEDS : bindingOf(action);
    const undoes = undone(state, action);
    const turn = begun && !isLoop(action) ? 'well' : turnOf(from, known);
    const { run, changes } = place(action, { binding, undoes, turn, cause: undefined, holdsStream: false });
    run.attempts = attempts;
    run.failures = status === 'running' ? attempts - 1 : attempts;
    run.input = known.input;
    run.since = edges.clock.monotonic();
    const inDoubt = status === 'running' && !isLoop(action);
    const traits = edges.traits(action);
    const again = traits !== undefined && mayRunAgain(traits, known.input ?? {}) && mayRestart(known);
    if (inDoubt && !again)
      finish(run, { type: 'action.interrupted', id: action.id, attempt: attempts }, action.id);
    else apply(changes, undefined);
  };

  /** What has ended is in the state; only what it was a part of has to hear of it. */
  const recallEnded = (known: ActionState, made: Gate[]) => {
    const { action, status } = known;
    const standing = standingOf(names, action.id);
    const because = standing?.state === 'failed' ? standing.because : undefined;
    if (action.output_key !== undefined && action.base === undefined)
      names.keys.set(action.output_key, action.id);
    for (const gate of gatesOf(action)) {
      if (!isLoop(action)) apply(recall(graph, gate, action.id, because), undefined);
      else {
        made.push(gate);
        if (because !== undefined) apply(spoil(graph, gate, because), undefined);
      }
    }
    const undoes = status === 'completed' ? undone(state, action) : undefined;
    if (undoes !== undefined && state.actions.get(undoes)?.status === 'completed')
      append({ type: 'action.compensated', id: undoes, by: action.id });
  };

  /** The failure that everything was being undone for. */
  const halfUndone = (from: SessionState): ActionState | undefined => {
    const open = [...runs.values()];
    if (!open.some(({ undoes }) => undoes !== undefined)) return undefined;
    if (open.some(({ action: { kind, name } }) => kind === 'internal' && name === 'rollback'))
      return undefined;
    return [...from.actions.values()].findLast(
      ({ status, action }) => status === 'failed' && action.on_error === 'fail',
    );
  };

  // --- the port

  const whenEnded = (ids: readonly string[], then: () => void) => {
    for (const id of ids) {
      const gate = graph.gates.get(id);
      if (gate?.of === 'parallel' && !gate.sealed) apply(closeParallel(graph, gate), undefined);
    }
    const waiter: Waiter = { left: 0, then };
    for (const id of ids) {
      const gate = graph.gates.get(id);
      if (!runs.has(id) && (gate === undefined || isClosed(gate))) continue;
      waiter.left++;
      const others = waiters.get(id);
      if (others === undefined) waiters.set(id, [waiter]);
      else others.push(waiter);
    }
    if (waiter.left === 0) then();
    goOn();
  };

  const membersOf = (id: string): readonly Run[] => {
    const run = runs.get(id);
    if (run !== undefined) return [run];
    const open: Run[] = [];
    const work = [graph.gates.get(id)];
    for (let gate = work.pop(); gate !== undefined; gate = work.pop())
      for (const member of gate.open) {
        if (member.kind === 'gate') work.push(member);
        else open.push(...membersOf(member.id));
      }
    return open;
  };

  return {
    declare(action, cause) {
      if (life === 'lost') return;
      if (isTaken(action.id)) append(duplicateId(action.id), cause);
      else take(action, cause, 'open');
      goOn();
    },
    loop(loop, cause) {
      if (life === 'lost') return;
      for (const { id } of loop.actions) if (isTaken(id)) append(duplicateId(id), cause);
      const taken = { ...loop, actions: loop.actions.filter(({ id }) => !isTaken(id)) };
      const action = loopAction(freshLoopId(), taken);
      if (life === 'open') openLoop(taken);
      take(action, cause, 'open');
      goOn();
    },
    whenEnded,
    resolve(source): Resolution {
      const reference = readWholeReference(source);
      const found = reference === undefined ? undefined : findReference(names, reference);
      if (found === undefined) return { state: 'unknown' };
      const { reading, standing } = found;
      const { rest, path } = reading;
      switch (standing.state) {
        case 'open':
          return { state: 'pending', id: standing.node.id };
        case 'value':
          return { state: 'value', value: readPath(standing.value, path) as Json, rest };
        case 'failed': {
          const known = state.actions.get(standing.id) ?? state.actions.get(standing.because);
          const error = known === undefined ? cancelled(shutReason).toJSON() : whyUnavailable(known);
          return { state: 'failed', id: standing.id, error, rest };
        }
      }
    },
    turnEnded(how) {
      if (life === 'lost') return;
      for (const run of openLoops) if (run.turn === 'open') run.turn = how;
      apply(endTurn(graph, how), undefined);
      goOn();
    },
    tracked: () =>
      [...runs.values()].filter(({ action }) => isTracked(action)).map(({ action }) => action.id),
    untracked: () =>
      [...runs.values()].filter(({ action }) => !isTracked(action)).map(({ action }) => action.id),
    rollback,
    cancel(reason, ids) {
      if (life === 'lost') return new Promise(whenIdle);
      if (ids === undefined) {
        life = 'closed';
        shutReason = reason;
      }
      const open = stop(ids === undefined ? runs.values() : ids.flatMap(membersOf), reason);
      goOn();
      return ended(open);
    },
    restore,
  };
}

/** Without the fields that are undefined. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
