import type { Clock } from '../../lib/clock.ts';
import { decodeEvent } from '../../log/codec.ts';
import type { LiveEvent, ObservedEvent, SessionEvent } from '../../log/event.ts';
import type { LiveWire } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import { type OpenSpeech, speakerIn } from '../speech.ts';
import { ASKS, askText, channelOf, decodeMessage, type LiveItem, type LiveMessage } from './live-channel.ts';

/** What is told of a session that another process works on, or nobody. */
export interface RemoteListener {
  /** In order, each durable event once; live ones in their place, as far as they come. */
  readonly onEvent: (event: ObservedEvent) => void;
  /** What is open of its speech: it stands for all deltas before it. Told where live events begin, or begin again. */
  readonly onOpenSpeech: (open: OpenSpeech | undefined) => void;
  /** The log may have moved on: the session may have been taken up here. */
  readonly moved?: () => void;
  /** The log could not be read; it is read again when it moves. */
  readonly onFailure: (thrown: unknown) => void;
}

export interface FollowRemoteDeps {
  readonly store: Pick<Store, 'watch'>;
  /** Lines of the session's log from there on, one page; none where it ends before. */
  readonly page: (from: number) => Promise<readonly string[]>;
  /** Absent where machines share nothing: then there are no live events. */
  readonly live: LiveWire | undefined;
  readonly clock: Clock;
}

export interface RemoteFollow {
  /** Tells what is open of its speech, in its place. Nothing is told where no worker is heard: `spoken` follows. */
  speech(onEvent: (open: OpenSpeech | undefined) => void): void;
  close(): void;
}

/** How long a durable event waits for what was live before it. */
const HOLD_MS = 500;
/** When it is asked for live events again, where no answer came: doubled each time. */
const ASK_MS = 100;
const MAX_ASK_MS = 5_000;
/** Asks in a row that nothing but time brings about; the next comes when the log moves. */
const MAX_ASKS = 6;
/** Events that wait in memory; what is behind them is read once they were told. */
const MAX_AHEAD = 2_000;

/** Events after which somebody works on the session who may not have been there before. */
const BEGINNINGS: ReadonlySet<ObservedEvent['type']> = new Set([
  ...(['session.started', 'session.resumed', 'turn.started'] as const),
]);

/** Follows the log, and the wire where there is one. */
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
  /** Something is on the log, so somebody may work on it who did not hear. */
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
    if (!isReading && !isClosed) void readOn(); // tells its own failures
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
      if (wasAsked || !order.isAsked) return; // those who ask in the meantime read the same answer
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
 * Brings what is read from a session's log and what its worker tells over the wire into one order: that in which it came
 * about. Pure but for its own memory: it neither reads nor waits.
 *
 * While a worker is heard, a durable event is told once that worker has said that everything live before it was told.
 */
export interface LiveOrder {
  /** The last durable event that was told. */
  readonly head: number;
  /** Whether a worker is heard. */
  readonly isConnected: boolean;
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
  receive(message: LiveMessage): 'taken' | 'lost' | 'late' | 'idle';
  /** Listens to the worker no more: what it told and stands further on is dropped, and durable events wait for nothing. */
  disconnect(): void;
  /** Whether somebody waits to be told what is open. */
  readonly isAsked: boolean;
  /** Tells what is open of the session's speech when the worker says so next. Dropped where it is not listened to any more. */
  onSpeech(onEvent: (open: OpenSpeech | undefined) => void): void;
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
      // Its place was passed without it; or it comes from one that has lost the session, and does not know.
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
