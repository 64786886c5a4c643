import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Phase, phasesAt, statusAt } from '../../../console/src/pages/session/model/action-phases.ts';
import { axisMark } from '../../../console/src/pages/session/model/axis-mark.ts';
import { filterEvents, groupsOf } from '../../../console/src/pages/session/model/event-filter.ts';
import { changesUntil, numericFields } from '../../../console/src/pages/session/model/field-history.ts';
import { ownLead } from '../../../console/src/pages/session/model/own-lead.ts';
import type { LogSource } from '../../../console/src/pages/session/model/session-log.ts';
import { createSessionModel } from '../../../console/src/pages/session/model/session-model.ts';
import { createStateTimeline } from '../../../console/src/pages/session/model/state-timeline.ts';
import { itemsUntil, withLive } from '../../../console/src/pages/session/model/stream.ts';
import { createTimeAxis, fitScale, GAP_PX } from '../../../console/src/pages/session/model/time-axis.ts';
import { createWaterfall } from '../../../console/src/pages/session/model/waterfall.ts';
import { whyStory } from '../../../console/src/pages/session/model/why-story.ts';
import {
  ROW_HEIGHT,
  rowPlaces,
  rowsUntil,
  TURN_HEIGHT,
} from '../../../console/src/pages/session/waterfall/layout.ts';
import type { Followed, LiveSnapshot } from '../../src/client/client.ts';
import type { EventBody, LiveEvent, SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import { timeSavedText } from '../../src/log/time-saved.ts';
import { command } from '../cli/run-command.ts';
import { arbitraryLog } from '../log/arbitrary-log.ts';
import { moreRuns } from '../more-runs.ts';
import { generateLog } from './generate-log.ts';

type Told = Followed<SessionEvent | LiveEvent | LiveSnapshot>;

/** A server that has `events` on its log, `pages` at a time, and tells followers what the test tells it. */
function serverWith(events: SessionEvent[], pageSize = 3) {
  let listener: ((told: Told) => void) | undefined;
  const asked: number[] = [];
  const source: LogSource = {
    async sessionEvents(_, query = {}) {
      const { after = 0 } = query;
      asked.push(after);
      const items = events.slice(after, after + pageSize);
      return { items, ...(after + pageSize < events.length ? { next: String(after + pageSize) } : {}) };
    },
    followSession(_, told) {
      listener = told;
      told({ kind: 'open', after: 0 });
      return () => {
        listener = undefined;
      };
    },
  };
  return { source, asked, tell: (told: Told) => listener?.(told), follows: () => listener !== undefined };
}

const modelOf = (source: LogSource) =>
  createSessionModel({ source, id: 'ses_generated', schedule: (run) => run(), now: () => 0 });

const event = (body: EventBody, seq: number, at = seq * 10, turn = 1): SessionEvent =>
  ({
    seq,
    at,
    session: 's',
    turn,
    cause: { stream: 's', seq: Math.max(0, seq - 1), depth: seq },
    ...body,
  }) as SessionEvent;

/** A log from bodies and their times. */
const logOf = (...timed: readonly (readonly [number, EventBody])[]): SessionEvent[] =>
  timed.map(([at, body], index) => event(body, index + 1, at));

const SMALL = generateLog({ turns: 3, actions: 12 });
const started: EventBody = {
  type: 'session.started',
  agent: 'coder',
  input: 'Add a flag',
  model: 'm',
  manifest: { path: 'a.yml', hash: 'h' },
};
const turnStarted: EventBody = { type: 'turn.started', prompt: { tokens: 10, reused_prefix: 1 } };
const declared = (id: string, more: object = {}): EventBody => ({
  type: 'action.declared',
  action: { id, kind: 'tool', mode: 'async', name: 'shell', parameters: {}, ...more },
});
const begun = (id: string, attempt = 1): EventBody => ({ type: 'action.started', id, attempt, input: {} });
const done = (id: string): EventBody => ({ type: 'action.completed', id, output: 1, ms: 1, attempts: 1 });

const waterfallOf = (events: readonly SessionEvent[]) => {
  const waterfall = createWaterfall();
  for (const each of events) waterfall.add(each);
  return waterfall;
};
const phasesIn = (events: readonly SessionEvent[], id: string, at?: number): readonly Phase[] => {
  const waterfall = waterfallOf(events);
  const row = waterfall.action(id);
  const last = events.at(-1);
  if (row === undefined || last === undefined) throw new Error(`No row ${id}.`);
  return phasesAt(row, { seq: last.seq, at: at ?? last.at }, waterfall.action);
};
const told = (phases: readonly Phase[]) =>
  phases.map(({ kind, from, to, open }) => `${kind} ${from}-${to}${open ? '…' : ''}`);

describe('the log of the page', () => {
  it('loads page by page, then follows from the last event', async () => {
    const server = serverWith(SMALL.slice(0, 10));
    const model = modelOf(server.source);
    model.open();
    await expect.poll(() => server.follows()).toBe(true);
    expect(server.asked).toEqual([0, 3, 6, 9]);
    expect(model.events.map(({ seq }) => seq)).toEqual(SMALL.slice(0, 10).map(({ seq }) => seq));
    expect(model.status()).toEqual({ kind: 'live' });
  });

  it('holds each event once and in order, whatever repeats and gaps the connection has', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(SMALL.length - 1), { maxLength: 40 }), async (order) => {
        const server = serverWith([...SMALL], 1_000);
        const known = SMALL.slice(0, 5);
        let pages = 0;
        const source: LogSource = {
          ...server.source,
          sessionEvents: (id, query, options) =>
            pages++ === 0
              ? Promise.resolve({ items: known })
              : server.source.sessionEvents(id, query, options),
        };
        const model = modelOf(source);
        model.open();
        await expect.poll(() => server.follows(), { interval: 1 }).toBe(true);
        for (const at of order) server.tell({ kind: 'event', event: SMALL[at] as SessionEvent });
        await new Promise((resolve) => setImmediate(resolve));
        expect(model.events.map(({ seq }) => seq)).toEqual(
          Array.from({ length: model.events.length }, (_, index) => index + 1),
        );
        expect(model.events.length).toBeGreaterThanOrEqual(Math.max(5, ...order.map((at) => at + 1)));
        model.close();
      }),
      { numRuns: moreRuns(30) },
    );
  });

  it('says that the connection is lost, and what failed for good', async () => {
    const server = serverWith([...SMALL]);
    const model = modelOf(server.source);
    model.open();
    await expect.poll(() => server.follows()).toBe(true);
    const error = { code: 'unreachable', message: 'Nobody answers.', retryable: true };
    server.tell({ kind: 'lost', error, retryInMs: 500 });
    expect(model.status()).toEqual({ kind: 'lost', error, retryAt: 500 });
    const broken = modelOf({ ...server.source, sessionEvents: () => Promise.reject(new Error('gone')) });
    broken.open();
    await expect.poll(() => broken.status().kind).toBe('failed');
  });

  it('is silent after it was closed', async () => {
    const server = serverWith([...SMALL]);
    const model = modelOf(server.source);
    model.open();
    model.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(model.events).toEqual([]);
  });
});

