import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEvent, encodeEvent } from '../../src/log/codec.ts';
import type { EventBody, SessionEvent } from '../../src/log/event.ts';
import { fold, reduce } from '../../src/log/reduce.ts';
import {
  cloneState,
  createSnapshotWriter,
  reduceShared,
  restoreSnapshot,
  type SnapshotWriter,
} from '../../src/log/snapshot.ts';
import { emptyState, type SessionState } from '../../src/log/state.ts';
import { EVENT_FIELDS } from '../../src/manifest/schema/checks/check-workflow-names.ts';
import { arbitraryLog } from './arbitrary-log.ts';

const SESSION = 'ses_test';

function written(log: readonly SessionEvent[]): string[] {
  return log.map((event) => {
    const { seq, at, session, turn, cause, ...body } = event;
    return encodeEvent({ seq, at, session, turn, cause }, body as EventBody);
  });
}

describe('the log', () => {
  it('reads back what it wrote, causes in other streams included, one line an event', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const lines = written(log);
        for (const line of lines) expect(line).not.toMatch(/[\n\r]/);
        expect(lines.map((line) => decodeEvent(line, SESSION))).toEqual(log);
      }),
    );
  });

  it.each([
    ['no JSON', '{"v":1,'],
    ['no event', '{"v":1,"seq":1}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['empty', ''],
  ])('a line that is %s is named with its stream', (_, line) => {
    expect(() => decodeEvent(line, SESSION)).toThrow(expect.objectContaining({ code: 'event_unreadable' }));
    expect(() => decodeEvent(line, SESSION)).toThrow(/ses_test/);
  });

  it('an event of a newer form is refused, with its number', () => {
    expect(() =>
      decodeEvent('{"v":99,"seq":7,"at":1,"turn":0,"cause":[0,0],"type":"custom"}', SESSION),
    ).toThrow(/Event 7 .* form 99/);
  });
});

it('logs at random hold every type of event, with every field that it may have', () => {
  const seen = new Map<string, Set<string>>();
  for (const event of fc.sample(arbitraryLog, { numRuns: 2_000, seed: 7 }).flat())
    for (const field of Object.keys(event))
      seen.set(event.type, (seen.get(event.type) ?? new Set()).add(field));
  const missing = Object.entries(EVENT_FIELDS).flatMap(([type, fields]) =>
    fields.filter((field) => seen.get(type)?.has(field) !== true).map((field) => `${type}.${field}`),
  );
  expect(missing).toEqual([]);
});

