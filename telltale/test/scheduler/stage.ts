import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { DeclaredAction } from '../../src/log/action.ts';
import type { Cause, EventBody, SessionEvent } from '../../src/log/event.ts';
import { fold, reduce } from '../../src/log/reduce.ts';
import { emptyState, type SessionState } from '../../src/log/state.ts';
import { type ActionScheduler, createScheduler } from '../../src/scheduler/action-scheduler.ts';
import type {
  PerformCall,
  SchedulerDeps,
  SchedulerOptions,
  TargetTraits,
} from '../../src/scheduler/scheduler-deps.ts';

/** A call of a target that has not come to its end: the test says how it ends. */
export interface Call extends PerformCall {
  readonly id: string;
  readonly at: number;
  resolve(output?: Json): void;
  reject(error: unknown): void;
}

export interface StageOptions extends Partial<Omit<SchedulerOptions, 'state'>> {
  /** By name; a target that is not named here is idempotent and starts at once. `undefined`: there is none. */
  readonly targets?: Readonly<Record<string, Partial<TargetTraits> | undefined>>;
  readonly outside?: JsonObject;
  readonly fetch?: SchedulerDeps['fetch'];
  readonly context?: Readonly<Record<string, unknown>>;
  readonly random?: () => number;
  /** Commits are made by `commit()` only. */
  readonly manualCommit?: boolean;
  readonly mayBeLost?: SchedulerDeps['mayBeLost'];
  /** A commit takes this long; without it, until the next microtask. */
  readonly commitMs?: number;
  /** In place of calls that the test ends by hand. */
  readonly perform?: (call: PerformCall) => Promise<Json>;
  readonly clock?: SimulatedClock;
  /** Asked before a target with `needs` starts. */
  readonly clear?: SchedulerDeps['requestApproval'];
  /** Asked before a target with `maxParallel` starts. */
  readonly slot?: SchedulerDeps['takeSlot'];
  /** Told of each try that must not be made twice. */
  readonly once?: SchedulerDeps['enterNonIdempotent'];
  /** What an earlier process left. */
  readonly events?: readonly SessionEvent[];
}

/** A scheduler with a log in memory, a clock that stands still and targets that end when they are told to. */
export interface Stage {
  readonly scheduler: ActionScheduler;
  readonly state: SessionState;
  readonly clock: SimulatedClock;
  readonly events: readonly SessionEvent[];
  readonly calls: Call[];
  readonly fatal: { readonly id: string; readonly error: RuntimeError }[];
  readonly ended: string[];
  /** Calls of targets that the log knows nothing of. */
  readonly strays: string[];
  /** The call in hand of that action; fails if there is none. */
  call(id: string): Call;
  declare(id: string, fields?: Partial<DeclaredAction>): void;
  /** Ends calls, then lets everything settle. */
  complete(id: string, output?: Json): Promise<void>;
  fail(id: string, error?: unknown): Promise<void>;
  settle(): Promise<void>;
  commit(error?: RuntimeError): Promise<void>;
  append(body: EventBody): Cause;
  /** The last event whose commit somebody was told of: a crash can lose none up to it. */
  committed(): number;
  /** `declared a`, `started a`, …: the events of actions and faults, briefly. */
  story(): readonly string[];
  /** Ids of actions whose target is being called. */
  running(): readonly string[];
}

export const CAUSE: Cause = { stream: 's', seq: 0, depth: 0 };

