import type { Clock } from '../../lib/clock.ts';
import { decodeEvent } from '../../log/codec.ts';
import type { LiveEvent, ObservedEvent, SessionEvent } from '../../log/event.ts';
import type { LiveWire } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import { type OpenSpeech, speakerIn } from '../speech.ts';
import { ASKS, askText, channelOf, decodeMessage, type LiveItem, type LiveMessage } from './live-channel.ts';

/** Callbacks of a follower of a session that another process, or nobody, works on. */
export interface RemoteListener {
  /**
   * Called with each durable event once and in order, and with live events at their positions, if they
   * arrive.
   */
  readonly onEvent: (event: ObservedEvent) => void;
  /** Called with the open speech whenever live events start again. It replaces all earlier deltas. */
  readonly onOpenSpeech: (open: OpenSpeech | undefined) => void;
  /** The log may have grown, or this process may have resumed the session. */
  readonly moved?: () => void;
  /** The log could not be read. It is read again when it changes. */
  readonly onFailure: (thrown: unknown) => void;
}

export interface FollowRemoteDeps {
  readonly store: Pick<Store, 'watch'>;
  /** Reads one page of the session's log from that event on. */
  readonly page: (from: number) => Promise<readonly string[]>;
  /** Absent for a store of one machine. Then there are no live events. */
  readonly live: LiveWire | undefined;
  readonly clock: Clock;
}

export interface RemoteFollow {
  /**
   * Requests the open speech at the current position. Does nothing without a worker, because `onOpenSpeech`
   * is called once one is connected.
   */
  speech(onEvent: (open: OpenSpeech | undefined) => void): void;
  close(): void;
}

/** How long a durable event waits for live events before it. */
const HOLD_MS = 500;
/** The delay before live events are requested again without an answer. It doubles each time. */
const ASK_MS = 100;
const MAX_ASK_MS = 5_000;
/** How many requests are repeated by time alone. The next one comes when the log changes. */
const MAX_ASKS = 6;
/** Events that wait in memory. Later ones are read after these were delivered. */
const MAX_AHEAD = 2_000;

/** Events after which a new worker may work on the session. */
const BEGINNINGS: ReadonlySet<ObservedEvent['type']> = new Set([
  ...(['session.started', 'session.resumed', 'turn.started'] as const),
]);

