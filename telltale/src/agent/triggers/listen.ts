import { createHash } from 'node:crypto';
import type { Engine } from '../../engine/engine.ts';
import type { Clock } from '../../lib/clock.ts';
import { derivedId } from '../../lib/ids.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Store, Tables } from '../../store/store.ts';
import { type OutsideTrigger, outsideTriggers } from '../../triggers/outside-triggers.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { Listening, ListenOptions, OutsideOutcome } from '../runs/run-types.ts';
import { workflowsOf } from '../runs/run-types.ts';
import type { StartingRun } from './concurrency-limit.ts';
import {
  type ConcurrencyLimiterDeps,
  createConcurrencyLimiter,
  type PendingRun,
} from './concurrency-limit.ts';
import { runSchedule } from './schedule.ts';
import { createReplayGuard, hookTwice, hookUnknown, receiveHook, type Webhook } from './webhook.ts';

export interface ListenDeps {
  readonly engine: Pick<Engine, 'schedule'>;
  readonly clock: Clock;
  readonly tables: Tables;
  readonly info: Store['info'];
  readonly cancel: (run: string, reason: string) => Promise<void>;
  readonly crashPoint?: ((name: string) => void) | undefined;
  readonly onError: (thrown: unknown) => void;
  readonly start: (workflow: WorkflowManifest, trigger: string, seen: JsonObject, id: string) => StartingRun;
}

export function listen(
  deps: ListenDeps,
  agent: LoadedAgent<unknown>,
  { onDue, onError = deps.onError }: ListenOptions = {},
): Listening {
  const { clock, tables, crashPoint } = deps;
  const agentName = agent.manifest.name;
  const workflows = workflowsOf(agent);
  const triggers = outsideTriggers([...workflows.values()]);
  const hooks = hooksOf(triggers);
  const nameOf = ({ id }: OutsideTrigger) => `${agentName}:${id}`;
  const pacerFor = (trigger: OutsideTrigger) => {
    const workflow = workflows.get(trigger.workflow) as WorkflowManifest; // the trigger is one of its own
    const start = (run: string, seen: JsonObject) => deps.start(workflow, trigger.id, seen, run);
    return createTriggerPacer({ ...deps, onError, start }, nameOf(trigger), trigger.pacing);
  };
  const pacers = new Map(
    triggers.flatMap((trigger) => (trigger.type === 'manual' ? [] : [[trigger.id, pacerFor(trigger)]])),
  );

  /**
   * `over` is called when the run is on its log, is queued in the store or will not start, or with an error.
   */
  const enter = async (
    trigger: OutsideTrigger,
    seen: JsonObject,
    run: string,
    over: (thrown?: unknown) => void,
  ): Promise<OutsideOutcome> => {
    const named = { type: trigger.type, trigger: trigger.id, workflow: trigger.workflow, ...seen };
    return pacers.get(trigger.id)?.enter({ run, seen: named, over }) ?? { kind: 'waiting' };
  };

  const endings = triggers.flatMap((trigger) => {
    if (trigger.type !== 'schedule') return [];
    const name = nameOf(trigger);
    const digestOf = (due: number) => createHash('sha256').update(`${name} ${due}`).digest();
    return [
      runSchedule(
        { clock, tables, crashPoint, onError, engine: deps.engine },
        {
          name,
          trigger,
          fire: ({ due, missed }, over) =>
            enter(
              trigger,
              { due, ...(missed === 0 ? {} : { missed }) },
              derivedId('run', due, digestOf(due)),
              over,
            ),
          onDue: (outcome, due) => onDue?.(trigger.id, outcome, due),
        },
      ),
    ];
  });

  const guard = createReplayGuard(tables, clock, agentName);
  /** Resolves once the run is on its log, or it is known to be queued or not to start. */
  const enterHook = async (trigger: Webhook, seen: JsonObject, run: string): Promise<OutsideOutcome> => {
    let over: (thrown?: unknown) => void = () => undefined;
    const created = new Promise<void>((resolve, reject) => {
      over = (thrown) => (thrown === undefined ? resolve() : reject(thrown));
    });
    created.catch(() => undefined); // awaited below
    const outcome = await enter(trigger, seen, run, over);
    if (outcome.kind === 'started') await created;
    return outcome;
  };
  return {
    hooks: [...hooks.keys()],
    async deliver(hook, body, headers) {
      const found = hooks.get(hook);
      if (found === undefined) throw hookUnknown(hook, [...hooks.keys()]);
      return receiveHook({ guard, now: clock.now, crashPoint, enter: enterHook }, found, body, headers);
    },
    close() {
      for (const end of endings) end();
      for (const pacer of pacers.values()) pacer.close();
    },
  };
}

