import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explore } from './explore.ts';
import { isWell, judge, type Verdict } from './judge.ts';
import type { LabCase } from './lab-case.ts';
import { MISTAKES, mistakeOf, ROWS } from './mistakes.ts';
import { EVERYTHING, faultlessCases, oneOfEachRow, singleCases, tracesOf } from './plan-cases.ts';
import { type CaseRun, forget, runCase } from './run-case.ts';
import { type ProviderHost, startProviderHost } from './stand-in.ts';
import { allHold, tableOf } from './table.ts';

let host: ProviderHost;
beforeAll(async () => {
  host = await startProviderHost();
});
afterAll(() => host.close());

async function run(labCase: LabCase): Promise<CaseRun> {
  const done = await runCase(labCase, host);
  forget(done);
  return done;
}

const RESEARCH: LabCase = {
  task: 'research',
  dialect: 'tags',
  provider: 'anthropic',
  mistakes: [],
  seed: 11,
};

/** Of each row of the table a mistake in every dialect, and a few pairs: `npm run lab -- models` makes all of them. */
const PAIRS = 2;
const SEED = Number(process.env.CHECK_SEED ?? 3);

describe('the model laboratory', () => {
  it('in its small size ends right in every dialect over every provider, whatever the model does wrong', async () => {
    const printed: string[] = [];
    const { verdicts, left } = await explore({
      ...EVERYTHING,
      seed: SEED,
      pairs: PAIRS,
      thin: oneOfEachRow,
      print: (line) => printed.push(line),
    });
    expect(left).toBe(0);
    expect(allHold(verdicts), printed.join('\n')).toBe(true);
    const single = verdicts.filter(({ case: { mistakes } }) => mistakes.length === 1);
    const rows = new Set(single.map(({ case: { mistakes } }) => mistakeOf(mistakes[0]?.mistake ?? '')?.row));
    expect([...rows].sort()).toEqual(Object.keys(ROWS).sort());
  }, 180_000);

  it('the same seed has the same facts, and another one has others', async () => {
    const [first, again, other] = await Promise.all([
      run(RESEARCH),
      run(RESEARCH),
      run({ ...RESEARCH, seed: 12 }),
    ]);
    expect(again?.answers).toEqual(first?.answers);
    expect(other?.answers).not.toEqual(first?.answers);
  });

  it('can make every mistake, and every row of the table has one', async () => {
    const all = faultlessCases({ ...EVERYTHING, providers: ['openai-chat'], seed: 3 });
    const runs = await Promise.all(
      all.map(async (each) => ({ case: each, spoken: (await run(each)).spoken })),
    );
    const planned = singleCases({ ...EVERYTHING, seed: 3 }, tracesOf(runs));
    const made = new Set(planned.flatMap(({ mistakes }) => mistakes.map(({ mistake }) => mistake)));
    expect(MISTAKES.map(({ name }) => name).filter((name) => !made.has(name))).toEqual([]);
    const rows = new Set(MISTAKES.map(({ row }) => row));
    expect(Object.keys(ROWS).filter((row) => !rows.has(row))).toEqual([]);
  });

  describe('finds', () => {
    let good: CaseRun;
    beforeAll(async () => {
      good = await run(RESEARCH);
    });
    const spoilt = (changes: Partial<CaseRun>): Verdict => judge(RESEARCH, { ...good, ...changes });

    it('nothing wrong where nothing is', () => {
      const verdict = spoilt({});
      expect(isWell(verdict)).toBe(true);
      expect(allHold([verdict])).toBe(true);
      expect(tableOf('tags', [verdict])).toContain('| makes no mistake | 1 | 0 | 0.00 | 0 | 100 % | 0 |');
    });

    it('an answer that the model made up', () => {
      const verdict = spoilt({ answers: [good.task.guess] });
      expect(verdict.differences).toEqual([expect.stringContaining('docs/unseen')]);
      expect(allHold([verdict])).toBe(false);
    });

    it('files that are missing, changed or too many', () => {
      const [name = ''] = Object.keys(good.files);
      const { [name]: _, ...others } = good.files;
      expect(spoilt({ files: others }).differences).toHaveLength(1);
      expect(spoilt({ files: { ...good.files, [name]: '$' } }).differences).toHaveLength(1);
      expect(spoilt({ files: { ...good.files, more: '' } }).differences).toHaveLength(1);
    });

    it('a turn too many', () => {
      const verdict = spoilt({ spoken: [...good.spoken, ...good.spoken.slice(-1)] });
      expect(verdict.extra).toBe(1);
      expect(tableOf('tags', [verdict])).toContain('| makes no mistake ✗ | 1 | 1 |');
    });

    it('a call that ran although it was only quoted', () => {
      const started = good.events.find(({ type }) => type === 'action.started');
      const quoted = { ...started, input: { command: 'echo CANARY' } } as CaseRun['events'][number];
      expect(spoilt({ events: [...good.events, quoted] }).forbidden).toHaveLength(1);
      expect(spoilt({ files: { ...good.files, 'canary.txt': '' } }).forbidden).toHaveLength(1);
    });

    it('an action that started although what it depends on failed', () => {
      const events = good.events.map((event) =>
        event.type === 'action.declared' && event.action.id === 'pilot_2'
          ? { ...event, action: { ...event.action, depends_on: ['crane_2'] } }
          : event.type === 'action.completed' && event.id === 'crane_2'
            ? { ...event, id: 'other' }
            : event,
      );
      expect(spoilt({ events }).forbidden).toEqual(['"pilot_2" started before "crane_2" had succeeded']);
    });

    it('a request that the provider would refuse', () => {
      const verdict = spoilt({ problems: ['messages[0]: empty', 'messages[0]: empty'] });
      expect(verdict.problems).toEqual(['messages[0]: empty']);
      expect(isWell(verdict)).toBe(false);
    });
  });
});
