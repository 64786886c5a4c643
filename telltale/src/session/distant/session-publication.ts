import type { ObservedEvent } from '../../events/event.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type LiveWire, MAX_LIVE_BYTES } from '../../store/shared-store.ts';
import type { Session } from '../runtime-types.ts';
import { MAX_SHOWN, type OpenSpeech } from '../speech.ts';
import { channelOf } from './live-names.ts';
import { createLivePacker, type LivePacker } from './live-packer.ts';

/** The live events of one session that is worked on here, told to followers in other processes. */
export interface SessionPublication {
  /** Somebody wants to know what is open of its speech. */
  ask(): void;
  close(): void;
}

export interface PublicationDeps {
  readonly live: LiveWire;
  readonly clock: Clock;
  /** What it calls itself: like no other, of whichever process. */
  readonly by: string;
  /** Nobody listens any more, or the session is let go of. */
  readonly onOver: () => void;
}

/** What comes within it after a message goes with the next. */
const WINDOW_MS = 50;
/** Characters that wait for the window's end; with more it is over. */
const MAX_GATHERED = 262_144;

export function publishSession(
  session: Session<unknown>,
  { live, clock, by, onOver }: PublicationDeps,
): SessionPublication {
  const channel = channelOf(session.id);
  /** Undefined until the place of the first answer is known: what comes before is in it. */
  let packer: LivePacker | undefined;
  let sentAt = Number.NEGATIVE_INFINITY;
  let isDue = false;
  let disarm: (() => void) | undefined;
  let isAsked = false;
  let answeredAt = Number.NEGATIVE_INFINITY;
  let stopAnswer: (() => void) | undefined;
  let isOver = false;

  const over = () => {
    isOver = true;
    disarm?.();
    stopAnswer?.();
    unsubscribe();
    onOver();
  };
  const flush = () => {
    disarm?.();
    isDue = false;
    if (isOver || packer === undefined) return;
    if (!live.isHeard(channel)) return over();
    sentAt = clock.monotonic();
    for (const text of packer.take()) live.send(channel, text);
  };
  const soon = () => {
    if (packer !== undefined && packer.length > MAX_GATHERED) return flush();
    if (isDue) return;
    isDue = true;
    const left = sentAt + WINDOW_MS - clock.monotonic();
    if (left > 0) disarm = clock.after(left, flush);
    else queueMicrotask(flush); // what is told in one go is one message
  };
  const take = (event: ObservedEvent) => {
    if (packer === undefined || isOver) return;
    packer.add('seq' in event ? { kind: 'durable', seq: event.seq } : { kind: 'live', event });
    soon();
  };
  const answer = (open: OpenSpeech | undefined, seq: number) => {
    isAsked = false;
    if (isOver) return;
    answeredAt = clock.monotonic();
    packer ??= createLivePacker(by, seq, MAX_LIVE_BYTES);
    addSpeech(packer, session.id, open);
    flush(); // an answer that durable events overtake on the log is of no use
  };
  const unsubscribe = session.subscribe(take);
  const leave = () => {
    if (isOver) return;
    packer?.add({ kind: 'left' });
    flush();
    if (!isOver) over();
  };
  session.result.then(leave, leave);

  return {
    ask() {
      // Those who ask in the meantime read the same answer.
      if (isAsked || isOver) return;
      isAsked = true;
      const left = answeredAt + WINDOW_MS - clock.monotonic();
      if (left > 0) stopAnswer = clock.after(left, () => session.speech(answer));
      else session.speech(answer);
    },
    close: leave,
  };
}

function addSpeech(packer: LivePacker, session: string, open: OpenSpeech | undefined): void {
  packer.add({ kind: 'open', turn: open?.turn });
  if (open !== undefined) {
    const place = { session, turn: open.turn };
    for (const { depth, text } of open.thoughts)
      packer.add({
        kind: 'live',
        event: { type: 'thought.delta', ...place, depth, text: text.slice(-MAX_SHOWN) },
      });
    if (open.response !== '')
      packer.add({
        kind: 'live',
        event: { type: 'response.delta', ...place, text: open.response.slice(-MAX_SHOWN) },
      });
  }
  packer.add({ kind: 'opened' });
}
