import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/log/event.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

const input = 'Open the workshop';
const folder = mkdtempSync(join(tmpdir(), 'telltale-relics-'));
const store = `sqlite:${join(folder, 'store.db')}`;
let run: ExampleRun;

beforeAll(async () => {
  cpSync(`${examples}/relics`, folder, { recursive: true });
  run = await runExample({ folder, input, store });
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Times and leases differ from run to run. */
const steady = (events: readonly SessionEvent[]): readonly SessionEvent[] =>
  JSON.parse(
    JSON.stringify(events)
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/"lease":"[0-9a-f]+"/g, '"lease":"LEASE"')
      .replace(/"latency_ms":\d+/g, '"latency_ms":0')
      .replace(/"version":"3[\d.]+"/g, '"version":"3"'),
  );
const output = (events: readonly SessionEvent[], id: string) =>
  events.flatMap((event) => (event.type === 'action.completed' && event.id === id ? [event.output] : []))[0];

describe('examples/relics', () => {
  it('does what expected.events.jsonl says', async () => {
    await expectEvents('relics', steady(run.events), {});
  });

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('goes on where the last session ended', async () => {
    const { result, events } = await runExample({ folder, input, store });
    expect(result.status).toBe('completed');
    expect(output(events, 'day')).toBe(2);
    expect(output(events, 'order1')).toEqual({ n: expect.any(Number) });
    expect(output(events, 'note2')).toEqual({ n: 4 });
  });
});