/** Follows the log of a session, and its live events if there are any. */
export function followRemote(
  { store, page, live, clock }: FollowRemoteDeps,
  session: string,
  after: number,
  { onEvent, onOpenSpeech, moved, onFailure }: RemoteListener,
): RemoteFollow {
  let isReading = false;
  let mayHaveMoved = false;
  let isClosed = false;
  let asks = 0;
  let askedAt = Number.NEGATIVE_INFINITY;
  let stopAsking: (() => void) | undefined;
  let stopHolding: (() => void) | undefined;

  const order = createLiveOrder(after, {
    tell(event) {
      if (BEGINNINGS.has(event.type)) asks = 0;
      if (!isClosed) onEvent(event);
    },
    begin(open) {
      stopAsking?.();
      asks = 0;
      if (!isClosed) onOpenSpeech(open);
    },
  });

  const ask = () => {
    stopAsking?.();
    if (live === undefined || isClosed) return;
    askedAt = clock.monotonic();
    live.send(ASKS, askText({ kind: 'session', session }));
    const delay = Math.min(MAX_ASK_MS, ASK_MS * 2 ** asks);
    if (asks++ < MAX_ASKS)
      stopAsking = clock.after(delay, () => {
        if (!order.isConnected || order.isAsked) ask();
      });
  };
  /** The log has grown, so a worker may have missed the request. */
  const askAgain = () => {
    if (order.isConnected || live === undefined) return;
    if (clock.monotonic() - askedAt >= Math.min(MAX_ASK_MS, ASK_MS * 2 ** asks)) ask();
  };

  const hold = () => {
    if (!order.holds) {
      stopHolding?.();
      stopHolding = undefined;
      return;
    }
    const { head } = order;
    stopHolding ??= clock.after(HOLD_MS, () => {
      stopHolding = undefined;
      if (order.holds && order.head === head) {
        order.disconnect();
        ask();
      }
      settle();
    });
  };

  const settle = () => {
    if (isClosed) return;
    hold();
    if (order.lacks || (mayHaveMoved && order.ahead === 0)) read();
  };

  const readOn = async () => {
    isReading = true;
    try {
      while (!isClosed && order.ahead < MAX_AHEAD) {
        mayHaveMoved = false;
        const lines = await page(order.head + order.ahead + 1);
        if (isClosed) return;
        if (lines.length > 0) mayHaveMoved = true;
        else if (!mayHaveMoved) break;
        order.read(lines.map((line) => decodeEvent(line, session)));
        hold();
      }
    } catch (thrown) {
      if (!isClosed) onFailure(thrown);
    } finally {
      isReading = false;
    }
    if (!isClosed) askAgain();
  };
  const read = () => {
    mayHaveMoved = true;
    if (!isReading && !isClosed) void readOn(); // reports its own failures
  };

  const unlisten = live?.listen(channelOf(session), {
    heard(text) {
      const message = decodeMessage(text, session);
      if (message === undefined || isClosed) return;
      const heard = order.receive(message);
      if (heard === 'lost') ask();
      else if (heard === 'late') askAgain();
      settle();
    },
    gap() {
      order.disconnect();
      asks = 0;
      ask();
      settle();
    },
  });
  const unwatch = store.watch(session, () => {
    moved?.();
    read();
  });
  ask();
  read();

  return {
    speech(asker) {
      if (!order.isConnected) return;
      const wasAsked = order.isAsked;
      order.onSpeech(asker);
      if (wasAsked || !order.isAsked) return; // concurrent requests get the same answer
      asks = 0;
      ask();
    },
    close() {
      isClosed = true;
      unlisten?.();
      unwatch();
      stopAsking?.();
      stopHolding?.();
    },
  };
}

/**
 * Merges events from a session's log and live events from its worker into their original order. It only keeps
 * state and does no I/O. While a worker is connected, a durable event is delivered once the worker says that
 * all live events before it were sent.
 */
export interface LiveOrder {
  /** The last durable event that was delivered. */
  readonly head: number;
  /** Whether a worker is connected. */
  readonly isConnected: boolean;
  /** Whether durable events wait for the worker. */
  readonly holds: boolean;
  /** How many durable events were read and not delivered yet. */
  readonly ahead: number;
  /** Whether the worker has announced durable events that were not read yet. */
  readonly lacks: boolean;
  /** Adds durable events in log order, starting after `head + ahead`. */
  read(events: readonly SessionEvent[]): void;
  /**
   * Adds a message of a worker. `lost`: messages are missing, so the worker was disconnected. `late`: the
   * message starts with open speech, but the log was delivered beyond that position.
   */
  receive(message: LiveMessage): 'taken' | 'lost' | 'late' | 'idle';
  /** Disconnects the worker. Its pending live events are dropped, and durable events wait no longer. */
  disconnect(): void;
  /** Whether somebody waits for the open speech. */
  readonly isAsked: boolean;
  /** Calls back with the open speech when the worker sends it next. Dropped if the worker is disconnected. */
  onSpeech(onEvent: (open: OpenSpeech | undefined) => void): void;
}

export interface LiveOrderDeps {
  /** Delivers an event, in order. */
  readonly tell: (event: ObservedEvent) => void;
  /** A worker is connected. The open speech replaces all earlier deltas. */
  readonly begin: (open: OpenSpeech | undefined) => void;
}

/** Items that may wait for durable events. With more, the worker is disconnected. */
const MAX_ITEMS = 4_096;
const MAX_CHARS = 4_194_304;
/** Callers that may wait for the open speech. */
const MAX_ASKERS = 8_192;

