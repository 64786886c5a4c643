import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventOf, EventType } from '../../src/events/event.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

let run: ExampleRun;
const of = <Type extends EventType>(type: Type) =>
  run.events.filter((event) => event.type === type) as unknown as readonly EventOf<Type>[];

beforeAll(async () => {
  run = await runExample({ folder: `${examples}/long-task`, input: 'Move the ledger' });
});
afterAll(() =>
  rmSync(join(tmpdir(), `telltale-long-task-${run.result.session}`), { recursive: true, force: true }),
);

describe('examples/long-task', () => {
  it('does what expected.events.jsonl says', () =>
    expectEvents('long-task', run.events, { FOLDER: `${examples}/long-task` }));

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('goes on over turns while an async action runs', () => {
    const started = of('action.started').find(({ id }) => id === 'watch');
    const ended = of('action.completed').find(({ id }) => id === 'watch');
    expect([started?.turn, ended?.turn]).toEqual([1, 7]);
  });

  it('undoes the month whose second half failed, and nothing else', () => {
    expect(of('action.failed').map(({ id }) => id)).toEqual(['b4']);
    expect(of('action.skipped').map(({ id, because }) => [id, because])).toEqual([['sums2', 'b4']]);
    expect(of('action.retrying').map(({ id }) => id)).toEqual(['b2']);
    expect(of('action.compensated').map(({ id }) => id)).toEqual(['b3']);
  });

  it('ends with both ledgers the same', () => {
    expect(run.result).toMatchObject({ status: 'completed', turns: 8 });
    expect(run.result.result).toMatch(/^All 60 records are moved, \d+ cents in both ledgers\./);
  });
});
