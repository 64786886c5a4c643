import type { RunJournal } from '../../engine/run-log.ts';
import type { Clock } from '../../lib/clock.ts';
import { stopWith } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { createTurnstile } from '../../lib/semaphore.ts';
import type { SessionEvent } from '../../log/event.ts';
import { TURN_BROKEN_OFF, TURN_CUT_SHORT } from '../../log/fold-turns.ts';
import type { SchedulerDeps, TargetTraits } from '../../scheduler/scheduler-deps.ts';
import type { DecisionContext } from '../../tools/artifacts/artifacts.ts';
import type { Invoke } from '../../tools/artifacts/create-invoke.ts';
import type { RunCommand } from '../../tools/process/command-request.ts';
import type { HooksOf } from '../../workflows/step-executor.ts';
import { sessionContext, variableValues } from '../decision-context.ts';
import type { SessionLog } from '../session-log.ts';
import type { Stop } from '../stop.ts';
import { createHooks } from './create-hooks.ts';
import { type GuidedHooks, HOOKS_STOPPED, type HookLists } from './hook-types.ts';

/** The hooks of one session: those of its agent and of a workflow that guides it. */
export interface SessionHooks {
  /** For the scheduler. Undefined if there are no such hooks. */
  readonly before: SchedulerDeps['before'];
  readonly after: SchedulerDeps['after'];
  /** Also waits for hooks that are notified of failures. A turn starts after them. */
  beforeTurn(stop: Stop): Promise<void>;
  afterTurn(stop: Stop): Promise<void>;
  /** Notifies hooks of the last interrupted turn, unless nothing failed in it. */
  turnFailed(stop: Stop): Promise<void>;
  /** Notifies hooks of failures from before a restart. */
  catchUp(): void;
  /** Resolves once all hooks were notified of all failures. */
  settled(): Promise<void>;
}

export interface SessionHookDeps {
  readonly hooks: HookLists;
  /** The hooks of the guiding workflow and of the current step. */
  readonly guided?: GuidedHooks | undefined;
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly clock: Clock;
  readonly command: RunCommand;
  readonly invoke?: Invoke | undefined;
  readonly traits: (action: Parameters<SchedulerDeps['traits']>[0]) => TargetTraits | undefined;
}

export function createSessionHooks(deps: SessionHookDeps): SessionHooks | undefined {
  const { log, stop, traits, guided } = deps;
  const { state } = log;
  const now = () => (state.task === undefined ? {} : (guided?.during(state.task.given.task) ?? {}));
  const noted = new Set<string>();
  const hooks = createHooks(
    { agent: deps.hooks, guided: guided && { all: guided.all, command: guided.command, now } },
    {
      stream: state.id,
      clock: deps.clock,
      command: deps.command,
      invoke: deps.invoke,
      marks: () => state.hooks,
      balance: () => state.balance,
      append: (body, cause) => log.append(body, cause),
      context: () => sessionContext(state),
      hookContext: () => ({
        agent: state.agent,
        session: state.id,
        turn: state.turn,
        metadata: { ...state.metadata },
        variables: variableValues(state),
      }),
      note(what) {
        if (noted.has(what)) return;
        noted.add(what);
        log.append({ type: 'audit', who: 'runtime', what });
      },
    },
  );
  if (hooks === undefined) return undefined;

  const notifying = new Set<Promise<void>>();
  let failure: unknown;
  const notifyOfFailure = (id: string, cause = log.here()) => {
    const known = state.actions.get(id);
    if (known?.error === undefined) return;
    const { action, input, error } = known;
    const { kind, name, parameters } = action;
    const subject = { action: { id, kind, name, parameters: input ?? parameters }, error };
    const told = within(stop, (signal) => hooks.notify('on_error', subject, signal, cause))
      .catch((thrown: unknown) => {
        failure ??= thrown; // thrown by `settled`
      })
      .finally(() => notifying.delete(told));
    notifying.add(told);
  };
  if (hooks.has('on_error'))
    log.react((event: SessionEvent) => {
      if (event.type === 'action.failed')
        notifyOfFailure(event.id, { stream: state.id, seq: event.seq, depth: event.cause.depth + 1 });
    });

  const settled = async () => {
    while (notifying.size > 0) await Promise.all(notifying);
    const thrown = failure;
    failure = undefined; // only once, because ending the session waits here, too
    if (thrown !== undefined) throw thrown;
  };
  return {
    before: !hooks.has('before_action')
      ? undefined
      : ({ action, input, cause, signal }) => {
          const { id, kind, name, parameters: declared } = action;
          const check = (changed: typeof input) => traits(action)?.check(changed);
          return hooks.before({ id, kind, name, parameters: input, cause, signal }, check, declared);
        },
    after: !hooks.has('after_action')
      ? undefined
      : ({ action: { id, kind, name }, input, output, cause, signal }) =>
          hooks.after({ id, kind, name, parameters: input, cause, signal }, output),
    async beforeTurn(given) {
      await settled();
      await within(given, (signal) => hooks.notify('before_turn', { turn: state.turn + 1 }, signal));
    },
    afterTurn: (given) => within(given, (signal) => hooks.notify('after_turn', {}, signal)),
    async turnFailed(given) {
      const error = state.news.broken?.error;
      if (error === undefined || error.code === TURN_CUT_SHORT || error.code === TURN_BROKEN_OFF) return;
      await within(given, (signal) => hooks.notify('on_error', { error }, signal));
    },
    catchUp() {
      if (!hooks.has('on_error')) return;
      for (const id of state.news.results)
        if (state.actions.get(id)?.status === 'failed') notifyOfFailure(id);
    },
    settled,
  };
}