describe('the state at any event', () => {
  it('is the fold of the events up to it, in whatever order one asks', () => {
    const log = generateLog({ turns: 40, actions: 30 });
    const timeline = createStateTimeline(log);
    for (const each of log) timeline.add(each);
    for (const seq of [1, 2_500, 2_600, 999, 1_000, 1_001, 0, log.length, 2_599, 3_999])
      expect(timeline.at(seq)).toEqual(fold(log.slice(0, seq)));
  });

  it('is that of any log', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.array(fc.nat(60), { maxLength: 6 }), (log, asked) => {
        const timeline = createStateTimeline(log);
        for (const each of log) timeline.add(each);
        for (const seq of asked) expect(timeline.at(seq)).toEqual(fold(log.slice(0, seq)));
      }),
    );
  });
});

describe('the waterfall', () => {
  const review: EventBody = {
    type: 'review.requested',
    review: 'r1',
    action: 'a',
    target: 'tool "shell"',
    what: 'rm',
    because: 'ask',
    input: {},
    grants: [],
  };

  it('shows an action that waits for another until that one ends, then for its place', () => {
    const log = logOf(
      [0, started],
      [10, turnStarted],
      [20, declared('a')],
      [21, begun('a')],
      [30, declared('b', { depends_on: ['a'] })],
      [90, done('a')],
      [95, begun('b')],
      [120, done('b')],
    );
    expect(told(phasesIn(log, 'a'))).toEqual(['queue 20-21', 'run 21-90']);
    expect(told(phasesIn(log, 'b'))).toEqual(['dependency 30-90', 'queue 90-95', 'run 95-120']);
  });

  it('finds what an action waits for in the $names of its parameters, output keys included', () => {
    const log = logOf(
      [0, started],
      [10, turnStarted],
      [20, declared('a', { output_key: 'page' })],
      [20, begun('a')],
      [30, declared('b', { parameters: { list: [{ text: 'See ${page.title} for $$5' }] } })],
      [80, done('a')],
    );
    expect(told(phasesIn(log, 'b', 85))).toEqual(['dependency 30-80', 'queue 80-85…']);
  });

  it('shows the wait for a person, tries and the pauses between them', () => {
    const error = { code: 'x', message: 'x', retryable: true };
    const log = logOf(
      [0, started],
      [10, turnStarted],
      [20, declared('a')],
      [25, review],
      [60, { type: 'review.resolved', review: 'r1', answer: 'approved', by: 'ann' }],
      [61, begun('a')],
      [70, { type: 'action.retrying', id: 'a', attempt: 2, error, delay_ms: 10 }],
      [80, begun('a', 2)],
    );
    expect(told(phasesIn(log, 'a', 99))).toEqual([
      'queue 20-25',
      'review 25-60',
      'queue 60-61',
      'run 61-70',
      'retry 70-80',
      'run 80-99…',
    ]);
    expect(told(phasesIn(log.slice(0, 4), 'a', 40))).toEqual(['queue 20-25', 'review 25-40…']);
    expect(told(phasesIn(log.slice(0, 7), 'a', 75)).at(-1)).toBe('retry 70-75…');
  });

  it('at an earlier event is the one of a log that ends there', () => {
    const whole = waterfallOf(SMALL);
    const picture = (waterfall: typeof whole, seq: number) => {
      const moment = { seq, at: SMALL[seq - 1]?.at ?? 0 };
      return waterfall.rows
        .filter((row) => row.seq <= seq)
        .map((row) =>
          row.kind === 'action'
            ? [row.action.id, statusAt(row, moment), ...told(phasesAt(row, moment, waterfall.action))]
            : [row.kind, row.end !== undefined && row.end.seq <= seq],
        );
    };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: SMALL.length }), (seq) => {
        expect(picture(whole, seq)).toEqual(picture(waterfallOf(SMALL.slice(0, seq)), seq));
      }),
    );
  });

  it('marks a response where it was said, not where it was decided to be final', () => {
    const log = logOf(
      [0, started],
      [10, turnStarted],
      [50, { type: 'model.output', offset: 0, text: '<response>x</response>' }],
      [52, turnEnd(42)],
      [900, { type: 'response', text: 'x', final: true }],
    );
    expect(waterfallOf(log).turns[0]?.tags).toEqual([{ kind: 'response', seq: 5, at: 50, label: 'x' }]);
  });

  it('tells a process that was away from a person who was waited for', () => {
    const log = logOf(
      [0, started],
      [10, turnStarted],
      [20, declared('a')],
      [21, begun('a')],
      [60_000, { type: 'session.resumed', by: 'cli' }],
      [60_001, { type: 'session.waiting', for: 'message' }],
      [90_000, { type: 'message.received', from: 'user', text: 'go' }],
    );
    expect(waterfallOf(log).gaps).toEqual([
      { from: 21, to: 60_000, seq: 5, why: 'away' },
      { from: 60_001, to: 90_000, seq: 7, why: 'person' },
    ]);
  });

  it('cuts the wait for an answer out, also where it holds up the turn', () => {
    const log = logOf(
      [0, started],
      [10, turnStarted],
      [20, declared('a', { mode: 'sync' })],
      [25, review],
      [26, { type: 'session.waiting', for: 'review r1' }],
      [60_000, { type: 'review.resolved', review: 'r1', answer: 'approved', by: 'ann' }],
      [60_001, begun('a')],
    );
    const waterfall = waterfallOf(log);
    expect(waterfall.gaps).toEqual([{ from: 26, to: 60_000, seq: 6, why: 'person' }]);
    expect(waterfallOf(log.slice(0, 4)).idleNow()).toBeUndefined();
    expect(waterfallOf(log.slice(0, 5)).idleNow()).toBe('person');
  });

  it('does not call a turn failed whose process ended, and draws what it had said', () => {
    const error = { code: 'interrupted', message: 'The runtime was restarted.', retryable: true };
    const log = logOf(
      [0, started],
      [10, turnStarted],
      [40, { type: 'model.output', offset: 0, text: 'x' }],
      [50_000, { type: 'session.resumed', by: 'user' }],
      [50_001, { type: 'turn.failed', error, retry_in: 0 }],
    );
    const waterfall = waterfallOf(log);
    expect(waterfall.turns[0]?.end).toMatchObject({ finish: 'interrupted', spokeUntil: 40 });
    expect(waterfall.gaps).toEqual([{ from: 40, to: 50_000, seq: 4, why: 'away' }]);
  });
});

