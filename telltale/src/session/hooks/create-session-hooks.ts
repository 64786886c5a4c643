import type { SessionEvent } from '../../events/event.ts';
import { TURN_BROKEN_OFF, TURN_CUT_SHORT } from '../../events/fold-turns.ts';
import type { Clock } from '../../kernel/clock.ts';
import { stopWith } from '../../kernel/stop-with.ts';
import type { SchedulerDeps, TargetTraits } from '../../scheduler/edges.ts';
import type { Invoke } from '../../targets/artifacts/invoker.ts';
import type { RunCommand } from '../../targets/process/command-request.ts';
import { sessionContext, variableValues } from '../decision-context.ts';
import type { SessionLog } from '../session-log.ts';
import type { Stop } from '../stop.ts';
import { createHooks } from './create-hooks.ts';
import { HOOKS_STOPPED } from './hook-errors.ts';
import type { HookLists } from './hook-types.ts';
import type { LedHooks } from './led-hooks.ts';

/** The hooks of an agent, in one of its sessions, and those of a workflow that leads it. */
export interface SessionHooks {
  /** For the scheduler. Undefined where there is none of that kind. */
  readonly before: SchedulerDeps['before'];
  readonly after: SchedulerDeps['after'];
  /** Also waits for all that was told of failures: a turn begins when they know. */
  beforeTurn(stop: Stop): Promise<void>;
  afterTurn(stop: Stop): Promise<void>;
  /** Tells of the turn that broke off last, unless nothing failed in it. */
  turnFailed(stop: Stop): Promise<void>;
  /** Tells of failures before a restart that nobody was told of. */
  catchUp(): void;
  /** Resolves once all have been told of all failures. */
  settled(): Promise<void>;
}

export interface SessionHookDeps {
  readonly hooks: HookLists;
  /** Of the workflow that leads the session, and of the step in hand. */
  readonly led?: LedHooks | undefined;
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly clock: Clock;
  readonly command: RunCommand;
  readonly invoke?: Invoke | undefined;
  readonly traits: (action: Parameters<SchedulerDeps['traits']>[0]) => TargetTraits | undefined;
}

export function createSessionHooks(deps: SessionHookDeps): SessionHooks | undefined {
  const { log, stop, traits, led } = deps;
  const { state } = log;
  const now = () => (state.task === undefined ? {} : (led?.during(state.task.given.task) ?? {}));
  const noted = new Set<string>();
  const hooks = createHooks(
    { agent: deps.hooks, led: led && { all: led.all, command: led.command, now } },
    {
      stream: state.id,
      clock: deps.clock,
      command: deps.command,
      invoke: deps.invoke,
      marks: () => state.hooks,
      balance: () => state.balance,
      append: (body, cause) => log.append(body, cause),
      context: () => sessionContext(state),
      surroundings: () => ({
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

  const telling = new Set<Promise<void>>();
  let failure: unknown;
  const tellOfAction = (id: string, cause = log.here()) => {
    const known = state.actions.get(id);
    if (known?.error === undefined) return;
    const { action, input, error } = known;
    const { kind, name, parameters } = action;
    const matter = { action: { id, kind, name, parameters: input ?? parameters }, error };
    const told = within(stop, (signal) => hooks.tell('on_error', matter, signal, cause))
      .catch((thrown: unknown) => {
        failure ??= thrown; // comes out where they are waited for
      })
      .finally(() => telling.delete(told));
    telling.add(told);
  };
  if (hooks.has('on_error'))
    log.react((event: SessionEvent) => {
      if (event.type === 'action.failed')
        tellOfAction(event.id, { stream: state.id, seq: event.seq, depth: event.cause.depth + 1 });
    });

  const settled = async () => {
    while (telling.size > 0) await Promise.all(telling);
    const thrown = failure;
    failure = undefined; // once: whoever ends the session for it waits here, too
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
      await within(given, (signal) => hooks.tell('before_turn', { turn: state.turn + 1 }, signal));
    },
    afterTurn: (given) => within(given, (signal) => hooks.tell('after_turn', {}, signal)),
    async turnFailed(given) {
      const error = state.news.broken?.error;
      if (error === undefined || error.code === TURN_CUT_SHORT || error.code === TURN_BROKEN_OFF) return;
      await within(given, (signal) => hooks.tell('on_error', { error }, signal));
    },
    catchUp() {
      if (!hooks.has('on_error')) return;
      for (const id of state.news.results) if (state.actions.get(id)?.status === 'failed') tellOfAction(id);
    },
    settled,
  };
}

/** Ends with the session, but for one that ends because something failed: that is what hooks are told of. */
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
