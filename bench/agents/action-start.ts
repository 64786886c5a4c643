import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, loadAgent } from '../../telltale/src/index.ts';
import type { Model } from '../../telltale/src/models/model.ts';
import { createBareLoop } from '../storing/bare-loop.ts';
import { PROMPT } from './scenario.ts';
import { openAction, writeAgent } from './write-agent.ts';

export interface StartLatencies {
  /** Milliseconds from the push of the chunk that closes the tag to the tool's first line. */
  readonly starts: readonly number[];
  /** Milliseconds of a bare commit, one before each of them. */
  readonly commits: readonly number[];
  /** The starts before those, while the engine still compiles what they run. */
  readonly unwarmed?: readonly number[];
}

/** Long enough for the turn before to be written, so that neither waits for it. */
const QUIET_MS = 3;
/** Not counted: the tool's module is loaded, and code is still being compiled, on the thread that all of this runs on. */
const WARM_UP = 500;

/**
 * One session whose every turn declares one action of a target that may not be run twice, on a log that survives the
 * plug: the action's intent is committed before the tool's first line. `delayMs` is added to each start (a handicap).
 */
export async function measureActionStart(
  folder: string,
  actions: number,
  delayMs: number,
): Promise<StartLatencies> {
  const bare = createBareLoop(join(folder, 'bare.db'), 1);
  const starts: number[] = [];
  const commits: number[] = [];
  let closedAt = 0;
  let started: () => void = () => {};
  const agent = await writeAgent(
    folder,
    false,
    async () => {
      if (delayMs > 0) await sleep(delayMs);
      starts.push(performance.now() - closedAt);
      started();
      return 'done';
    },
    loadAgent,
  );
  const model: Model = {
    id: 'fake',
    async stream({ turn }, sink) {
      if (turn > WARM_UP + actions) {
        sink.text('<response>Done.</response>');
        return { finish: 'stop' };
      }
      await sleep(QUIET_MS);
      commits.push(...(await bare.alone(1)));
      const ran = new Promise<void>((resolve) => {
        started = resolve;
      });
      sink.text(openAction(`a${turn}`, 'supplier'));
      closedAt = performance.now();
      sink.text('</action>');
      await ran;
      return { finish: 'stop', usage: { input: 10, output: 10 } };
    },
  };
  const runtime = await createRuntime({
    store: `sqlite:${join(folder, 'log.db')}`,
    durability: 'power',
    cwd: folder,
  });
  const { status, error } = await runtime.start(agent, { input: PROMPT, model }).result;
  await runtime.close();
  await bare.close();
  if (status !== 'completed') throw new Error(`The session ended as ${status}: ${error?.message}`);
  return {
    starts: starts.slice(WARM_UP),
    commits: commits.slice(WARM_UP),
    unwarmed: starts.slice(0, WARM_UP),
  };
}