const turnEnd = (ms: number): EventBody => ({
  type: 'turn.completed',
  usage: { input: 1, output: 1 },
  cost_usd: 0,
  ms,
  first_token_ms: 1,
  finish: 'stop',
});

describe('the time saved', () => {
  it('is the same in the model of the page and on the command line, and nothing before it was saved', async () => {
    const log = generateLog({ turns: 3, actions: 12 });
    const model = modelOf(serverWith([...log], 1_000).source);
    model.open();
    await expect.poll(() => model.events.length).toBe(log.length);
    const text = timeSavedText(model.timeSaved.at(log.length));
    expect(text).toMatch(/^Starting \d+ actions before the response ended saved \d.*\.$/);
    const live = () => ({ events: log, result: {} });
    const { out } = await command(['run', 'a.yml', 'x'], { live });
    expect(out.trimEnd().split('\n').at(-1)).toBe(text);
    expect(timeSavedText(model.timeSaved.at(2))).toBeUndefined();
    model.close();
  });
});

describe('the rows of the waterfall', () => {
  const { rows, turns } = waterfallOf(generateLog({ turns: 6, actions: 5 }));
  const places = rowPlaces(turns);
  const heights = rows.map(({ kind }) => (kind === 'turn' ? TURN_HEIGHT : ROW_HEIGHT));

  it('lie under each other without a gap, and are found by their place', () => {
    let top = 0;
    for (const [index, height] of heights.entries()) {
      expect([places.top(index), places.height(index)]).toEqual([top, height]);
      expect(places.indexAt(top, rows.length)).toBe(index);
      expect(places.indexAt(top + height - 1, rows.length)).toBe(index);
      expect(places.turnOf(index)?.turn).toBe(rows[index]?.turn);
      top += height;
    }
  });

  it('that had begun at an event are the first ones', () => {
    for (const seq of [1, 2, 9, 40, 999])
      expect(rowsUntil(rows, seq)).toBe(rows.filter((row) => row.seq <= seq).length);
  });
});

