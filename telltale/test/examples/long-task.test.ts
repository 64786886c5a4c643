import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EventOf, EventType } from '../../src/log/event.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

let run: ExampleRun;
const of = <Type extends EventType>(type: Type) =>
  run.events.filter((event) => event.type === type) as unknown as readonly EventOf<Type>[];

/** Where another user of the machine has made what this one may not touch. */
const temporary = mkdtempSync(join(tmpdir(), 'telltale-shared-'));
writeFileSync(join(temporary, 'telltale-long-task'), '');

beforeAll(async () => {
  vi.stubEnv('TMPDIR', temporary);
  run = await runExample({ folder: `${examples}/long-task`, input: 'Move the ledger' });
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(temporary, { recursive: true, force: true });
});

describe('examples/long-task', () => {
  it('does what expected.events.jsonl says', () =>
    expectEvents('long-task', run.events, { FOLDER: `${examples}/long-task` }));

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('goes on over turns while an action runs in the background', () => {
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

  it('works in a folder of the session alone, beside those of other users', () => {
    const folder = `telltale-long-task-${run.result.session}`;
    expect(readdirSync(temporary)).toContain(folder);
    expect(readdirSync(join(temporary, folder))).toContain('batch-6.json');
  });

  it('ends with both ledgers the same', () => {
    expect(run.result).toMatchObject({ status: 'completed', turns: 8 });
    expect(run.result.result).toMatch(/^All 60 records are moved, \d+ cents in both ledgers\./);
  });
});