export function createLiveOrder(after: number, { tell, begin }: LiveOrderDeps): LiveOrder {
  const events: SessionEvent[] = [];
  let items: LiveItem[] = [];
  let chars = 0;
  let worker: { readonly by: string; next: number; isNew: boolean } | undefined;
  /** The open speech, as far as it has arrived. */
  let opening:
    | { readonly turn: number | undefined; readonly thoughts: Thought[]; response: string; speaker?: string }
    | undefined;
  let askers: ((open: OpenSpeech | undefined) => void)[] = [];
  let isStepping = false;

  const disconnect = () => {
    worker = undefined;
    items = [];
    chars = 0;
    opening = undefined;
    askers = [];
    step();
  };

  /** The last durable event that the worker has announced. */
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
        return disconnect();
    }
  };

  const opened = () => {
    if (opening === undefined || worker === undefined) return;
    const { turn, thoughts, response } = opening;
    const open = turn === undefined ? undefined : { turn, thoughts, response, ...speakerIn(opening) };
    const { isNew } = worker;
    const asked = askers;
    worker.isNew = false;
    opening = undefined;
    askers = [];
    if (isNew) begin(open);
    else for (const onEvent of asked) onEvent(open);
  };

  /** Returns whether there was progress. */
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
      // Another worker has continued the session since, so this worker's last output ends there.
      if (!events.some(({ type }) => type === 'session.resumed')) return false;
      disconnect();
    }
    tellNext();
    return true;
  };

  const look = () => {
    const [item] = items;
    order.isConnected = worker !== undefined;
    order.ahead = events.length;
    order.isAsked = askers.length > 0;
    order.holds = worker !== undefined && events.length > 0;
    order.lacks = item?.kind === 'durable' && item.seq > order.head + events.length;
  };

  const step = () => {
    if (isStepping) return; // a callback may call back into this object
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
    disconnect();
    return 'lost';
  };

  const order: { -readonly [Key in keyof LiveOrder]: LiveOrder[Key] } = {
    head: after,
    isConnected: false,
    holds: false,
    ahead: 0,
    lacks: false,
    isAsked: false,
    read(more) {
      for (const event of more) events.push(event);
      step();
    },
    receive({ by, n, behind, items: onEvent }) {
      if (worker?.by === by) {
        if (n < worker.next) return 'idle';
        if (n === worker.next) {
          worker.next++;
          return queue(onEvent);
        }
        disconnect();
        return 'lost';
      }
      const at = onEvent.findIndex(({ kind }) => kind === 'open');
      if (at === -1) return 'idle';
      const place = onEvent
        .slice(0, at)
        .reduce((seq, item) => (item.kind === 'durable' ? item.seq : seq), behind);
      // Its position was passed already, or the worker has lost the session without knowing.
      if (place < reached()) return worker === undefined ? 'late' : 'idle';
      if (worker !== undefined) disconnect();
      worker = { by, next: n + 1, isNew: true };
      return queue([{ kind: 'durable', seq: place }, ...onEvent.slice(at)]);
    },
    disconnect,
    onSpeech(onEvent) {
      if (worker !== undefined && !worker.isNew && askers.length < MAX_ASKERS) askers.push(onEvent);
      order.isAsked = askers.length > 0;
    },
  };
  return order;
}

interface Thought {
  readonly depth: number;
  text: string;
}

function grow(
  opening: { readonly thoughts: Thought[]; response: string; speaker?: string },
  event: LiveEvent,
): void {
  if (event.type !== 'action.progress' && event.speaker !== undefined) opening.speaker = event.speaker;
  if (event.type === 'response.delta') opening.response += event.text;
  if (event.type !== 'thought.delta') return;
  const last = opening.thoughts.at(-1);
  if (last?.depth === event.depth) last.text += event.text;
  else opening.thoughts.push({ depth: event.depth, text: event.text });
}

const lengthOf = (event: LiveEvent): number => (event.type === 'action.progress' ? 0 : event.text.length);