describe('the time axis', () => {
  it.each([
    [0, 1, ['0 ms', '1 ms', '2 ms']],
    [500, 500, ['500 ms', '1 s', '1.5 s']],
    [3_180, 20, ['3.18 s', '3.20 s', '3.22 s']],
    [9_800, 100, ['9.8 s', '9.9 s', '10.0 s', '10.1 s']],
    [11_034, 1, ['11.034 s', '11.035 s']],
    [59_000, 500, ['59.0 s', '59.5 s', '1:00.0', '1:00.5']],
    [60_000, 15_000, ['1 min 00 s', '1 min 15 s']],
    [187_000, 500, ['3:07.0', '3:07.5', '3:08.0']],
    [7_500_000, 30_000, ['2:05:00', '2:05:30', '2:06:00']],
    [7_500_000, 60_000, ['2 h 05 min', '2 h 06 min']],
    [93_907_034, 2, ['26:05:07.034', '26:05:07.036']],
    [93_600_000, 3_600_000, ['1 d 2 h', '1 d 3 h']],
  ])('has marks that differ, %i ms after the start and %i ms apart', (from, step, texts) => {
    expect(texts.map((_, index) => axisMark(from + index * step, step))).toEqual(texts);
  });

  const gap = { from: 1_000, to: 500_000, seq: 5, why: 'person' } as const;
  const span = { start: 0, end: 501_000, gaps: [gap] };

  it('gives a gap the same room however long it was', () => {
    const axis = createTimeAxis(span, fitScale(span, 1_034));
    expect(axis.x(1_000)).toBeCloseTo(500);
    expect(axis.x(500_000)).toBeCloseTo(500 + GAP_PX);
    expect(axis.width).toBeCloseTo(1_034);
  });

  it('finds the time of a place, and the place of a time', () => {
    const axis = createTimeAxis(span, 0.3);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 501_000 }), (at) => {
        expect(axis.at(axis.x(at))).toBeCloseTo(at, 3);
      }),
    );
  });
});