/** Aborts hooks when the session stops, except after a failure, which hooks are notified of. */
async function within(stop: Stop, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const forget = stop.onStop(() => {
    if (stop.reason?.kind !== 'fail') stopWith(controller, HOOKS_STOPPED);
  });
  try {
    await work(controller.signal);
  } catch (thrown) {
    if (!controller.signal.aborted) throw thrown;
  } finally {
    forget();
  }
}

export interface StepHookDeps {
  readonly agent: { readonly name: string; readonly hooks: HookLists };
  readonly workflow: { readonly hooks: HookLists };
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly command: RunCommand;
  readonly invoke?: Invoke | undefined;
  /** The context of decisions during a step. */
  readonly context: (step: string) => DecisionContext;
  /** The metadata of the run's session, as the run sees it. */
  readonly metadata: () => JsonObject;
  readonly note?: ((what: string) => void) | undefined;
}

/** Hooks of one run that run in parallel. Each command is a process. */
const MAX_SIDE_BY_SIDE = 8;

/** The hooks around the calls of a run's steps. */
export function createStepHooks(deps: StepHookDeps): HooksOf {
  const { agent, workflow, journal, metadata } = deps;
  const { state } = journal;
  const semaphore = createTurnstile(MAX_SIDE_BY_SIDE);
  return (step) => {
    const hooks = createHooks(
      { agent: agent.hooks, workflow: workflow.hooks, step: { name: step.name, hooks: step.hooks } },
      {
        ...deps,
        stream: state.id,
        context: () => deps.context(step.name),
        marks: () => state.hooks,
        balance: () => state.balance,
        append: journal.append,
        hookContext: () => ({
          agent: agent.name,
          run: state.id,
          ...(state.origin.session === undefined ? {} : { session: state.origin.session.id }),
          metadata: metadata(),
          variables: Object.fromEntries(state.variables),
        }),
      },
      semaphore,
    );
    if (hooks === undefined) return undefined;
    return {
      before: (call, check) => hooks.before(call, check),
      async after(call, result) {
        const { output, records } = await hooks.after(call, result);
        for (const record of records) journal.append(record, call.cause);
        return output;
      },
      failed: ({ signal, cause, ...action }, error) =>
        hooks.notify('on_error', { action, error }, signal, cause),
    };
  };
}