describe('folding', () => {
  it('goes on from a clone as it would have from the state, which stays as it was', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.nat(), (log, at) => {
        const cut = log.length === 0 ? 0 : at % (log.length + 1);
        const state = fold(log.slice(0, cut));
        const before = structuredClone(state);
        const clone = cloneState(state);
        expect(clone).toEqual(state);
        for (const event of log.slice(cut)) reduceShared(clone, event);
        expect(clone).toEqual(fold(log));
        expect(state).toEqual(before);
        for (const event of log.slice(cut)) reduceShared(state, event);
        expect(state).toEqual(fold(log));
      }),
    );
  });

  it('leaves a state alone that was copied, though faults of its turn name ever more groups', () => {
    const fault = (seq: number): SessionEvent => ({
      seq,
      at: 0,
      session: SESSION,
      turn: 1,
      cause: { stream: SESSION, seq: 0, depth: 1 },
      type: 'fault',
      code: 'bad_json',
      message: 'no',
      groups: [`g${seq}`],
    });
    const faults = Array.from({ length: 20 }, (_, at) => fault(at + 1));
    const state = fold(faults.slice(0, 10));
    const before = structuredClone(state);
    const clone = cloneState(state);
    for (const event of faults.slice(10)) reduceShared(clone, event);
    expect(state).toEqual(before);
  });

  it('gives the same state in any two halves, a written and read log included', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.nat(80), (log, cut) => {
        const whole = fold(log);
        const halves = fold(log.slice(cut), fold(log.slice(0, cut)));
        expect(halves).toEqual(whole);
        expect(fold(written(log).map((line) => decodeEvent(line, SESSION)))).toEqual(whole);
      }),
    );
  });

  it('gives the same state from snapshots in parts and the events behind them', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.integer({ min: 1, max: 20 }), (log, every) => {
        const state = emptyState();
        const snapshots = createSnapshotWriter();
        const parts: string[] = [];
        let through = 0;
        for (const event of log) {
          snapshots.note(reduce(state, event) && event);
          if (snapshots.due() < every) continue;
          parts.push(snapshots.take(state));
          through = event.seq;
        }
        expect(fold(log.slice(through), restoreSnapshot(parts))).toEqual(state);
      }),
    );
  });

  it('a session that is taken up between two snapshots writes what the first writer had not', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.integer({ min: 1, max: 12 }), fc.nat(80), (log, every, cut) => {
        const parts: string[] = [];
        let through = 0;
        const work = (events: readonly SessionEvent[], state: SessionState, writer: SnapshotWriter) => {
          for (const event of events) {
            reduce(state, event);
            writer.note(event);
            if (writer.due() < every) continue;
            parts.push(writer.take(state));
            through = event.seq;
          }
        };
        work(log.slice(0, cut), emptyState(), createSnapshotWriter());
        const state = restoreSnapshot(parts);
        const writer = createSnapshotWriter(state);
        const seen = parts.length;
        for (const event of log.slice(through, cut)) {
          reduce(state, event);
          writer.note(event);
        }
        work(log.slice(cut), state, writer);
        if (parts.length > seen) expect(fold(log.slice(through), restoreSnapshot(parts))).toEqual(fold(log));
      }),
    );
  });

  it('the size of a snapshot does not grow with the turns and actions before the last one', () => {
    const state = emptyState();
    const snapshots = createSnapshotWriter();
    const sizes: number[] = [];
    let seq = 0;
    const next = (body: EventBody, turn: number) => {
      const cause = { stream: SESSION, seq, depth: 0 };
      const event = { seq: ++seq, at: 0, session: SESSION, turn, cause, ...body };
      reduce(state, event);
      snapshots.note(event);
    };
    for (let turn = 1; turn <= 400; turn++) {
      const id = `a${1000 + turn}`;
      next({ type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } }, turn);
      next({ type: 'model.output', offset: 0, text: 'x'.repeat(100) }, turn);
      const action = { id, kind: 'tool', mode: 'async', name: 'shell', parameters: {} } as const;
      next({ type: 'action.declared', action }, turn);
      next({ type: 'action.completed', id, output: 'y'.repeat(100), ms: 1, attempts: 1 }, turn);
      if (turn % 50 === 0) sizes.push(snapshots.take(state).length);
    }
    expect(Math.max(...sizes.slice(1))).toBeLessThan((sizes[1] ?? 0) * 1.05);
  });

  it('a part that is missing is noticed', () => {
    const state = emptyState();
    const snapshots = createSnapshotWriter();
    const parts = [1, 2, 3].map((seq) => {
      const cause = { stream: SESSION, seq: seq - 1, depth: 0 };
      const event = {
        seq,
        at: 0,
        session: SESSION,
        turn: 0,
        cause,
        type: 'custom',
        name: '',
        data: null,
      } as const;
      reduce(state, event);
      snapshots.note(event);
      return snapshots.take(state);
    });
    expect(restoreSnapshot(parts).seq).toBe(3);
    const [first = '', , third = ''] = parts;
    expect(() => restoreSnapshot([first, third])).toThrow(
      expect.objectContaining({ code: 'snapshot_unreadable' }),
    );
  });

  it('a part that cannot be read is refused', () => {
    expect(() => restoreSnapshot(['{'])).toThrow(expect.objectContaining({ code: 'snapshot_unreadable' }));
    expect(() => restoreSnapshot(['{"v":2}'])).toThrow(
      expect.objectContaining({ code: 'snapshot_unreadable' }),
    );
  });
});
