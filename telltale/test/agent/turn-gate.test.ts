import { describe, expect, it } from 'vitest';
import { createGate, dropQueue, holdAt, queueAt, whenOpen } from '../../src/agent/turn/active-turn.ts';
import type { ParserEvent } from '../../src/parser/intents.ts';

const MIB = 1024 * 1024;
const text = (length: number): ParserEvent => ({ type: 'text', text: 'x'.repeat(length) });

describe('what queues up behind a sync action', () => {
  it('may be 4 MiB, an event counting 64 characters beyond its text, and is too much once', () => {
    const gate = createGate();
    expect(queueAt(gate, text(4 * MIB - 64), 1)).toBe(false);
    expect(queueAt(gate, { type: 'fault', code: 'x', message: 'y'.repeat(99) } as never, 2)).toBe(true);
    expect(queueAt(gate, text(1), 3)).toBe(false);
    const deltas = createGate();
    expect(queueAt(deltas, { type: 'delta', tag: 'thought', text: 'x'.repeat(4 * MIB - 63) }, 1)).toBe(true);
  });

  it('counts of an action all that is in it', () => {
    const action = (content: string) =>
      ({ type: 'action', id: 'a', parameters: { content } }) as unknown as ParserEvent;
    const bare = JSON.stringify(action('')).length;
    expect(queueAt(createGate(), action('x'.repeat(4 * MIB - bare)), 1)).toBe(false);
    expect(queueAt(createGate(), action('x'.repeat(4 * MIB - bare + 1)), 1)).toBe(true);
  });

  it('is let through in order, up to the next that holds, and weighs nothing from then on', () => {
    const gate = createGate();
    const seen: number[] = [];
    const told: string[] = [];
    const opened: (() => void)[] = [];
    const act = (_: ParserEvent, consumed: number) => {
      seen.push(consumed);
      if (consumed === 2) holdAt(gate, (open) => opened.push(open), act);
    };
    holdAt(gate, (open) => opened.push(open), act);
    for (const consumed of [1, 2, 3]) queueAt(gate, text(MIB), consumed);
    whenOpen(gate, () => told.push('open'));
    opened[0]?.();
    expect([seen, told]).toEqual([[1, 2], []]);
    opened[0]?.();
    expect(seen).toEqual([1, 2]);
    opened[1]?.();
    expect([seen, told]).toEqual([[1, 2, 3], ['open']]);
    expect(queueAt(gate, text(4 * MIB - 64), 4)).toBe(false);
  });

  it('is gone, and nobody is told, once it is dropped', () => {
    const gate = createGate();
    let release = () => {};
    holdAt(
      gate,
      (open) => {
        release = open;
      },
      () => expect.unreachable(),
    );
    queueAt(gate, text(1), 1);
    whenOpen(gate, () => expect.unreachable());
    dropQueue(gate);
    release();
    expect(gate.held).toBe(false);
  });
});
