import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/log/event.ts';
import { examples, expectSoundLog, runExample } from './example-run.ts';
import {
  type FinishedRun,
  finish,
  normalizeRun,
  ofType,
  openExample,
  path,
  type WorkflowExample,
} from './workflow-example.ts';

const LETTER = { from: 'Ann', text: 'Is the lamp lit?' };
const LEAFLET = { from: 'Soap & Co', text: 'Soap!' };
const POST = { letter: LETTER, leaflet: LEAFLET };

let example: WorkflowExample;
let run: FinishedRun;
beforeAll(async () => {
  example = await openExample('self-rewriting', { workflow: 'post' });
  run = await finish(example, { id: 'first', input: POST });
});
afterAll(() => example.close());

const written = async (session: string) =>
  (await example.runtime.events(session)).filter(
    (event): event is Extract<SessionEvent, { readonly type: 'artifact.written' }> =>
      event.type === 'artifact.written',
  );
const asked = ({ events }: FinishedRun) =>
  ofType(events, 'invoke').map(({ where, version, result }) => `${where} v${version} ${result}`);

describe('examples/self-rewriting', () => {
  it('does what expected.events.jsonl says', async () => {
    expect(run.result).toMatchObject({
      status: 'completed',
      output: 'The letter is answered, the leaflet is not.',
    });
    await expect(normalizeRun(run.events)).toMatchFileSnapshot(
      `${examples}/self-rewriting/expected.events.jsonl`,
    );
  });

  it('takes later transitions of the same run by the rule as it is by then', () => {
    expect(asked(run)).toEqual([
      'state letter@1: transition 0 v1 false',
      'state letter_again@1: transition 0 v2 true',
      'state leaflet@1: transition 0 v2 true',
      'state leaflet_again@1: transition 0 v3 false',
    ]);
    expect(path(run.events)).toEqual([
      'letter',
      'appeal',
      'letter_again',
      'letter_answered',
      'leaflet',
      'regret',
      'leaflet_again',
      'thrown_away',
    ]);
  });

  it('has on the log who changed what, and what brought that about', async () => {
    const [rewrite] = await written('first.appeal@1/reform');
    const [restore] = await written('first.regret@1/restore');
    expect(rewrite).toMatchObject({ artifact: 'postmaster', version: 2, by: 'agent:reformer' });
    expect(restore).toMatchObject({
      artifact: 'postmaster',
      version: 3,
      by: 'agent:traditionalist',
      restores: 1,
    });
    const started = ofType(run.events, 'step.started').find(({ step }) => step === 'appeal@1/reform');
    const [first] = await example.runtime.events('first.appeal@1/reform');
    expect(first?.cause).toMatchObject({ stream: 'first', seq: started?.seq });
  });

  it('keeps what was written for the next run, whose manifest says something else', async () => {
    // The newest version is the traditionalist's, with the text of version 1; the reformer makes the next one of it.
    const second = await finish(example, { id: 'second', input: POST });
    expect(asked(second).map((each) => each.replace(/^.* v/, 'v'))).toEqual([
      'v3 false',
      'v4 true',
      'v4 true',
      'v5 false',
    ]);
  });

  it('is the same where a session of the clerk calls it', async () => {
    const { result, events } = await runExample({
      folder: `${examples}/self-rewriting`,
      input: 'Judge the post',
    });
    expect(result).toMatchObject({
      status: 'completed',
      result: 'The letter is answered, the leaflet is not.',
      turns: 2,
    });
    expect(events.filter(({ type }) => type === 'action.completed')).toHaveLength(1);
    expectSoundLog(events);
  });
});

describe('an artifact that does what it should not', () => {
  let gauntlet: FinishedRun;
  const runGauntlet = async () => {
    const rogue = await openExample('self-rewriting', { workflow: 'gauntlet' });
    gauntlet = await finish(rogue);
    await rogue.close();
  };
  /** On a machine that gives its thread nothing for a second, any artifact is ended for its time. */
  const isStarved = () =>
    ofType(gauntlet.events, 'invoke').some(
      ({ method, fallback }) => method !== 'loops' && fallback?.reason === 'timeout',
    );
  beforeAll(async () => {
    await runGauntlet();
    for (let again = 5; again > 0 && isStarved(); again--) await runGauntlet();
  });

  it.each([
    ['loops', 'timeout', 'took more than 0.1 s'],
    ['allocates', 'memory', 'needed more than 16 MiB'],
    ['recurses', 'threw', 'nested its function calls too deep'],
    ['throws', 'threw', 'I would rather not.'],
    ['promises', 'wrong_type', 'it is a Promise'],
    ['answers_10_mb', 'memory', 'needed more than 16 MiB'],
    ['answers_1_mb', 'too_large', 'more than 262144 bytes'],
    ['answers_nothing', 'wrong_type', 'returned nothing'],
    ['reads_files', 'threw', 'require is not defined'],
    ['imports_files', 'wrong_type', 'it is a Promise'],
    ['reads_the_environment', 'threw', 'process is not defined'],
    ['calls_out', 'threw', 'fetch is not defined'],
  ])('comes to its fallback where it %s: %s', (method, reason, message) => {
    const record = ofType(gauntlet.events, 'invoke').find((each) => each.method === method);
    expect(record).toMatchObject({ result: false, version: 1, cached: false, fallback: { reason } });
    expect(record?.fallback?.message).toContain(message);
  });

  it('does the run no harm', () => {
    expect(gauntlet.result.status).toBe('completed');
    expect(path(gauntlet.events).at(-1)).toBe('unharmed');
    expect(path(gauntlet.events)).toHaveLength(13);
  });
});
