import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/log/run-event.ts';
import { examples } from './example-run.ts';
import { type FinishedRun, finish, normalizeRun, ofType, openExample } from './workflow-example.ts';

const BOOK = { book: 'The Lamp', chapters: ['Fog', 'Ice', 'Light'] };

async function read(folder: string): Promise<FinishedRun> {
  const example = await openExample(folder);
  try {
    return await finish(example, { input: BOOK });
  } finally {
    await example.close();
  }
}

/** The example with one of its files changed. */
async function changed(file: string, from: string, to: string): Promise<FinishedRun> {
  const folder = await mkdtemp(join(tmpdir(), 'guarded-injection-'));
  await cp(`${examples}/guarded-injection`, folder, { recursive: true });
  const text = await readFile(join(folder, file), 'utf8');
  expect(text).toContain(from);
  await writeFile(join(folder, file), text.replace(from, to));
  return read(folder);
}

const THOROUGH = 'Check every date';
const THRIFT = 'Be brief.';
const prompts = (events: readonly RunEvent[]) =>
  ofType(events, 'step.started').flatMap(({ step, input }) =>
    typeof input?.prompt === 'string' ? [{ step, prompt: input.prompt }] : [],
  );
/** `survey thorough`: what joined which prompt. */
const joined = (events: readonly RunEvent[]) =>
  prompts(events).map(({ step, prompt }) =>
    [
      step,
      ...(prompt.includes(THOROUGH) ? ['thorough'] : []),
      ...(prompt.includes(THRIFT) ? ['thrift'] : []),
    ].join(' '),
  );

let run: FinishedRun;
beforeAll(async () => {
  run = await read('guarded-injection');
});

describe('examples/guarded-injection', () => {
  it('does what expected.events.jsonl says', async () => {
    expect(run.result).toMatchObject({ status: 'completed', output: 'Noted.' });
    await expect(normalizeRun(run.events)).toMatchFileSnapshot(
      `${examples}/guarded-injection/expected.events.jsonl`,
    );
  });

  it('has the costly component join only while the balance covers it, and the thrifty one from then on', () => {
    expect(joined(run.events)).toEqual([
      'survey thorough',
      'chapters[0]/read thorough',
      'chapters[1]/read thorough',
      'chapters[2]/read thrift',
      'sum_up thrift',
    ]);
  });

  it('says on the log what joined, and why', () => {
    expect(
      ofType(run.events, 'component.injected').map(
        ({ component, step, because }) => `${component} ${step} ${because}`,
      ),
    ).toEqual([
      'thorough survey always',
      'thorough chapters[0]/read genesis_balance_checker.check',
      'thorough chapters[1]/read genesis_balance_checker.check',
      'thrift chapters[2]/read purse.thrifty_steps',
      'thrift sum_up purse.thrifty_steps',
    ]);
  });

  it('charges its own artifacts and not the genesis ones, down to the last', () => {
    const costs = ofType(run.events, 'invoke').map(({ artifact, cost }) => `${artifact} ${cost}`);
    expect([...new Set(costs)].toSorted()).toEqual(['genesis_balance_checker 0', 'purse 10', 'reader 10']);
    expect(ofType(run.events, 'budget.charged').map(({ balance }) => balance)).toEqual([
      90, 80, 70, 60, 50, 40, 30, 20,
    ]);
  });

  it('makes prompts of artifacts: text with its references resolved, and what a method says', () => {
    const [survey, first, second] = prompts(run.events);
    expect(survey?.prompt).toMatch(/^You are about to read The Lamp, which has these chapters: \["Fog",/);
    expect(first?.prompt).toMatch(/^Read the chapter "Fog". It is the first one\./);
    expect(second?.prompt).toMatch(/^Read the chapter "Ice". You have read 1 before it\./);
  });

  it('takes the fallbacks where the purse is too light to ask, each with the reason', async () => {
    const { events, result } = await changed('agent.yml', 'balance: 100', 'balance: 5');
    expect(result.status).toBe('completed');
    expect(joined(events)).toEqual([
      'survey thorough',
      'chapters[0]/read thrift',
      'chapters[1]/read thrift',
      'chapters[2]/read thrift',
      'sum_up thrift',
    ]);
    const own = ofType(events, 'invoke').filter(({ artifact }) => !artifact.startsWith('genesis_'));
    expect(own.map(({ fallback }) => fallback)).toEqual(
      own.map(() => ({ reason: 'unaffordable', message: 'A call costs 10, and the balance is 5.' })),
    );
    // The text of a fallback is a prompt like any other.
    expect(prompts(events)[1]?.prompt).toMatch(/^Read the chapter "Fog" and note what is wrong with it\./);
    expect(ofType(events, 'budget.charged')).toEqual([]);
  });

  it('takes the fallback of a balance check where the agent has no budget at all', async () => {
    const { events } = await changed(
      'agent.yml',
      'budget: { balance: 100, costs: { artifact: 10 } }',
      'limits: { turns: 10 }',
    );
    const checks = ofType(events, 'invoke').filter(({ artifact }) => artifact === 'genesis_balance_checker');
    expect(checks.map(({ result, fallback }) => [result, fallback?.reason])).toEqual(
      checks.map(() => [false, 'failed']),
    );
    expect(checks).toHaveLength(3);
  });

  it('fails where the artifact that holds a prompt is missing: there is nothing to say', async () => {
    const { result } = await changed(
      'read_through.yml',
      'prompt_artifact_id: opening',
      'prompt_artifact_id: closing',
    );
    expect(result).toMatchObject({ status: 'failed', error: { code: 'artifact_unknown' } });
    expect(result.error?.hint).toContain('fallback');
  });
});
