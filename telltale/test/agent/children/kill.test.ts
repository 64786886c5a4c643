import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import type { Runtime } from '../../../src/agent/runtime-types.ts';
import { responsesOf } from '../../recovery/check-survival.ts';
import { readJournal } from '../../recovery/scene.ts';
import { startVictim } from '../../recovery/victim-process.ts';
import { checkFamily, makeFamily } from './lab-family.ts';

const SESSION = 'ses_family';
const CHILD = `${SESSION}.a1`;
const SIDE_BY_SIDE = 2;
const TIMEOUT_MS = 120_000;

/** Where the process kills itself: each is between two steps that concern both logs. */
const POINTS: readonly (readonly [point: string, nth: number])[] = [
  ['committed:session.started', 2],
  ['append:child.metadata.changed', 1],
  ['committed:session.completed', 1],
];

const logOf = async (runtime: Runtime, id: string) =>
  (await runtime.store.info(id)) === undefined ? [] : runtime.events(id);

/** Goes on in this process with what a killed one left; says what is wrong, if anything is. */
async function survives(
  [point, nth]: readonly [string, number],
  undisturbed: Parameters<typeof checkFamily>[0]['undisturbed'],
): Promise<string | undefined> {
  const folder = makeFamily('scripted');
  const { killed } = await startVictim({ folder, session: SESSION, crashAt: { point, nth } }).life;
  if (!killed) return `${point}: it was not passed`;
  const runtime = await createRuntime({ store: 'sqlite:store.db', durability: 'process', cwd: folder });
  try {
    const before = { parent: await logOf(runtime, SESSION), child: await logOf(runtime, CHILD) };
    const session = await runtime.resume(SESSION, { agent: await loadAgent('agent.yml', { cwd: folder }) });
    await session.result;
    checkFamily({
      id: SESSION,
      before,
      parent: await runtime.events(SESSION),
      child: await runtime.events(CHILD),
      journal: readJournal(folder),
      isCopied: false,
      undisturbed,
    });
    return undefined;
  } catch (thrown) {
    return `${point}, time ${nth}: ${(thrown as Error).message}`;
  } finally {
    await runtime.close();
    rmSync(folder, { recursive: true });
  }
}

describe('kill -9 of an agent and the one that it calls', () => {
  it(
    'is survived by both: nothing is lost, nothing is done twice, and resuming the caller is enough',
    async () => {
      const folder = makeFamily('scripted');
      const runtime = await createRuntime({ store: 'memory', cwd: folder });
      const agent = await loadAgent('agent.yml', { cwd: folder });
      await runtime.start(agent, { input: 'Do all of it.', id: SESSION }).result;
      const undisturbed = {
        parent: responsesOf(await runtime.events(SESSION)),
        child: responsesOf(await runtime.events(CHILD)),
      };
      await runtime.close();
      rmSync(folder, { recursive: true });
      const left = [...POINTS];
      const wrong: string[] = [];
      const worker = async () => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) {
          const why = await survives(next, undisturbed);
          if (why !== undefined) wrong.push(why);
        }
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
      expect(wrong).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
