import { added, NONE } from '../../kernel/grow.ts';
import type { ParserEvent } from '../../protocol/intents.ts';

/** What may queue up behind a sync action before the generation is cut. */
const MAX_HELD_CHARS = 4 * 1024 * 1024;

/** Beyond its text, what an event is taken to weigh. */
const EVENT_WEIGHT = 64;

/**
 * Lets parser events through one by one, and holds them back, prose included, while a sync action or the close of a
 * `<parallel>` is waited for. Reading and parsing go on meanwhile.
 */
export interface Gate {
  /** Whether something is held back. */
  held: boolean;
  queue: readonly { readonly event: ParserEvent; readonly consumed: number }[];
  at: number;
  weight: number;
  full: boolean;
  waiting: readonly (() => void)[];
}

export const createGate = (): Gate => ({
  held: false,
  queue: NONE,
  at: 0,
  weight: 0,
  full: false,
  waiting: NONE,
});

/** Keeps an event for later. Returns whether there is too much of it now: once. */
export function queueAt(gate: Gate, event: ParserEvent, consumed: number): boolean {
  gate.queue = added(gate.queue, { event, consumed });
  gate.weight += weigh(event);
  if (gate.weight <= MAX_HELD_CHARS || gate.full) return false;
  gate.full = true;
  return true;
}

/** Holds back all that follows until `release` calls back; then lets it through with `act`, up to the next hold. */
export function holdAt(
  gate: Gate,
  release: (open: () => void) => void,
  act: (event: ParserEvent, consumed: number) => void,
): void {
  gate.held = true;
  let opened = false;
  release(() => {
    if (opened) return;
    opened = true;
    open(gate, act);
  });
}

function open(gate: Gate, act: (event: ParserEvent, consumed: number) => void): void {
  gate.held = false;
  for (let next = gate.queue[gate.at]; next !== undefined && !gate.held; next = gate.queue[gate.at]) {
    gate.at++;
    act(next.event, next.consumed);
  }
  if (gate.held) return;
  gate.queue = NONE;
  gate.at = 0;
  gate.weight = 0;
  const due = gate.waiting;
  gate.waiting = NONE;
  for (const then of due) then();
}

/** Calls back once nothing is held back; at once if nothing is. */
export function whenOpen(gate: Gate, then: () => void): void {
  if (gate.held) gate.waiting = added(gate.waiting, then);
  else then();
}

/** Nothing that it holds back is let through any more, and nobody waits for that. */
export function dropQueue(gate: Gate): void {
  gate.queue = NONE;
  gate.at = 0;
  gate.weight = 0;
  gate.waiting = NONE;
}

function weigh(event: ParserEvent): number {
  if (event.type === 'text' || event.type === 'delta') return event.text.length + EVENT_WEIGHT;
  if (event.type === 'action' || event.type === 'metadata' || event.type === 'foreach')
    return JSON.stringify(event).length;
  return EVENT_WEIGHT;
}
