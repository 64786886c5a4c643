import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Model } from '../../src/models/model.ts';
import { modelCancelled } from '../../src/models/model-errors.ts';
import { resumeEverywhere } from '../../src/testing/crash.ts';
import { runAgent } from '../../src/testing/run-agent.ts';
import { checkSurvival, responsesOf } from './check-survival.ts';
import { makeQuickAgent, QUICK_SCRIPT, QUICK_TOOLS } from './quick-agent.ts';
import { readJournal } from './scene.ts';

const SIDE_BY_SIDE = 8;
const TIMEOUT_MS = 60_000;
const INPUT = 'Do all of it.';

/** Says the script a few characters at a time and lets everything else have its turn in between. */
const patientModel: Model = {
  id: 'patient',
  async stream({ turn, signal }, sink) {
    const text = QUICK_SCRIPT[turn - 1] ?? '';
    for (let at = 0; at < text.length; at += 3) {
      if (signal.aborted) throw modelCancelled('patient');
      sink.text(text.slice(at, at + 3));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { finish: 'stop' };
  },
};

const folders: string[] = [];
const setUp = async () => {
  const folder = makeQuickAgent();
  folders.push(folder);
  return { folder, agent: await loadAgent('agent.yml', { cwd: folder }) };
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

describe('a log', () => {
  it(
    'that ends behind any of its appends is taken up there, and comes to the same end',
    async () => {
      const whole = await runAgent((await setUp()).agent, { input: INPUT, model: patientModel });
      const undisturbed = responsesOf(whole.events);
      let places = 0;
      await resumeEverywhere(
        { setUp, input: INPUT, start: { model: patientModel } },
        ({ scene, left, events }) => {
          places++;
          const id = left[0]?.session;
          expect(left[0]).toMatchObject({ forked: {} });
          checkSurvival({
            tools: QUICK_TOOLS,
            script: QUICK_SCRIPT,
            printed: [],
            scenes: [{ log: left, journalLength: 0 }],
            log: events,
            journal: readJournal(scene.folder).filter((line) => line.session === id),
            elsewhere: left.flatMap((event) => (event.type === 'action.completed' ? [event.id] : [])),
            undisturbed,
          });
        },
        { sideBySide: SIDE_BY_SIDE },
      );
      expect(places).toBeGreaterThan(40);
    },
    TIMEOUT_MS,
  );
});
