import { describe, expect, it } from 'vitest';
import {
  createHoldBuffer,
  dropHeldEvents,
  holdEvent,
  holdUntil,
  whenReleased,
} from '../../src/agent/turn/active-turn.ts';
import type { ParserEvent } from '../../src/parser/intents.ts';

const MIB = 1024 * 1024;
const text = (length: number): ParserEvent => ({ type: 'text', text: 'x'.repeat(length) });

describe('what queues up behind a sync action', () => {
  it('may be 4 MiB, an event counting 64 characters beyond its text, and is too much once', () => {
    const gate = createHoldBuffer();
    expect(holdEvent(gate, text(4 * MIB - 64), 1)).toBe(false);
    expect(holdEvent(gate, { type: 'fault', code: 'x', message: 'y'.repeat(99) } as never, 2)).toBe(true);
    expect(holdEvent(gate, text(1), 3)).toBe(false);
    const deltas = createHoldBuffer();
    expect(holdEvent(deltas, { type: 'delta', tag: 'thought', text: 'x'.repeat(4 * MIB - 63) }, 1)).toBe(
      true,
    );
  });

  it('counts of an action all that is in it', () => {
    const action = (content: string) =>
      ({ type: 'action', id: 'a', parameters: { content } }) as unknown as ParserEvent;
    const bare = JSON.stringify(action('')).length;
    expect(holdEvent(createHoldBuffer(), action('x'.repeat(4 * MIB - bare)), 1)).toBe(false);
    expect(holdEvent(createHoldBuffer(), action('x'.repeat(4 * MIB - bare + 1)), 1)).toBe(true);
  });

  it('is let through in order, up to the next that holds, and weighs nothing from then on', () => {
    const gate = createHoldBuffer();
    const seen: number[] = [];
    const told: string[] = [];
    const opened: (() => void)[] = [];
    const act = (_: ParserEvent, consumed: number) => {
      seen.push(consumed);
      if (consumed === 2) holdUntil(gate, (open) => opened.push(open), act);
    };
    holdUntil(gate, (open) => opened.push(open), act);
    for (const consumed of [1, 2, 3]) holdEvent(gate, text(MIB), consumed);
    whenReleased(gate, () => told.push('open'));
    opened[0]?.();
    expect([seen, told]).toEqual([[1, 2], []]);
    opened[0]?.();
    expect(seen).toEqual([1, 2]);
    opened[1]?.();
    expect([seen, told]).toEqual([[1, 2, 3], ['open']]);
    expect(holdEvent(gate, text(4 * MIB - 64), 4)).toBe(false);
  });

  it('is gone, and nobody is told, once it is dropped', () => {
    const gate = createHoldBuffer();
    let release = () => {};
    holdUntil(
      gate,
      (open) => {
        release = open;
      },
      () => expect.unreachable(),
    );
    holdEvent(gate, text(1), 1);
    whenReleased(gate, () => expect.unreachable());
    dropHeldEvents(gate);
    release();
    expect(gate.held).toBe(false);
  });
});