export function stage(options: StageOptions = {}): Stage {
  const clock = options.clock ?? createSimulatedClock();
  const events: SessionEvent[] = [...(options.events ?? [])];
  const state = fold(events, emptyState());
  const calls: Call[] = [];
  const fatal: { id: string; error: RuntimeError }[] = [];
  const ended: string[] = [];
  const strays: string[] = [];
  let committed = events.length;
  let uncommitted: { seq: number; then: (error?: RuntimeError) => void }[] = [];

  const append = (body: EventBody, cause: Cause = CAUSE): Cause => {
    const seq = events.length + 1;
    const turn = body.type === 'turn.started' ? state.turn + 1 : state.turn;
    const event = { ...body, seq, at: clock.now(), session: 's', turn, cause } as SessionEvent;
    events.push(event);
    reduce(state, event);
    return { stream: 's', seq, depth: cause.depth + 1 };
  };

  const traits = ({ name }: DeclaredAction): TargetTraits | undefined => {
    const targets = options.targets ?? {};
    if (Object.hasOwn(targets, name) && targets[name] === undefined) return undefined;
    return { idempotent: true, start: 'on_close', check: () => undefined, ...targets[name] };
  };

  const perform = (call: PerformCall): Promise<Json> =>
    new Promise((resolve, reject) => {
      const over = () => {
        const index = calls.indexOf(made);
        if (index !== -1) calls.splice(index, 1);
      };
      const made: Call = {
        ...call,
        id: call.action.id,
        at: clock.monotonic(),
        resolve: (output = null) => {
          over();
          resolve(output);
        },
        reject: (error) => {
          over();
          reject(error);
        },
      };
      calls.push(made);
      const known = state.actions.get(made.id);
      if (known?.status !== 'running' || known.attempts !== call.attempt)
        strays.push(`${made.id} was called`);
    });

  const scheduler = createScheduler(
    {
      parallelActions: options.parallelActions ?? 100,
      actionTimeoutMs: options.actionTimeoutMs ?? 300_000,
      state,
      onFatal: options.onFatal ?? ((error, id) => fatal.push({ id, error })),
      onEnded: options.onEnded ?? ((id) => ended.push(id)),
    },
    {
      clock,
      random: options.random ?? (() => 0.5),
      mayBeLost: options.mayBeLost,
      append,
      committed: (seq, then) => {
        if (options.manualCommit) uncommitted.push({ seq, then });
        else {
          const done = () => {
            committed = Math.max(committed, seq);
            then();
          };
          if (options.commitMs === undefined) queueMicrotask(done);
          else clock.after(options.commitMs, done);
        }
      },
      committedSeq: () => committed,
      traits,
      unknownTarget: ({ name }) => new RuntimeError('target_unknown', `No tool is named "${name}".`),
      ...(options.clear === undefined ? {} : { requestApproval: options.clear }),
      ...(options.slot === undefined ? {} : { takeSlot: options.slot }),
      enterNonIdempotent: options.once,
      perform: options.perform ?? perform,
      lookup: (name) => {
        const outside = options.outside ?? {};
        return Object.hasOwn(outside, name) ? outside[name] : undefined;
      },
      fetch: options.fetch,
      context: () => options.context ?? { metadata: {}, vars: {}, agent: {} },
    },
  );

  const call = (id: string): Call => {
    const found = calls.find((each) => each.id === id);
    if (found === undefined) throw new Error(`"${id}" is not running: ${story().join(', ')}`);
    return found;
  };
  const settle = () => clock.advance(0);
  const story = () =>
    events.flatMap((event) => {
      const short = event.type.replace('action.', '');
      switch (event.type) {
        case 'action.declared':
          return [`declared ${event.action.id}`];
        case 'action.started':
          return [`started ${event.id}${event.attempt > 1 ? ` ${event.attempt}` : ''}`];
        case 'action.skipped':
          return [
            `skipped ${event.id} ${event.reason}${event.because === undefined ? '' : ` ${event.because}`}`,
          ];
        case 'action.failed':
          return [`failed ${event.id} ${event.error.code}`];
        case 'action.compensated':
          return [`compensated ${event.id} ${event.by}`];
        case 'action.completed':
        case 'action.cancelled':
        case 'action.interrupted':
        case 'action.retrying':
          return [`${short} ${event.id}`];
        case 'fault':
          return [`fault ${event.code}`];
        default:
          return [];
      }
    });

  return {
    scheduler,
    state,
    clock,
    events,
    calls,
    fatal,
    ended,
    strays,
    call,
    declare: (id, fields = {}) =>
      scheduler.declare(
        { id, kind: 'tool', mode: 'async', name: `t_${id}`, parameters: {}, ...fields },
        CAUSE,
      ),
    async complete(id, output) {
      call(id).resolve(output);
      await settle();
    },
    async fail(id, error = new RuntimeError('boom', 'It broke.')) {
      call(id).reject(error);
      await settle();
    },
    settle,
    async commit(error) {
      const due = uncommitted;
      uncommitted = [];
      for (const { then } of due) then(error);
      await settle();
    },
    append,
    committed: () => committed,
    story,
    running: () => calls.map(({ id }) => id),
  };
}

/** The same session in a new process: what the log holds, and nothing else. */
export function restart(before: Stage, options: StageOptions = {}): Stage {
  const after = stage({ ...options, events: before.events });
  after.scheduler.restore(after.state);
  return after;
}
