import { beforeAll, describe, expect, it } from 'vitest';
import type { EventOf, EventType } from '../../src/log/event.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

let run: ExampleRun;
const of = <Type extends EventType>(type: Type) =>
  run.events.filter((event) => event.type === type) as unknown as readonly EventOf<Type>[];

beforeAll(async () => {
  run = await runExample({ folder: `${examples}/team`, input: 'Plan a day at the lighthouse' });
});

describe('examples/team', () => {
  it('does what expected.events.jsonl says', () =>
    expectEvents('team', run.events, { TEAM: `${examples}/team` }));

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('lets all three work at the same time', () => {
    const lastStart = of('action.started').at(-1)?.seq ?? 0;
    const firstResult = of('child.response')[0]?.seq ?? 0;
    expect(of('action.started')).toHaveLength(3);
    expect(lastStart).toBeLessThan(firstResult);
  });

  it('gathers what each finds in the metadata of the planner', () => {
    expect(
      of('metadata.changed')
        .map(({ by }) => by)
        .toSorted(),
    ).toEqual(['child:ferryman', 'child:purser', 'child:tide_watcher', 'model']);
    expect(run.result).toMatchObject({ status: 'completed', turns: 2 });
    expect(run.result.result).toContain('It comes to 96 in all.');
  });
});