function hooksOf(triggers: readonly OutsideTrigger[]): ReadonlyMap<string, Webhook> {
  const hooks = new Map<string, Webhook>();
  for (const trigger of triggers) {
    if (trigger.type !== 'webhook') continue;
    const other = hooks.get(trigger.hook);
    if (other !== undefined) throw hookTwice(trigger.hook, [other.workflow, trigger.workflow]);
    hooks.set(trigger.hook, trigger);
  }
  return hooks;
}

/**
 * Applies `debounce`, `cooldown`, `delay` and `concurrency` of a trigger without a session. Runs that wait
 * for a time exist only in this process: a webhook's sender is told that the run waits, and a schedule keeps
 * its claim until `over` is called. Queued runs and the last start are in the store.
 */
export interface TriggerPacer {
  /** Calls `over` of the run once, also if this rejects, unless the pacer is closed first. */
  enter(entrant: PendingRun): Promise<OutsideOutcome>;
  close(): void;
}

const COOLDOWNS = 'cooldowns';

const WAITING: OutsideOutcome = { kind: 'waiting' };

/** `name`: the trigger's name in the store. */
export function createTriggerPacer(
  deps: ConcurrencyLimiterDeps,
  name: string,
  pacing: OutsideTrigger['pacing'],
): TriggerPacer {
  const { clock, tables } = deps;
  const { debounceMs, cooldownMs, delayMs, concurrency } = pacing;
  const gate = concurrency === undefined ? undefined : createConcurrencyLimiter(deps, name, concurrency);
  const timers = new Set<() => void>();
  let quiet: { readonly end: () => void; readonly entrant: PendingRun } | undefined;

  const later = (ms: number, then: () => void): (() => void) => {
    const cancel = clock.after(ms, () => {
      timers.delete(cancel);
      then();
    });
    timers.add(cancel);
    return () => {
      timers.delete(cancel);
      cancel();
    };
  };
  const start = ({ run, seen, over }: PendingRun): OutsideOutcome => {
    deps.start(run, seen).created.then(() => over(), over);
    return { kind: 'started', run };
  };
  const pass = async (entrant: PendingRun): Promise<OutsideOutcome> =>
    gate === undefined ? start(entrant) : gate.enter(entrant);
  /** Starts the cooldown. A run that passed before its process died passes again. */
  const isCool = async (run: string): Promise<boolean> => {
    const is = { table: COOLDOWNS, key: name };
    const first = await tables.exchange(
      [{ ...is, value: undefined }],
      [{ ...is, value: run, ttlMs: cooldownMs ?? 0 }],
    );
    return first || (await tables.get(COOLDOWNS, name)) === run;
  };
  const afterQuiet = async (entrant: PendingRun): Promise<OutsideOutcome> => {
    if (cooldownMs !== undefined && cooldownMs > 0 && !(await isCool(entrant.run))) {
      entrant.over();
      return { kind: 'suppressed', reason: 'cooldown' };
    }
    if (delayMs === undefined) return pass(entrant);
    later(delayMs, () => void runQuietly(entrant, pass));
    return WAITING;
  };
  /** Nobody waits for the outcome any more, and `over` has got the error. */
  const runQuietly = (entrant: PendingRun, enter: typeof pass): Promise<unknown> =>
    reporting(entrant, enter).catch(() => undefined);

  return {
    async enter(entrant) {
      if (debounceMs === undefined) return reporting(entrant, afterQuiet);
      quiet?.end();
      quiet?.entrant.over();
      const end = later(debounceMs, () => {
        quiet = undefined;
        void runQuietly(entrant, afterQuiet);
      });
      quiet = { end, entrant };
      return WAITING;
    },
    close() {
      for (const cancel of timers) cancel();
      timers.clear();
      gate?.close();
    },
  };
}

async function reporting(
  entrant: PendingRun,
  enter: (entrant: PendingRun) => Promise<OutsideOutcome>,
): Promise<OutsideOutcome> {
  try {
    return await enter(entrant);
  } catch (thrown) {
    entrant.over(thrown);
    throw thrown;
  }
}
