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
  /** `consumed`: how far the stream had been read when the event came. */
  pass(event: ParserEvent, consumed: number): void;
  /** Holds back all that follows until `release` calls back. */
  hold(release: (open: () => void) => void): void;
  /** Whether something is held back. */
  readonly held: boolean;
  /** Calls back once nothing is; at once if nothing is. */
  whenOpen(then: () => void): void;
}

export function createGate(act: (event: ParserEvent, consumed: number) => void, onFull: () => void): Gate {
  let queue: { readonly event: ParserEvent; readonly consumed: number }[] = [];
  let at = 0;
  let weight = 0;
  let full = false;
  let waiting: (() => void)[] = [];

  const open = () => {
    gate.held = false;
    for (let next = queue[at]; next !== undefined && !gate.held; next = queue[at]) {
      at++;
      act(next.event, next.consumed);
    }
    if (gate.held) return;
    queue = [];
    at = 0;
    weight = 0;
    const due = waiting;
    waiting = [];
    for (const then of due) then();
  };

  const gate = {
    held: false,
    pass(event: ParserEvent, consumed: number) {
      if (!gate.held) {
        act(event, consumed);
        return;
      }
      queue.push({ event, consumed });
      weight += weigh(event);
      if (weight <= MAX_HELD_CHARS || full) return;
      full = true;
      onFull();
    },
    hold(release: (open: () => void) => void) {
      gate.held = true;
      let opened = false;
      release(() => {
        if (opened) return;
        opened = true;
        open();
      });
    },
    whenOpen(then: () => void) {
      if (gate.held) waiting.push(then);
      else then();
    },
  };
  return gate;
}

function weigh(event: ParserEvent): number {
  if (event.type === 'text' || event.type === 'delta') return event.text.length + EVENT_WEIGHT;
  if (event.type === 'action' || event.type === 'metadata' || event.type === 'foreach')
    return JSON.stringify(event).length;
  return EVENT_WEIGHT;
}
