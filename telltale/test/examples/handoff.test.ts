import { beforeAll, describe, expect, it } from 'vitest';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

let run: ExampleRun;

beforeAll(async () => {
  run = await runExample({
    folder: `${examples}/handoff`,
    input: 'My invoice of March has the wrong amount.',
  });
});

describe('examples/handoff', () => {
  it('does what expected.events.jsonl says', () =>
    expectEvents('handoff', run.events, { SESSION: run.result.session }));

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('moves from agent to agent, and ends with the answer of the last', () => {
    const speakers = run.events.flatMap((event) => (event.type === 'handoff' ? [event.to] : []));
    expect(speakers).toEqual(['billing', 'manager']);
    expect(run.result).toMatchObject({
      status: 'completed',
      result: 'I have credited 40 euros to your account. Sorry for the mistake.',
    });
  });
});
