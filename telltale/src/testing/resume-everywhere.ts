import type { LoadedAgent } from '../session/loaded-agent.ts';
import { type CheckSurvivor, type CrashOptions, type CrashScenario, surviveAll } from './crash-scenario.ts';
import { createMemoryStore } from './memory-store.ts';
import { openRuntime } from './open-runtime.ts';
import { spyOn } from './spied-store.ts';

const WHOLE = 'ses_whole';

/**
 * Runs the scenario once, cuts its log behind every append (where a kill can leave it), takes each of these logs up
 * again, to its end, and checks it. One scene serves all: actions of each session have keys of their own.
 */
export async function resumeEverywhere<Scene extends { readonly agent: LoadedAgent<unknown> }>(
  scenario: CrashScenario<Scene>,
  check: CheckSurvivor<Scene>,
  options: CrashOptions = {},
): Promise<void> {
  const scene = await scenario.setUp();
  const store = spyOn(createMemoryStore());
  const runtime = await openRuntime({ ...scenario.runtime, store });
  const { agent } = scene;
  const survive = async (seq: number) => {
    const id = await runtime.fork(WHOLE, seq, { id: `ses_from_${seq}` });
    const left = await runtime.events(id);
    const session = await runtime.resume<unknown>(id, { ...scenario.resume, agent });
    const result = await session.result;
    await check({ scene, where: nameOf(seq), left, events: await runtime.events(id), result });
  };
  try {
    await runtime.start(agent, { ...scenario.start, input: scenario.input, id: WHOLE }).result;
    const { length } = await runtime.events(WHOLE);
    const places = store.boundaries.filter((seq) => seq < length); // the last append completes it
    await surviveAll(places, nameOf, survive, options);
  } finally {
    await runtime.close();
  }
}

const nameOf = (seq: number) => `behind event ${seq}`;