describe('the conversation', () => {
  const delta = (text: string): Told => ({
    kind: 'event',
    event: { type: 'thought.delta', session: 's', turn: 1, depth: 0, text },
  });
  const said = (text: string): Told => ({
    kind: 'event',
    event: { type: 'response.delta', session: 's', turn: 1, text },
  });

  it('tells a thought in front of the actions that stand in it', async () => {
    const log = logOf(
      [0, started],
      [1, turnStarted],
      [2, declared('a', { in: 'thought' })],
      [3, { type: 'thought', text: 'inner', depth: 1 }],
      [4, { type: 'thought', text: 'outer', depth: 0 }],
      [5, declared('b')],
      [6, { type: 'thought', text: 'next', depth: 0 }],
    );
    log.push(
      event(declared('c', { in: 'thought' }), 8),
      event({ type: 'thought', text: 'with c', depth: 0 }, 9),
      event({ type: 'thought', text: 'without', depth: 0 }, 10),
    );
    const model = modelOf(serverWith(log, 100).source);
    model.open();
    await expect.poll(() => model.events.length).toBe(10);
    expect(model.stream.items.map(({ kind, seq }) => `${kind} ${seq}`)).toEqual([
      'message 1',
      'turn 2',
      'thought 5',
      'thought 4',
      'action 3',
      'action 6',
      'thought 7',
      'thought 9',
      'action 8',
      'thought 10',
    ]);
    expect(itemsUntil(model.stream.items, 4).map(({ seq }) => seq)).toEqual([1, 2, 4, 3]);
    expect(itemsUntil(model.stream.items, 10)).toBe(model.stream.items);
  });

  /** What is told that is not on the log yet. */
  const open = (model: ReturnType<typeof modelOf>) =>
    withLive(model.stream, model.live(), { first: 0, at: 0 }).filter(({ seq }) => seq === 0);

  it('tells a thought that still comes where it will stand', async () => {
    const log = logOf([0, started], [1, turnStarted], [2, declared('a', { in: 'thought' })]);
    const server = serverWith(log, 100);
    const model = modelOf(server.source);
    model.open();
    await expect.poll(() => server.follows()).toBe(true);
    server.tell(delta('First this'));
    const told = () => withLive(model.stream, model.live(), { first: 0, at: 0 }).map(({ kind }) => kind);
    expect(told()).toEqual(['message', 'turn', 'thought', 'action']);
    server.tell({ kind: 'event', event: event({ type: 'thought', text: 'First this', depth: 0 }, 4) });
    expect(told()).toEqual(['message', 'turn', 'thought', 'action']);
  });

  it('lets pieces grow until the element is on the log, and then tells it once', async () => {
    const server = serverWith(logOf([0, started], [1, turnStarted]), 100);
    const model = modelOf(server.source);
    model.open();
    await expect.poll(() => server.follows()).toBe(true);
    server.tell(delta('Let me '));
    server.tell(delta('see'));
    expect(open(model)).toMatchObject([{ kind: 'thought', text: 'Let me see', open: true }]);
    server.tell({ kind: 'event', event: event({ type: 'thought', text: 'Let me see', depth: 0 }, 3) });
    expect(open(model)).toEqual([]);
    expect(model.stream.items.filter(({ kind }) => kind === 'thought')).toHaveLength(1);
    server.tell(said('First. '));
    server.tell(said('Second'));
    server.tell({ kind: 'event', event: event({ type: 'response', text: 'First.', final: false }, 4) });
    expect(open(model)).toMatchObject([{ kind: 'response', text: 'Second', final: 'open' }]);
    server.tell({ kind: 'event', event: event(turnStarted, 5, 50, 2) });
    expect(open(model)).toEqual([]);
  });

  it('lets the answer of another agent grow under its name, and then tells it once', async () => {
    const server = serverWith(logOf([0, started], [1, turnStarted]), 100);
    const model = modelOf(server.source);
    model.open();
    await expect.poll(() => server.follows()).toBe(true);
    const piece = (text: string): Told => ({
      kind: 'event',
      event: { type: 'response.delta', session: 's', turn: 1, text, speaker: 'billing' },
    });
    server.tell(said('One moment.'));
    server.tell({ kind: 'event', event: event({ type: 'response', text: 'One moment.', final: true }, 3) });
    server.tell(piece('You owe '));
    server.tell(piece('nothing.'));
    expect(open(model)).toMatchObject([
      { kind: 'response', text: 'You owe nothing.', final: 'open', speaker: 'billing' },
    ]);
    const copy: EventBody = {
      type: 'child.response',
      action: 'speaker:billing',
      child: { session: 's.speaker.billing', seq: 4 },
      event: { text: 'You owe nothing.', final: true },
    };
    server.tell({ kind: 'event', event: event(copy, 4) });
    expect(open(model)).toEqual([]);
    expect(model.stream.items.at(-1)).toMatchObject({ text: 'You owe nothing.', speaker: 'billing' });
  });

  it('shows whoever joins in the middle what has come so far', async () => {
    const server = serverWith(logOf([0, started], [1, turnStarted]), 100);
    const model = modelOf(server.source);
    model.open();
    await expect.poll(() => server.follows()).toBe(true);
    server.tell(delta('lost'));
    const thoughts = [{ depth: 0, text: 'All of it' }];
    server.tell({
      kind: 'event',
      event: { type: 'live.snapshot', session: 's', turn: 1, thoughts, response: '' },
    });
    server.tell(delta(' so far'));
    expect(open(model)).toMatchObject([{ text: 'All of it so far' }]);
  });
});

