import { describe, expect, it } from 'vitest';
import { resultOf } from '../../../src/agent/children/child-session.ts';
import { copyOf } from '../../../src/agent/children/copy-event.ts';
import { sharedFields, updateFor, valuesOf } from '../../../src/agent/children/shared-metadata.ts';
import type { EventBody, SessionEvent } from '../../../src/log/event.ts';
import { failure } from '../../log/fold-bodies.ts';

describe('the end of a sub-agent', () => {
  const end = (given: object) => () => resultOf('helper', { session: 'ses_a', ...given } as never);

  it('is its result, which may be nothing, up to a mebibyte', () => {
    expect(end({ status: 'completed', result: { a: 1 } })()).toEqual({ a: 1 });
    expect(end({ status: 'completed' })()).toBeNull();
    const quotes = 2;
    const most = 'x'.repeat(1024 * 1024 - quotes);
    expect(end({ status: 'completed', result: most })()).toBe(most);
    expect(end({ status: 'completed', result: `${most}x` })).toThrow(
      expect.objectContaining({ code: 'output_too_large' }),
    );
  });

  it.each([
    ['failed', { error: failure('bad') }, 'agent_failed', 'bad: It went wrong.'],
    ['failed', { error: failure('limit_tokens') }, 'limit_tokens', 'failed: It went wrong.'],
    ['failed', { error: failure('depth_limit') }, 'depth_limit', 'It went wrong.'],
    ['failed', {}, 'agent_failed', 'it says no reason'],
    ['stalled', { error: failure('stalled') }, 'agent_stalled', 'It went wrong.'],
    ['stalled', {}, 'agent_stalled', 'it says no reason'],
    ['cancelled', {}, 'agent_cancelled', 'was cancelled'],
    ['interrupted', {}, 'agent_interrupted', 'before its end.'],
    ['waiting', { error: failure('x') }, 'agent_interrupted', 'before its end: It went wrong.'],
  ])('that is none is an error, with what to do: %s %o', (status, more, code, message) => {
    expect(end({ status, ...more })).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
    if (code !== 'agent_failed' && code !== 'depth_limit')
      expect(end({ status, ...more })).toThrow(expect.objectContaining({ hint: expect.any(String) }));
  });
});

describe('metadata that a sub-agent shares', () => {
  const agent = (fields: object, inherit = 'share') => ({ metadata: { fields, inherit } }) as never;

  it('is the fields that both have, where it says so', () => {
    const parent = agent({ a: {}, b: {} });
    expect([...sharedFields(parent, agent({ b: {}, c: {}, toString: {} }))]).toEqual(['b']);
    for (const inherit of ['none', 'read'])
      expect(sharedFields(parent, agent({ b: {} }, inherit)).size).toBe(0);
    expect(valuesOf({ a: 1, b: 2 }, new Set(['b', 'c']))).toEqual({ b: 2 });
  });

  const parent = agent({
    plain: { type: 'object' },
    deep: { type: 'object', merge: 'deep' },
    text: { type: 'string', merge: 'deep' },
    other: { type: 'string' },
  });
  const update = (changes: object) =>
    updateFor(parent, { changes } as never, new Set(['plain', 'deep', 'text']));

  it('comes back as it is, and nothing of what is its own', () => {
    const change = { from: { a: 1 }, to: { b: 2 } };
    expect(update({ plain: change, other: { from: 1, to: 2 } })).toEqual({ plain: { b: 2 } });
    expect(update({ other: { from: 1, to: 2 } })).toBeUndefined();
    expect(update({ text: { from: 'a', to: 'b' } })).toEqual({ text: 'b' });
  });

  it('comes back as what changed where the caller merges it', () => {
    expect(
      update({
        deep: {
          from: { same: [1], gone: 1, nested: { a: 1, b: 2, c: { d: 1 } }, list: [1] },
          to: { same: [1], nested: { a: 1, b: 3, c: { d: 1 } }, list: [2], fresh: { x: 1 } },
        },
      }),
    ).toEqual({ deep: { gone: null, nested: { b: 3 }, list: [2], fresh: { x: 1 } } });
  });

  it('comes back whole where there was none before, or is none any more', () => {
    expect(update({ deep: { from: null, to: { a: 1 } } })).toEqual({ deep: { a: 1 } });
    expect(update({ deep: { from: { a: 1 }, to: null } })).toEqual({ deep: null });
  });
});

describe('what a caller’s log holds of its sub-agent', () => {
  const copied = (body: object) =>
    copyOf(
      {
        seq: 7,
        at: 1,
        session: 'ses_a',
        turn: 1,
        cause: { stream: 'ses_a', seq: 1, depth: 1 },
        ...(body as EventBody),
      } as SessionEvent,
      'act',
    );
  const OF = { action: 'act', child: { session: 'ses_a', seq: 7 } };
  const USED = { usage: { input: 1, output: 2 }, cost_usd: 0.5 };

  it.each([
    [
      { type: 'turn.failed', error: failure('x'), retry_in: 5, ...USED },
      { type: 'child.turn.failed', ...OF, event: { error: failure('x'), retry_in: 5, ...USED } },
    ],
    [
      { type: 'turn.failed', error: failure('x') },
      { type: 'child.turn.failed', ...OF, event: { error: failure('x') } },
    ],
    [
      { type: 'budget.charged', what: 'turn', amount: 3, balance: 1 },
      { type: 'child.usage', ...OF, charged: 3 },
    ],
    [
      { type: 'child.usage', action: 'x', child: { session: 'ses_b', seq: 1 }, ...USED, charged: 4 },
      { type: 'child.usage', ...OF, ...USED, charged: 4 },
    ],
    [
      { type: 'child.usage', action: 'x', child: { session: 'ses_b', seq: 1 }, charged: 4 },
      { type: 'child.usage', ...OF, charged: 4 },
    ],
    [
      {
        type: 'child.turn.failed',
        action: 'x',
        child: { session: 'ses_b', seq: 1 },
        event: { error: failure('x') },
      },
      undefined,
    ],
    [{ type: 'prompt.compacted', through: 1, summary: 'S.' }, undefined],
    [{ type: 'custom', name: 'other', data: USED }, undefined],
    [{ type: 'metadata.changed', changes: {}, by: 'model' }, undefined],
    [{ type: 'message.received', from: 'user', text: 'x' }, undefined],
  ])('is exactly what was said: %o', (body, copy) => {
    expect(copied(body)).toEqual(copy);
  });

  it('is the beginning and the end of what is long: of a value as text, of an error in its message', () => {
    const long = `${'a'.repeat(12_288)}${'b'.repeat(100)}${'c'.repeat(4_096)}`;
    const done = (output: unknown) =>
      copied({ type: 'action.completed', id: 'a', output, ms: 1, attempts: 1 });
    const cut = `${'a'.repeat(12_288)}\n… 100 characters left out …\n${'c'.repeat(4_096)}`;
    expect(done(long)).toMatchObject({ event: { output: cut } });
    expect(done({ long })).toMatchObject({
      event: { output: expect.stringContaining('characters left out') },
    });
    expect(done({ a: 1 })).toMatchObject({ event: { output: { a: 1 } } });
    expect(done(null)).toMatchObject({ event: { output: null } });
    expect(
      copied({
        type: 'action.failed',
        id: 'a',
        error: { ...failure('x'), message: long },
        ms: 1,
        attempts: 1,
      }),
    ).toMatchObject({ event: { error: { code: 'x', message: cut } } });
  });
});
