import { beforeAll, describe, expect, it } from 'vitest';
import type { EventOf, EventType } from '../../src/log/event.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

let run: ExampleRun;
const of = <Type extends EventType>(type: Type) =>
  run.events.filter((event) => event.type === type) as unknown as readonly EventOf<Type>[];

beforeAll(async () => {
  run = await runExample({ folder: `${examples}/interview`, input: 'A newcomer is here' });
});

describe('examples/interview', () => {
  it('does what expected.events.jsonl says', () =>
    expectEvents('interview', run.events, { INTERVIEW: `${examples}/interview` }));

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('turns its flag with the word that ends the interview, and what reads the flag follows', () => {
    const end = of('child.response').find(({ event }) => event.text === 'TERMINATE');
    expect(of('variable.changed').slice(-2)).toMatchObject([
      { name: 'interview_complete', to: true, by: 'derived:agent_text', cause: { seq: end?.seq } },
      { name: 'phase', to: 'welcome', by: 'derived:expression' },
    ]);
  });

  it('skips the follow-up before the flag, and runs it behind', () => {
    expect(of('action.skipped')).toMatchObject([{ id: 'early', reason: 'if' }]);
    expect(run.result).toMatchObject({
      status: 'completed',
      result: "Welcome aboard, Ada! The clockmaker's desk is by the window.",
    });
  });
});
