import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import type { EventBody } from '../../src/log/event.ts';
import { createFolding, failure, folded, STARTED, said, TURN } from './fold-bodies.ts';

const changed = (to: Json, by = 'model', more: object = {}): EventBody =>
  ({ type: 'metadata.changed', changes: { status: { from: null, to } }, by, ...more }) as EventBody;
const NO_CHANGE: EventBody = { type: 'metadata.changed', changes: {}, by: 'model' };
const rejected = (by: string): EventBody => ({
  type: 'metadata.rejected',
  errors: [{ field: 'status', code: 'not_allowed', sent: 1, message: 'No.', allowed: 'A' }],
  by,
});
const set = (from: Json, to: Json, by = 'model', name = 'v'): EventBody => ({
  type: 'variable.changed',
  name,
  class: 'runtime',
  from,
  to,
  by,
});
const TASK: EventBody = { type: 'task.given', task: 't', prompt: 'Do it.' };

describe('metadata', () => {
  it('is what it was last set to; null sets a field back to nothing', () => {
    expect(folded(STARTED, changed('A'), changed('B')).metadata).toEqual({ status: 'B' });
    expect(folded(STARTED, changed('A'), changed(null)).metadata).toEqual({});
  });

  it('of one session is not that of another that began as empty', () => {
    folded(STARTED, changed('A'));
    expect(folded(STARTED).metadata).toEqual({});
  });

  it('is news once, however often a field changes', () => {
    expect(folded(STARTED, TURN, changed('A'), changed('B')).news.changed).toEqual(['status']);
  });

  it.each([
    ['the model', changed('A'), { tags: true, deeds: true }, 1],
    ['the model, to what it was', NO_CHANGE, { tags: false, deeds: false }, 1],
    ['a sub-agent', changed('A', 'child:helper'), { tags: false, deeds: false }, 1],
    ['a run', changed('A', 'workflow:docs', { run: 'run_a' }), { tags: false, deeds: false }, 1],
    ['another session', changed('A', 'seed'), { tags: false, deeds: false }, 0],
  ] as [string, EventBody, object, number][])(
    'that %s sets counts as an update, and as a deed of the model only where it is one',
    (_who, event, signs, updates) => {
      const state = folded(STARTED, TURN, event);
      expect(state.signs).toMatchObject(signs);
      expect(state.metadataUpdates).toBe(updates);
    },
  );

  it('that was refused is told to the model that sent it, and to no other', () => {
    expect(folded(STARTED, TURN, rejected('model'))).toMatchObject({
      signs: { tags: true, deeds: false },
      news: { rejected: [{ field: 'status' }] },
    });
    for (const by of ['child:helper', 'workflow:docs'])
      expect(folded(STARTED, TURN, rejected(by))).toMatchObject({
        signs: { tags: false },
        news: { rejected: [] },
      });
  });

  it.each([
    ['metadata', NO_CHANGE],
    ['metadata that was refused', rejected('model')],
    ['a variable', set(null, 1)],
  ])('or a variable that a turn set last is known to be set: %s', (_what, event) => {
    expect(folded(STARTED, TURN, said('x')).signs.unset).toBe(true);
    expect(folded(STARTED, TURN, said('x'), event).signs.unset).toBe(false);
    expect(folded(STARTED, TURN, said('x'), rejected('child:helper')).signs.unset).toBe(true);
  });
});

describe('a variable', () => {
  it('is what it was last set to, by whom', () => {
    expect(folded(STARTED, set(null, 1), set(1, [2], 'workflow:docs')).variables.get('v')).toEqual({
      value: [2],
      class: 'runtime',
      by: 'workflow:docs',
    });
  });

  it('is news where it is another than before, once', () => {
    const log = createFolding();
    log.fold(STARTED, TURN, set(null, 1), set(1, 2), set(null, 1, 'model', 'w'), set(1, 2, 'model', 'w'));
    expect(log.state.news.variables).toEqual(['v', 'w']);
    log.fold(TURN, set(2, 2), set({ a: 1 }, { a: 1 }));
    expect(log.state.news.variables).toBeUndefined();
    expect(log.state.signs).toMatchObject({ tags: false, deeds: false });
    expect(log.fold(set({ a: 1 }, { a: 2 })).news.variables).toEqual(['v']);
  });

  it('is news when it is set for the first time, also to nothing', () => {
    expect(folded(STARTED, TURN, set(null, null)).news.variables).toEqual(['v']);
  });

  it('counts as a deed where the model set it, and as an update where nobody had kept it', () => {
    expect(folded(STARTED, TURN, set(null, 1))).toMatchObject({
      signs: { tags: true, deeds: true },
      variableUpdates: 1,
    });
    expect(folded(STARTED, TURN, set(null, 1, 'workflow:docs'))).toMatchObject({
      signs: { tags: false, deeds: false },
      variableUpdates: 1,
    });
    expect(folded(STARTED, TURN, set(null, 1, 'seed')).variableUpdates).toBe(0);
  });

  it.each([
    ['metadata', changed('A'), true],
    ['a variable', set(null, 1), true],
    ['metadata of a sub-agent', changed('A', 'child:helper'), false],
    ['metadata of another session', changed('A', 'seed'), false],
    ['a variable of a run', set(null, 1, 'workflow:docs'), false],
  ])('that is set, or a field, is something new for the task in hand: %s', (_what, event, fresh) => {
    expect(folded(STARTED, TASK, TURN, event).task?.fresh).toBe(fresh);
  });
});

