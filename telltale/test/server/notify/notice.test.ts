import { afterEach, describe, expect, it, vi } from 'vitest';
import { clip, retryAfterMs } from '../../../src/server/notify/channels.ts';
import type { StreamPlace, WatchedEvent } from '../../../src/server/notify/notice.ts';
import { noticeOf } from '../../../src/server/notify/notice.ts';

const error = { code: 'x', message: 'It broke.', retryable: false };
const PLACE = { agent: 'coder', workflow: 'release', isTop: true } as StreamPlace;
const head = { seq: 1, at: 1, turn: 0, cause: { stream: 's', seq: 0, depth: 0 } };

const ofSession = (body: object, place: Partial<StreamPlace> = {}) =>
  noticeOf({ ...head, session: 's', ...body } as unknown as WatchedEvent, { ...PLACE, ...place });
const ofRun = (body: object, place: Partial<StreamPlace> = {}) =>
  noticeOf({ ...head, run: 'r', ...body } as unknown as WatchedEvent, { ...PLACE, ...place });

describe('an event of a session says to people', () => {
  it.each<[type: string, body: object, message: string, data: object, ...more: string[]]>([
    ['session.completed', { result: { n: 1 } }, 'coder is done: {"n":1}', { result: { n: 1 } }],
    ['session.completed', { result: 'All well.' }, 'coder is done: All well.', { result: 'All well.' }],
    [
      'session.failed',
      { error: { ...error, hint: 'Mend it.' } },
      'coder failed: It broke.',
      { error: { ...error, hint: 'Mend it.' } },
    ],
    ['session.stalled', { error }, 'coder has stalled: It broke.', { error }, 'stuck'],
    [
      'session.cancelled',
      { by: 'ann', reason: 'no' },
      'coder was cancelled by ann: no',
      { by: 'ann', reason: 'no' },
    ],
    ['turn.failed', { error }, 'A turn of coder failed: It broke.', { error }],
    [
      'action.failed',
      { id: 'a1', error },
      'The action a1 of coder failed: It broke.',
      { action: 'a1', error },
    ],
  ])('%s', (type, body, message, data, ...more) => {
    expect(ofSession({ type, ...body })).toEqual({ about: [type, ...more], message, data });
    expect(ofSession({ type, ...body }, { isTop: false })).toBeUndefined();
  });

  it('review.requested, also where it was called by another', () => {
    const asked = { review: 'rev', target: 'shell', what: 'rm -r x', because: 'permissions' };
    expect(ofSession({ type: 'review.requested', ...asked }, { isTop: false })).toEqual({
      about: ['review.requested'],
      message: 'coder waits for you: rm -r x',
      data: asked,
    });
  });

  it('nothing, where its run says it, or where it is of another kind', () => {
    for (const type of ['workflow.completed', 'workflow.failed', 'workflow.cancelled'])
      expect(ofSession({ type, run: undefined, workflow: 'w', error })).toBeUndefined();
    expect(ofSession({ type: 'thought', text: 'x' })).toBeUndefined();
    expect(ofSession({ type: 'custom', name: 'other', data: { message: 'x' } })).toBeUndefined();
  });
});

describe('an event of a run says to people', () => {
  it.each<[type: string, body: object, message: string, data: object]>([
    ['workflow.completed', { output: null }, 'The workflow release is done: null', { output: null }],
    ['workflow.failed', { error }, 'The workflow release failed: It broke.', { error }],
    [
      'workflow.cancelled',
      { by: 'ann', reason: 'no' },
      'The workflow release was cancelled by ann: no',
      { by: 'ann', reason: 'no' },
    ],
  ])('%s', (type, body, message, data) => {
    expect(ofRun({ type, ...body })).toEqual({
      about: [type],
      message,
      data: { workflow: 'release', ...data },
    });
    expect(ofRun({ type, ...body }, { isTop: false })).toBeUndefined();
  });

  it('review.requested, with whom it waits for and until when', () => {
    const asked = { review: 'rev', step: 'sure', prompt: 'Sure?', options: ['go', 'stop'] };
    expect(ofRun({ type: 'review.requested', ...asked }, { isTop: false })).toEqual({
      about: ['review.requested'],
      message: 'The workflow release waits for you: Sure?',
      data: { workflow: 'release', ...asked },
    });
    expect(ofRun({ type: 'review.requested', ...asked, assignee: 'ann', due: 99 })).toEqual({
      about: ['review.requested'],
      message: 'The workflow release waits for ann: Sure?',
      data: { workflow: 'release', ...asked, assignee: 'ann', due: 99 },
    });
  });

  it('step.stuck, as "stuck"', () => {
    expect(ofRun({ type: 'step.stuck', step: 'sure', why: 'No claim.' }, { isTop: false })).toEqual({
      about: ['stuck'],
      message: 'The step sure of release is stuck: No claim.',
      data: { workflow: 'release', step: 'sure', why: 'No claim.' },
    });
  });

  it('what a step says, to the channel that it names', () => {
    const said = (data: unknown) => ofRun({ type: 'custom', name: 'notify', data });
    expect(said({ message: 'Hello.', to: 'ops', data: { n: 1 }, workflow: 'release' })).toEqual({
      about: ['notify'],
      message: 'Hello.',
      to: 'ops',
      data: { data: { n: 1 }, workflow: 'release' },
    });
    expect(said({ message: 'Hello.', to: '' })).toEqual({
      about: ['notify'],
      message: 'Hello.',
      data: { data: null },
    });
    for (const none of [null, 'Hello.', { message: 5 }, []]) expect(said(none)).toBeUndefined();
  });
});

describe('what is said is bounded', () => {
  it('by its message, its quotes and what goes with it, each cut at a whole character', () => {
    const long = ofSession({ type: 'session.failed', error: { ...error, message: 'x'.repeat(2_000) } });
    expect(long?.message).toHaveLength(1_000);
    expect(long?.message.endsWith('x…')).toBe(true);
    const quoted = ofSession({ type: 'session.completed', result: 'y'.repeat(2_000) });
    expect(quoted?.message).toBe(`coder is done: ${'y'.repeat(299)}…`);
    expect(ofSession({ type: 'session.completed', result: 'z'.repeat(20_000) })?.data).toEqual({
      left_out: '20013 characters',
    });
    expect(ofSession({ type: 'session.completed', result: 'a\0b' })?.message).toBe('coder is done: a b');
    expect(clip('ab😀c', 4)).toBe('ab…');
    expect(clip('😀abc', 4)).toBe('😀a…');
    expect(clip('abcd', 4)).toBe('abcd');
  });
});

describe('the pause that a receiver asks for', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  const now = Date.parse('2026-01-01T00:00:00Z');
  it.each([
    ['30', 30_000],
    [' 30 ', 30_000],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['soon', 0],
    ['-5', 0],
    ['', 0],
  ])('"%s" is %i ms', (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });

  it('is read as UTC, wherever the machine stands', () => {
    vi.stubEnv('TZ', 'America/New_York');
    expect(new Date(now).getHours()).toBe(19);
    expect(retryAfterMs('Thu Jan  1 00:01:00 2026', now)).toBe(60_000);
  });

  it('is none where nothing is said', () => {
    expect(retryAfterMs(null, now)).toBe(0);
  });
});
