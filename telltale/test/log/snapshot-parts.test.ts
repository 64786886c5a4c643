import { describe, expect, it } from 'vitest';
import type { EventBody, SessionEvent } from '../../src/log/event.ts';
import { fold, reduce } from '../../src/log/reduce.ts';
import { cloneState, createSnapshotWriter, reduceShared, restoreSnapshot } from '../../src/log/snapshot.ts';
import { emptyState } from '../../src/log/state.ts';
import {
  begun,
  declared,
  done,
  FOREACH,
  failed,
  failure,
  SESSION,
  STARTED,
  said,
  TURN,
  TURN_ENDED,
} from './fold-bodies.ts';

/** A bit of everything that comes, changes and goes again. */
const STORY: readonly EventBody[] = [
  { ...STARTED, metadata: { status: 'IDLE' }, vars: { v: 1 } } as EventBody,
  TURN,
  said('Hm.'),
  declared('a', { output_key: 'k' }),
  begun('a'),
  declared('b', { output_key: 'k', kind: 'agent', name: 'helper' }),
  { type: 'child.text', action: 'b', child: { session: 'ses_b', seq: 3 }, event: { text: 'Hm.' } },
  declared('c', FOREACH),
  done('a'),
  { type: 'metadata.changed', changes: { status: { from: 'IDLE', to: 'CODING' } }, by: 'model' },
  TURN_ENDED,
  done('b'),
  { type: 'timer.set', id: 't', due: 9 },
  { type: 'feed.updated', id: 'clock', value: 1, tokens: 1, loaded_at: 1, told: true },
  TURN,
  said('More.'),
  declared('d'),
  declared('e', { on_error: 'fail' }),
  failed('e'),
  { type: 'session.failed', error: failure('x') },
  { type: 'session.resumed', by: 'cli' },
  { type: 'task.given', task: 't', prompt: 'Do it.' },
  TURN,
  { type: 'action.compensated', id: 'a', by: 'x' },
  { type: 'task.over', task: 't' },
  { type: 'metadata.changed', changes: { status: { from: 'CODING', to: null } }, by: 'model' },
  { type: 'prompt.compacted', through: 2, summary: 'S.' },
  said('And more.'),
  TURN_ENDED,
  done('d'),
  { type: 'session.completed', result: 'Done.' },
  { type: 'session.resumed', by: 'cli', chat: true },
  { type: 'message.received', from: 'user', text: 'And?' },
  TURN,
  said('So.'),
];

let turn = 0;
const LOG = STORY.map((body, index) => {
  if (body.type === 'turn.started') turn++;
  const head = { seq: index + 1, at: 1000 + index, session: SESSION, turn };
  return { ...head, cause: { stream: SESSION, seq: index, depth: 1 }, ...body } as SessionEvent;
});

describe('a snapshot', () => {
  it.each([1, 2, 3, 7])('in parts of %i events is the state at each of them', (every) => {
    const state = emptyState();
    const writer = createSnapshotWriter();
    const parts: string[] = [];
    for (const [index, event] of LOG.entries()) {
      writer.note(reduce(state, event) && event);
      expect(writer.due()).toBe((index % every) + 1);
      if (writer.due() < every) continue;
      parts.push(writer.take(state));
      expect(writer.due()).toBe(0);
      expect(restoreSnapshot(parts)).toEqual(fold(LOG.slice(0, index + 1)));
    }
    expect(parts).toHaveLength(Math.floor(LOG.length / every));
  });

  it('is gone on with by whoever takes the session up, wherever that is', () => {
    for (let cut = 1; cut < LOG.length; cut++) {
      const first = createSnapshotWriter();
      for (const event of LOG.slice(0, cut)) first.note(event);
      const parts = [first.take(fold(LOG.slice(0, cut)))];
      const state = restoreSnapshot(parts);
      const writer = createSnapshotWriter(state);
      for (const event of LOG.slice(cut)) writer.note(reduce(state, event) && event);
      parts.push(writer.take(state));
      expect(restoreSnapshot(parts)).toEqual(fold(LOG));
    }
  });

  it('holds an action once, however often it changed, and none that did not', () => {
    const writer = createSnapshotWriter();
    for (const event of LOG) writer.note(event);
    const ids = (JSON.parse(writer.take(fold(LOG))) as { actions: { action: { id: string } }[] }).actions;
    expect(ids.map(({ action }) => action.id)).toEqual(['a', 'b', 'c', 'd', 'e']);
    writer.note(LOG.find(({ type }) => type === 'timer.set') as SessionEvent);
    expect(JSON.parse(writer.take(fold(LOG)))).toMatchObject({ actions: [], outputs: [], called: [] });
  });

  it('from before there were feeds is one without', () => {
    const writer = createSnapshotWriter();
    const { feeds: _, ...part } = JSON.parse(writer.take(emptyState())) as Record<string, unknown>;
    expect(restoreSnapshot([JSON.stringify(part)]).feeds).toEqual(new Map());
  });
});

describe('a clone of a state', () => {
  it('goes on by itself from any event on, and so does what it was made from', () => {
    for (let cut = 0; cut <= LOG.length; cut++) {
      const state = fold(LOG.slice(0, cut));
      const before = structuredClone(state);
      const clone = cloneState(state);
      for (const event of LOG.slice(cut)) reduceShared(clone, event);
      expect(clone).toEqual(fold(LOG));
      expect(state).toEqual(before);
      const second = cloneState(state);
      for (const event of LOG.slice(cut)) reduceShared(state, event);
      expect(second).toEqual(before);
      expect(state).toEqual(clone);
    }
  });
});
