import { expect, it } from 'vitest';
import type { Model } from '../../src/models/model.ts';
import { modelCancelled } from '../../src/models/model-errors.ts';
import { defineAgent } from '../../src/session/define/define-agent.ts';
import { defineTool } from '../../src/session/define/define-tool.ts';
import { crashEverywhere } from '../../src/testing/crash.ts';
import { action } from './say.ts';

/** Long enough for whoever does not wait for it to be first. */
const WORK_MS = 15;
const PIECE = 8;
const DONE = '<response>Done.</response>';

/** Says it word for word, and lets everything else have its turn in between: a process can die there. */
const patient = (turns: readonly string[]): Model => ({
  id: 'patient',
  async stream({ turn, said = 0, signal }, sink) {
    const text = turns[turn - 1] ?? DONE;
    for (let at = said; at < text.length; at += PIECE) {
      if (signal.aborted) throw modelCancelled('patient');
      sink.text(text.slice(at, at + PIECE));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { finish: 'stop' };
  },
});

const scenario = (turn: string, migrates: boolean) => ({
  input: 'Go.',
  async setUp() {
    const effects: string[] = [];
    const tool = (name: string, works = true) =>
      defineTool({
        ...{ name, idempotent: true },
        run: async (_, { signal }) => {
          effects.push(`${name} begun`);
          await new Promise((resolve) => setTimeout(resolve, WORK_MS));
          signal.throwIfAborted(); // a dead process does nothing more
          if (!works) throw new Error('no luck');
          effects.push(`${name} done`);
          return `${name} done`;
        },
      });
    const agent = await defineAgent({
      name: 'orderly',
      protocol: { final_with_actions: 'accept' },
      model: patient([turn]),
      tools: [tool('backup'), tool('migrate', migrates), tool('deploy')],
    });
    return { agent, effects };
  },
});

const group = `<parallel id="g">${action('b', 'backup')}${action('m', 'migrate')}</parallel>`;
const deploy = action('d', 'deploy', { depends_on: ['g'] });

for (const [where, turn] of [
  ['behind it', `${group}${deploy}`],
  ['before it', `${deploy}${group}`],
] as const)
  for (const migrates of [true, false])
    it(`what depends on a <parallel> and stands ${where} ${migrates ? 'begins only when all of it has succeeded' : 'never begins where one of it fails'}, wherever the process dies`, async () => {
      await crashEverywhere(scenario(turn, migrates), ({ scene: { effects }, result }) => {
        expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
        const begins = effects.indexOf('deploy begun');
        if (!migrates) expect(begins).toBe(-1);
        if (begins === -1) return;
        expect(effects.slice(0, begins)).toEqual(expect.arrayContaining(['backup done', 'migrate done']));
      });
    });