describe('what the panels show', () => {
  it('knows the values of every field, and which of them are numbers', async () => {
    const model = modelOf(serverWith(SMALL, 10_000).source);
    model.open();
    await expect.poll(() => model.events.length).toBe(SMALL.length);
    expect(model.history.states).toEqual(['status']);
    expect(numericFields(model.history, SMALL.length)).toEqual(['progress']);
    const progress = model.history.fields.get('progress') ?? [];
    expect(changesUntil(progress, 4).map(({ to }) => to)).toEqual([0, 1]);
    const [field] = model.metrics.at(SMALL.length);
    expect(field?.values.map(({ value }) => value)).toEqual(['IDLE', 'CODING', 'TESTING', 'REVIEWING']);
    expect(model.metrics.at(1)[0]?.values.map(({ value }) => value)).toEqual(['IDLE']);
  });

  it('finds events by group, text and number', () => {
    const all = SMALL.length;
    expect(filterEvents(SMALL, { group: '', text: '' }, all)).toBe(SMALL);
    expect(filterEvents(SMALL, { group: 'turn', text: '' }, all)).toHaveLength(6);
    expect(filterEvents(SMALL, { group: 'turn', text: '' }, 2)).toHaveLength(1);
    expect(filterEvents(SMALL, { group: 'action', text: 'T1A3' }, all).map(({ type }) => type)).toContain(
      'action.declared',
    );
    expect(groupsOf(SMALL, all).get('turn')).toBe(6);
  });

  it('tells why a workflow ran in one sentence, and every step with its log', () => {
    const changes = { status: { from: 'PLANNING', to: 'CODING' } };
    const chain = [
      event(
        { type: 'trigger.fired', trigger: 'docs#0', workflow: 'docs', run: 'run_1', seen: {}, chain: [] },
        42,
        1,
        2,
      ),
      event({ type: 'metadata.changed', changes, by: 'model' }, 41, 1, 2),
      event(turnStarted, 40, 1, 2),
      event(started, 1, 1, 0),
    ];
    const story = whyStory({ events: chain });
    expect(story.summary).toBe(
      'Workflow docs was triggered because metadata status changed to CODING (event 41) in turn 2, because turn 2 began, because coder began with your message “Add a flag” (event 1).',
    );
    expect(story.links.map(({ stream, seq, isElsewhere }) => [stream, seq, isElsewhere])).toEqual([
      ['s', 42, false],
      ['s', 41, false],
      ['s', 40, false],
      ['s', 1, false],
    ]);
    expect(whyStory({ events: chain.slice(0, 1), lost: { stream: 'run_0', seq: 3 } }).origin).toContain(
      'run_0',
    );
  });
});

it('knows the run that leads it: that of its agent, and none of whoever called it', () => {
  const parent = { session: 'run_1', action: 'look', agents: ['a'] };
  expect(ownLead({ id: 'ses_1', led: true })).toBe('ses_1~lead');
  expect(ownLead({ id: 'ses_1' })).toBeUndefined();
  expect(ownLead({ id: 'ses_1', led: true, parent })).toBeUndefined();
});
