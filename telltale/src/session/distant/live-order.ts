import type { ObservedEvent, SessionEvent } from '../../events/event.ts';
import type { LiveEvent } from '../../events/live-event.ts';
import type { OpenSpeech } from '../speech.ts';
import type { LiveItem, LiveMessage } from './live-message.ts';

/**
 * Brings what is read from a session's log and what its worker tells over the wire into one order: that in which it came
 * about. Pure but for its own memory: it neither reads nor waits.
 *
 * While a worker is heard, a durable event is told once that worker has said that everything live before it was told.
 */
export interface LiveOrder {
  /** The last durable event that was told. */
  readonly head: number;
  /** Whether a worker is heard. */
  readonly isHearing: boolean;
  /** Whether durable events were read that wait for the worker's word. */
  readonly holds: boolean;
  /** How many durable events were read and not told yet. */
  readonly ahead: number;
  /** Whether the worker has told of durable events that were not read. */
  readonly lacks: boolean;
  /** Durable events, in the order of the log, the first behind `head + ahead`. */
  read(events: readonly SessionEvent[]): void;
  /**
   * `lost`: messages are missing, and the worker is not listened to any more. `late`: it tells what is open, but the log has
   * been told beyond that place.
   */
  hear(message: LiveMessage): 'taken' | 'lost' | 'late' | 'idle';
  /** Listens to the worker no more: what it told and stands further on is dropped, and durable events wait for nothing. */
  deafen(): void;
  /** Whether somebody waits to be told what is open. */
  readonly isAsked: boolean;
  /** Tells what is open of the session's speech when the worker says so next. Dropped where it is not listened to any more. */
  onSpeech(told: (open: OpenSpeech | undefined) => void): void;
}

export interface LiveOrderDeps {
  /** In order. */
  readonly tell: (event: ObservedEvent) => void;
  /** From here on a worker is heard: what is open stands for all deltas before it, whoever told them. */
  readonly begin: (open: OpenSpeech | undefined) => void;
}

/** Items that wait for durable events to be read; with more, the worker is not listened to any more. */
const MAX_ITEMS = 4_096;
const MAX_CHARS = 4_194_304;
/** Those who wait to be told what is open. */
const MAX_ASKERS = 8_192;

export function createLiveOrder(after: number, { tell, begin }: LiveOrderDeps): LiveOrder {
  const events: SessionEvent[] = [];
  let items: LiveItem[] = [];
  let chars = 0;
  let worker: { readonly by: string; next: number; isNew: boolean } | undefined;
  /** What is open, as far as it was told. */
  let opening:
    | { readonly turn: number | undefined; readonly thoughts: Thought[]; response: string }
    | undefined;
  let askers: ((open: OpenSpeech | undefined) => void)[] = [];
  let isStepping = false;

  const deafen = () => {
    worker = undefined;
    items = [];
    chars = 0;
    opening = undefined;
    askers = [];
    step();
  };

  /** The last durable event that the worker has told of. */
  const reached = (): number =>
    items.reduce((seq, item) => (item.kind === 'durable' ? Math.max(seq, item.seq) : seq), order.head);

  const tellNext = () => {
    const event = events.shift() as SessionEvent;
    order.head = event.seq;
    tell(event);
  };

  const takeItem = (item: Exclude<LiveItem, { kind: 'durable' }>) => {
    switch (item.kind) {
      case 'live':
        if (opening === undefined) tell(item.event);
        else grow(opening, item.event);
        return;
      case 'open':
        opening = { turn: item.turn, thoughts: [], response: '' };
        return;
      case 'opened':
        return opened();
      case 'left':
        return deafen();
    }
  };

  const opened = () => {
    if (opening === undefined || worker === undefined) return;
    const { turn, thoughts, response } = opening;
    const open = turn === undefined ? undefined : { turn, thoughts, response };
    const { isNew } = worker;
    const asked = askers;
    worker.isNew = false;
    opening = undefined;
    askers = [];
    if (isNew) begin(open);
    else for (const told of asked) told(open);
  };

  /** Whether something was told. */
  const stepOnce = (): boolean => {
    const item = items[0];
    if (item?.kind === 'durable') {
      if (item.seq <= order.head) items.shift();
      else if (events.length > 0) tellNext();
      else return false;
      return true;
    }
    if (item !== undefined) {
      items.shift();
      if (item.kind === 'live') chars -= lengthOf(item.event);
      takeItem(item);
      return true;
    }
    if (events.length === 0) return false;
    if (worker !== undefined) {
      // Another one has gone on with it since: what this one said last is cut off there.
      if (!events.some(({ type }) => type === 'session.resumed')) return false;
      deafen();
    }
    tellNext();
    return true;
  };

  const look = () => {
    const [item] = items;
    order.isHearing = worker !== undefined;
    order.ahead = events.length;
    order.isAsked = askers.length > 0;
    order.holds = worker !== undefined && events.length > 0;
    order.lacks = item?.kind === 'durable' && item.seq > order.head + events.length;
  };

  const step = () => {
    if (isStepping) return; // whoever is told may say something
    isStepping = true;
    try {
      while (stepOnce());
    } finally {
      isStepping = false;
      look();
    }
  };

  const queue = (more: readonly LiveItem[]): 'taken' | 'lost' => {
    for (const item of more) {
      items.push(item);
      if (item.kind === 'live') chars += lengthOf(item.event);
    }
    step();
    if (items.length <= MAX_ITEMS && chars <= MAX_CHARS) return 'taken';
    deafen();
    return 'lost';
  };

  const order: { -readonly [Key in keyof LiveOrder]: LiveOrder[Key] } = {
    head: after,
    isHearing: false,
    holds: false,
    ahead: 0,
    lacks: false,
    isAsked: false,
    read(more) {
      for (const event of more) events.push(event);
      step();
    },
    hear({ by, n, behind, items: told }) {
      if (worker?.by === by) {
        if (n < worker.next) return 'idle';
        if (n === worker.next) {
          worker.next++;
          return queue(told);
        }
        deafen();
        return 'lost';
      }
      const at = told.findIndex(({ kind }) => kind === 'open');
      if (at === -1) return 'idle';
      const place = told
        .slice(0, at)
        .reduce((seq, item) => (item.kind === 'durable' ? item.seq : seq), behind);
      // Its place was passed without it; or it comes from one that has lost the session, and does not know.
      if (place < reached()) return worker === undefined ? 'late' : 'idle';
      if (worker !== undefined) deafen();
      worker = { by, next: n + 1, isNew: true };
      return queue([{ kind: 'durable', seq: place }, ...told.slice(at)]);
    },
    deafen,
    onSpeech(told) {
      if (worker !== undefined && !worker.isNew && askers.length < MAX_ASKERS) askers.push(told);
      order.isAsked = askers.length > 0;
    },
  };
  return order;
}

interface Thought {
  readonly depth: number;
  text: string;
}

function grow(opening: { readonly thoughts: Thought[]; response: string }, event: LiveEvent): void {
  if (event.type === 'response.delta') opening.response += event.text;
  if (event.type !== 'thought.delta') return;
  const last = opening.thoughts.at(-1);
  if (last?.depth === event.depth) last.text += event.text;
  else opening.thoughts.push({ depth: event.depth, text: event.text });
}

const lengthOf = (event: LiveEvent): number => (event.type === 'action.progress' ? 0 : event.text.length);
