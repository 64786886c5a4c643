import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { statesLines } from '../../src/cli/view/state-lines.ts';
import type { Json } from '../../src/lib/json.ts';
import type { EventBody } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import { stateMetrics, type ValueMetrics } from '../../src/log/state-metrics.ts';
import { plainPalette } from '../../src/manifest/format-diagnostic.ts';
import { eventList, SESSION, started, turnCompleted, turnStarted } from '../cli/event-list.ts';
import { command } from '../cli/run-command.ts';
import { arbitraryLog } from './arbitrary-log.ts';

const set = (field: string, from: Json, to: Json, by = 'model'): EventBody => ({
  type: 'metadata.changed',
  changes: { [field]: { from, to } },
  by,
});
const review: EventBody = {
  type: 'review.requested',
  review: 'r1',
  action: 'a1',
  target: 'tool "x"',
  what: 'run x',
  because: 'it asks',
  input: {},
  grants: [],
};

/** Coding, a wait for a person, a crash, then testing with a sub-agent's help. */
const LOG = eventList([
  [0, started({ metadata: { status: 'IDLE', note: 'free text' }, states: ['status', 'mood'] })],
  [1_000, turnStarted],
  [3_000, set('status', 'IDLE', 'CODING')],
  [5_000, turnCompleted(4_000)],
  [6_000, turnStarted],
  [7_000, set('note', 'free text', 'other text')],
  [8_000, review],
  [8_000, { type: 'session.waiting', for: 'review r1' }],
  [68_000, { type: 'review.resolved', review: 'r1', answer: 'approved', by: 'ann' }],
  [69_000, turnCompleted(1_000)],
  [69_000, set('mood', null, 'CALM', 'workflow:care')],
  [70_000, set('status', 'CODING', 'TESTING')],
  // The process is killed here, and taken up an hour later.
  [3_670_000, { type: 'session.resumed', by: 'user' }],
  [3_671_000, turnStarted],
  [
    3_672_000,
    {
      type: 'child.turn.completed',
      action: 'a2',
      child: { session: 'ses_child', seq: 4 },
      event: { usage: { input: 50, output: 5 }, cost_usd: 0.5, ms: 1, first_token_ms: 1, finish: 'stop' },
    },
  ],
  [3_673_000, set('status', 'TESTING', 'CODING')],
  [3_674_000, turnCompleted(3_000)],
  [3_675_000, { type: 'session.completed', result: 'Done.' }],
]);

const lines = () => statesLines(stateMetrics(LOG), { columns: 90, paint: plainPalette }).join('\n');

const GOLDEN = `mood is CALM
  value    entries   time  turns       tokens     cost
  (unset)        0  9.0 s      2  1,800 + 240  $0.0062
  CALM           1  6.0 s      1    950 + 125  $0.5031
  2026-01-01T12:01:09.000Z  (unset) → CALM  turn 2, event 11, by workflow:care

status is CODING
  value    entries   time  turns     tokens     cost
  IDLE           1  3.0 s      1  900 + 120  $0.0031
  CODING         2  9.0 s      1  900 + 120  $0.0031
  TESTING        1  3.0 s      1  950 + 125  $0.5031
  2026-01-01T12:00:00.000Z  (unset) → IDLE  turn 0, event 1, by start
  2026-01-01T12:00:03.000Z  IDLE → CODING  turn 1, event 3, by model
  2026-01-01T12:01:10.000Z  CODING → TESTING  turn 2, event 12, by model
  2026-01-01T13:01:13.000Z  TESTING → CODING  turn 3, event 16, by model`;

describe('what a session spent in its states', () => {
  it('is time at work, and the tokens of turns by the value they began with', () => {
    expect(lines()).toBe(GOLDEN);
  });

  it('is what "telltale show --states" prints, as text and as JSON, up to any event', async () => {
    const { code, out } = await command(['show', SESSION, '--states'], { logs: [LOG] });
    expect([code, out]).toEqual([0, `${GOLDEN}\n`]);
    const json = await command(['show', SESSION, '--states', '--json', '--seq', '3'], { logs: [LOG] });
    expect(JSON.parse(json.out)).toMatchObject({
      states: [
        { field: 'mood', value: null, values: [{ value: null, entries: 0, ms: 3_000 }], history: [] },
        {
          field: 'status',
          value: 'CODING',
          values: [
            { value: 'IDLE', entries: 1, ms: 3_000, turns: 0 },
            { value: 'CODING', entries: 1, ms: 0 },
          ],
          history: [
            { to: 'IDLE', by: 'start' },
            { from: 'IDLE', to: 'CODING', by: 'model', seq: 3 },
          ],
        },
      ],
    });
    const none = eventList([[0, started()]]);
    expect((await command(['show', SESSION, '--states'], { logs: [none] })).out).toContain('no enum field');
  });

  it('of a log that names no enums is told of the fields that held short texts only', () => {
    const log = eventList([
      [0, started({ metadata: { status: 'IDLE', progress: 1, story: 'x'.repeat(65), late: 'A' } })],
      [1, set('late', 'A', { a: 1 })],
      [2, set('new', null, 'B')],
    ]);
    expect(stateMetrics(log).map(({ field }) => field)).toEqual(['new', 'status']);
  });

  it('adds up to the totals of the session, for every field and in any log', () => {
    const sum = (values: readonly ValueMetrics[], key: 'turns' | 'input' | 'output' | 'cost_usd' | 'ms') =>
      values.reduce((total, each) => total + each[key], 0);
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const { totals } = fold(log);
        for (const { values } of stateMetrics(log)) {
          expect(sum(values, 'turns')).toBe(totals.turns);
          expect(sum(values, 'input')).toBe(totals.input);
          expect(sum(values, 'output')).toBe(totals.output);
          expect(sum(values, 'cost_usd')).toBeCloseTo(totals.cost_usd);
        }
      }),
    );
    const { at, startedAt, downMs } = fold(LOG);
    for (const { values } of stateMetrics(LOG)) expect(sum(values, 'ms')).toBe(at - startedAt - downMs);
  });
});