describe('a feed', () => {
  const id = 'clock';
  const updated = (value: string, more: object = {}): EventBody =>
    ({ type: 'feed.updated', id, value, tokens: 5, loaded_at: 1_500, ...more }) as EventBody;
  const lost = (times: number, more: object = {}): EventBody =>
    ({ type: 'feed.failed', id, error: failure('x'), times, ...more }) as EventBody;
  const told = { told: true };

  it('has the last value, for the coming turn, and is told where that is said', () => {
    const { feeds, news } = folded(STARTED, TURN, updated('a', { ...told, truncated: 3 }), updated('b'));
    expect(feeds.get(id)).toEqual({
      id,
      last: { value: 'b', tokens: 5, loadedAt: 1_500, seq: 4, turn: 2 },
      shown: { turn: 2, news: { id, kind: 'value', value: 'a', ageMs: 1_500, truncated: 3 } },
    });
    expect(news.feeds).toHaveLength(1);
  });

  it('says once, and last, what there is to say', () => {
    const { news } = folded(
      STARTED,
      updated('a', told),
      { ...updated('z', told), id: 'other' } as EventBody,
      updated('b', told),
    );
    expect(news.feeds).toMatchObject([
      { id: 'other', value: 'z' },
      { id, value: 'b' },
    ]);
  });

  it('that fails keeps its value, and knows since when; the next value ends that', () => {
    const log = createFolding();
    log.fold(STARTED, updated('a'), lost(1), lost(2, told));
    expect(log.state.feeds.get(id)).toMatchObject({
      last: { value: 'a' },
      failing: { times: 2, since: 3_000 },
      shown: { turn: 1, news: { kind: 'failed', ageMs: 2_500 } },
    });
    const { failing, shown } = log.fold(updated('b')).feeds.get(id) ?? {};
    expect(failing).toBeUndefined();
    expect(shown).toMatchObject({ news: { kind: 'failed' } });
    expect(folded(STARTED, lost(1, told)).news.feeds).toEqual([{ id, kind: 'failed', error: failure('x') }]);
    expect(folded(STARTED, updated('a', told), lost(1)).feeds.get(id)?.shown?.news.kind).toBe('value');
  });

  it('from a clock that is ahead is no younger than new', () => {
    expect(folded(STARTED, updated('a', { ...told, loaded_at: 99_000 })).news.feeds).toMatchObject([
      { ageMs: 0 },
    ]);
    expect(folded(STARTED, updated('a', { loaded_at: 99_000 }), lost(1, told)).news.feeds).toMatchObject([
      { ageMs: 0 },
    ]);
  });

  it('that is defined anew is another: nothing of the old one counts', () => {
    const feed = { id, source: { type: 'metadata' } };
    const { feeds } = folded(STARTED, updated('a', told), { type: 'feed.added', id, feed, by: 'model' });
    expect(feeds.get(id)).toEqual({ id, definition: feed, by: 'model' });
  });

  it('that is removed is gone, with what there was to say of it; one of the manifest is known to be away', () => {
    const removed = { type: 'feed.removed', id, by: 'model' } as const;
    const other = { ...updated('z', told), id: 'other' } as EventBody;
    const own = folded(STARTED, updated('a', told), other, removed);
    expect([...own.feeds.keys()]).toEqual(['other']);
    expect(own.news.feeds).toMatchObject([{ id: 'other' }]);
    expect(folded(STARTED, updated('a'), { ...removed, declared: true }).feeds.get(id)).toEqual({
      id,
      removed: true,
    });
  });

  it('that is a part of the prompt is left out once, and shown again', () => {
    const off = { type: 'feed.removed', id: 'builtin:results', by: 'model' } as const;
    const on = { type: 'feed.added', id: 'builtin:results', by: 'model' } as const;
    const news = { type: 'feed.removed', id: 'builtin:news', by: 'model' } as const;
    expect(folded(STARTED, off, off, news).off).toEqual(['builtin:results', 'builtin:news']);
    expect(folded(STARTED, off, news, on).off).toEqual(['builtin:news']);
    expect(folded(STARTED, off).feeds.size).toBe(0);
  });

  it('is shown again behind a summary as far as there is room, and else says that there is none', () => {
    const one = (name: string, tokens: number) => ({ ...updated(name, told), id: name, tokens }) as EventBody;
    const compacted = (more: object): EventBody =>
      ({ type: 'prompt.compacted', through: 1, summary: 'S.', ...more }) as EventBody;
    const before = [STARTED, one('a', 6), one('b', 5), one('c', 4), TURN, one('late', 1), TURN];
    const shown = (feed_tokens: number) =>
      folded(...before, compacted({ feed_tokens })).compaction?.feeds?.map((news) => [
        news.id,
        news.kind === 'value' ? news.value : news.error.code,
      ]);
    expect(shown(10)).toEqual([
      ['a', 'a'],
      ['b', 'feed_no_room'],
      ['c', 'c'],
    ]);
    expect(shown(11)).toEqual([
      ['a', 'a'],
      ['b', 'b'],
      ['c', 'feed_no_room'],
    ]);
    expect(folded(...before, compacted({})).compaction?.feeds).toHaveLength(3);
    expect(folded(STARTED, updated('a'), TURN, compacted({})).compaction?.feeds).toBeUndefined();
    const { feeds } = folded(...before, compacted({ feed_tokens: 10 }));
    expect(feeds.get('b')?.shown?.news.kind).toBe('failed');
    expect(feeds.get('c')?.shown?.news.kind).toBe('value');
  });
});
