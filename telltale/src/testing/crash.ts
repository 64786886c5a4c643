import type { SessionEvent } from '../events/event.ts';
import { fold } from '../events/reduce.ts';
import { usageOf } from '../events/usage-of.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { LoadedAgent } from '../session/loaded-agent.ts';
import type { Runtime, SessionResult } from '../session/runtime-types.ts';
import type { Store } from '../store/store.ts';
import {
  type CheckSurvivor,
  type CrashOptions,
  type CrashScenario,
  type Survivor,
  surviveAll,
} from './crash-scenario.ts';
import { createMemoryStore } from './memory-store.ts';
import { mortal } from './mortal-store.ts';
import { openRuntime } from './open-runtime.ts';

type AnyScene = { readonly agent: LoadedAgent<unknown> };

/** A named place of a run, and the how-manieth time it is passed. */
export interface CrashPoint {
  /** `append:TYPE` and `committed:TYPE` round the writing of an event, `perform:ID` and `performed:ID` round an action. */
  readonly point: string;
  readonly nth: number;
}

export interface CrashEverywhereOptions extends CrashOptions {
  /** Each passing of a place, not only the first of each. */
  readonly every?: boolean;
}

const SESSION = 'ses_crash';

/** The places that a run passes to which nothing happens, in order. */
export async function crashPoints<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
): Promise<readonly CrashPoint[]> {
  const { agent } = await scenario.setUp();
  const times = new Map<string, number>();
  const points: CrashPoint[] = [];
  const crashPoint = (point: string) => {
    const nth = (times.get(point) ?? 0) + 1;
    times.set(point, nth);
    points.push({ point, nth });
  };
  const runtime = await openRuntime({ ...scenario.runtime, store: 'memory', crashPoint });
  try {
    await runtime.start(agent, { ...scenario.start, input: scenario.input, id: SESSION }).result;
    return points;
  } finally {
    await runtime.close();
  }
}

/**
 * Runs the scenario, ends it at a place as if the process had been killed there, and takes it up again, to its end. In
 * this process: nothing is written any more and no action starts, but a tool that runs is only aborted, not killed.
 */
export async function crashAt<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
  { point, nth }: CrashPoint,
): Promise<Survivor<Scene>> {
  const scene = await scenario.setUp();
  const store = createMemoryStore();
  const where = nameOf({ point, nth });
  if (!(await runUntil(scenario, scene.agent, store, { point, nth }))) throw notPassed(where);
  const runtime = await openRuntime({ ...scenario.runtime, store });
  try {
    const left = await logOf(runtime);
    const result = await goOn(scenario, scene.agent, runtime, left);
    return { scene, where, left, events: await runtime.events(SESSION), result };
  } finally {
    await runtime.close();
  }
}

/** A log that is whole, because its last event was committed together with the one it died at, stays as it is. */
async function goOn<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
  agent: LoadedAgent<unknown>,
  runtime: Runtime,
  left: readonly SessionEvent[],
): Promise<SessionResult<unknown>> {
  if (left.length === 0)
    return runtime.start(agent, { ...scenario.start, input: scenario.input, id: SESSION }).result;
  const { status, result, error, totals } = fold(left);
  if (status === 'running' || status === 'waiting') {
    const session = await runtime.resume<unknown>(SESSION, { ...scenario.resume, agent });
    return session.result;
  }
  const { turns, cost_usd } = totals;
  return {
    session: SESSION,
    status,
    ...(result === undefined ? {} : { result: agent.readResult?.(result) ?? result }),
    ...(error === undefined ? {} : { error }),
    turns,
    usage: usageOf(totals),
    cost_usd,
  };
}

/** `crashAt` for all places of the scenario. Throws `not_survived` with every place where `check` throws. */
export async function crashEverywhere<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
  check: CheckSurvivor<Scene>,
  options: CrashEverywhereOptions = {},
): Promise<void> {
  const points = await crashPoints(scenario);
  const places = points.filter(({ nth }) => options.every === true || nth === 1);
  await surviveAll(places, nameOf, async (place) => check(await crashAt(scenario, place)), options);
}

/** Whether it got there. */
async function runUntil<Scene extends AnyScene>(
  scenario: CrashScenario<Scene>,
  agent: LoadedAgent<unknown>,
  store: Store,
  { point, nth }: CrashPoint,
): Promise<boolean> {
  const own = mortal(store);
  let passed = 0;
  let isDead = false;
  const crashPoint = (name: string) => {
    if (!isDead && name === point && ++passed === nth) {
      isDead = true;
      own.die();
      void session.interrupt(); // waited for below
    }
    if (isDead && name.startsWith('perform')) throw died();
  };
  const runtime = await openRuntime({ ...scenario.runtime, store: own, crashPoint });
  const session = runtime.start(agent, { ...scenario.start, input: scenario.input, id: SESSION });
  await session.result.catch(() => undefined); // a dead process has nothing to say
  await runtime.close();
  return isDead;
}

/** It may have died before there was a log. */
async function logOf(runtime: Runtime): Promise<readonly SessionEvent[]> {
  const info = await runtime.store.info(SESSION);
  return info === undefined ? [] : runtime.events(SESSION);
}

const nameOf = ({ point, nth }: CrashPoint) => (nth === 1 ? point : `${point}, time ${nth}`);

const died = () => new RuntimeError('interrupted', 'The process died here, as the test wanted.');

const notPassed = (where: string) =>
  new RuntimeError('crash_point_unknown', `The run did not pass ${where}.`, {
    hint: 'crashPoints(scenario) lists what it passes; the number of deltas and retries may differ from run to run.',
  });
