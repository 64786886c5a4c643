import { decodeEvent } from '../../events/codec.ts';
import type { ObservedEvent } from '../../events/event.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { LiveWire } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import type { OpenSpeech } from '../speech.ts';
import { decodeMessage } from './live-message.ts';
import { ASKS, askText, channelOf } from './live-names.ts';
import { createLiveOrder } from './live-order.ts';

/** What is told of a session that another process works on, or nobody. */
export interface AfarFollower {
  /** In order, each durable event once; live ones in their place, as far as they come. */
  readonly told: (event: ObservedEvent) => void;
  /** What is open of its speech: it stands for all deltas before it. Told where live events begin, or begin again. */
  readonly spoken: (open: OpenSpeech | undefined) => void;
  /** The log may have moved on: the session may have been taken up here. */
  readonly moved?: () => void;
  /** The log could not be read; it is read again when it moves. */
  readonly onFailure: (thrown: unknown) => void;
}

export interface AfarDeps {
  readonly store: Pick<Store, 'watch'>;
  /** Lines of the session's log from there on, one page; none where it ends before. */
  readonly page: (from: number) => Promise<readonly string[]>;
  /** Absent where machines share nothing: then there are no live events. */
  readonly live: LiveWire | undefined;
  readonly clock: Clock;
}

export interface Afar {
  /** Tells what is open of its speech, in its place. Nothing is told where no worker is heard: `spoken` follows. */
  speech(told: (open: OpenSpeech | undefined) => void): void;
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
export function followAfar(
  { store, page, live, clock }: AfarDeps,
  session: string,
  after: number,
  { told, spoken, moved, onFailure }: AfarFollower,
): Afar {
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
      if (!isClosed) told(event);
    },
    begin(open) {
      stopAsking?.();
      asks = 0;
      if (!isClosed) spoken(open);
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
        if (!order.isHearing || order.isAsked) ask();
      });
  };
  /** Something is on the log, so somebody may work on it who did not hear. */
  const askAgain = () => {
    if (order.isHearing || live === undefined) return;
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
        order.deafen();
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
      const heard = order.hear(message);
      if (heard === 'lost') ask();
      else if (heard === 'late') askAgain();
      settle();
    },
    gap() {
      order.deafen();
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
      if (!order.isHearing) return;
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
