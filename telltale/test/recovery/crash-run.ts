import { rmSync } from 'node:fs';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { checkSurvival, responsesOf } from './check-survival.ts';
import { makeQuickAgent, QUICK_SCRIPT, QUICK_TOOLS } from './quick-agent.ts';
import { readJournal, type Scene } from './scene.ts';
import { type Life, startVictim } from './victim-process.ts';

const SESSION = 'ses_quick';

/** The run that nothing happens to, with every point it passes. */
export async function undisturbedRun(): Promise<Life> {
  const folder = makeQuickAgent();
  const life = await startVictim({ folder, session: SESSION, crashAt: { point: 'list', nth: 1 } }).life;
  rmSync(folder, { recursive: true });
  return life;
}

/** Lets a process kill itself at a point, goes on in this one, and checks; says what is wrong, if anything is. */
export async function survivesCrash(
  point: string,
  nth: number,
  undisturbed: Life,
): Promise<string | undefined> {
  const folder = makeQuickAgent();
  const life = await startVictim({ folder, session: SESSION, crashAt: { point, nth } }).life;
  if (!life.killed) return 'it was not passed';
  const { scene, log } = await goOn(folder);
  try {
    checkSurvival({
      tools: QUICK_TOOLS,
      script: QUICK_SCRIPT,
      printed: [life.events],
      scenes: [scene],
      log,
      journal: readJournal(folder),
      undisturbed: responsesOf(undisturbed.events),
    });
  } catch (thrown) {
    return `${thrown instanceof Error ? thrown.message : thrown}\n${log.map(summary).join('\n')}`;
  }
  rmSync(folder, { recursive: true });
  return undefined;
}

const summary = (event: SessionEvent) => {
  const { seq, at: _, session: _session, turn, cause: _cause, type, ...rest } = event;
  return `${seq} ${turn} ${type} ${JSON.stringify(rest).slice(0, 160)}`;
};

/** Goes on in this process with what a killed one left. */
async function goOn(
  folder: string,
): Promise<{ readonly scene: Scene; readonly log: readonly SessionEvent[] }> {
  const runtime = await createRuntime({ store: 'sqlite:store.db', durability: 'process', cwd: folder });
  try {
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const known = await runtime.store.info(SESSION);
    const scene = {
      log: known === undefined ? [] : await runtime.events(SESSION),
      journalLength: readJournal(folder).length,
    };
    if (known?.status !== 'completed') {
      const session =
        scene.log.length === 0
          ? runtime.start(agent, { input: 'Do all of it.', id: SESSION })
          : await runtime.resume(SESSION, { agent });
      await session.result;
    }
    return { scene, log: await runtime.events(SESSION) };
  } finally {
    await runtime.close();
  }
}
