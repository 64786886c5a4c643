import { toRuntimeError } from '../../lib/errors.ts';
import type { SharedStore } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import type { StreamKind, Work, WorkEnd } from '../engine.ts';
import { type LaidAside, offerKey, type TakenOffer, type WhyNot } from './work-queue.ts';

export interface TakenOffersDeps {
  readonly onError: (thrown: unknown, about: { readonly kind: StreamKind; readonly stream: string }) => void;
  readonly onLaidAside: (aside: LaidAside) => void;
  readonly now: () => number;
  readonly store: Pick<Store, 'info'>;
  readonly forgive: SharedStore['forgive'];
  /** Decides about an offer that failed in a way that this process cannot change by trying again. */
  readonly giveUp?: ((offer: TakenOffer, why: WhyNot) => Promise<LaidAside | 'passed on'>) | undefined;
  /** Told of each failure after which an offer is tried again. */
  readonly onRetry?: ((offer: TakenOffer, why: WhyNot) => void) | undefined;
}

/** Offers that this process has taken, until it is clear who works on their streams. */
export interface TakenOffers {
  add(offer: TakenOffer): void;
  settle(offer: TakenOffer): Promise<void>;
  fail(offer: TakenOffer, why: WhyNot): Promise<void>;
  /** How many streams of each group are in hand. */
  readonly groups: ReadonlyMap<string, number>;
  /** Does work on a stream, and says what became of the offer that it was taken with, or else of whose group it is. */
  perform(
    kind: StreamKind,
    stream: string,
    work: (taken: () => void) => ReturnType<Work>,
    placedBy?: string,
  ): Promise<WorkEnd>;
  /** Gives back what was taken and not begun: the next sweep offers it again. */
  giveBack(): Promise<void>;
}

/** The stream is another's. Whoever has it goes on with it: here is nothing to try again. */
const NOT_OURS: ReadonlySet<string> = new Set(['stream_owned', 'stream_lost', 'stream_moved']);

/** Errors of a process that is about to end, or that is asked for what it does not do. */
const PASSING: ReadonlySet<string> = new Set([
  'runtime_closed',
  'engine_closed',
  'engine_misused',
  'aborted',
]);
/** What the system says when it is short of something, or cannot reach something, for now. */
const SHORT_OF =
  /\b(?:EMFILE|ENFILE|ENOMEM|EAGAIN|EBUSY|ENOSPC|EIO|ETIMEDOUT|EPIPE|ENETUNREACH|EHOSTUNREACH|ECONN\w+|EAI_AGAIN)\b/;

/** Whether trying again in this process would come to the same. */
const isFinal = ({ code, message, retryable }: WhyNot): boolean =>
  retryable === false && !PASSING.has(code) && !SHORT_OF.test(message);

const LEFT: WhyNot = { code: 'work_left', message: 'A worker looked at it, and left it as it was.' };

export function createTakenOffers({
  onError,
  onLaidAside,
  now,
  store,
  forgive,
  giveUp,
  onRetry,
}: TakenOffersDeps): TakenOffers {
  const taken = new Map<string, TakenOffer>();
  const groups = new Map<string, number>();

  const count = (group: string, by: number) => {
    const held = (groups.get(group) ?? 0) + by;
    if (held > 0) groups.set(group, held);
    else groups.delete(group);
  };
  /** An offer that could not be settled is taken by somebody again, who finds the stream owned and settles it. */
  const settle = ({ kind, stream, settled }: TakenOffer) =>
    settled().catch((thrown) => onError(thrown, { kind, stream }));
  const fail = async (offer: TakenOffer, whyNot: WhyNot) => {
    const { kind, stream, group, failed } = offer;
    const { code, message } = whyNot;
    try {
      if (giveUp !== undefined && isFinal(whyNot)) {
        const given = await giveUp(offer, whyNot);
        if (given !== 'passed on') onLaidAside(given);
      } else if ((await failed({ code, message })) === 'aside')
        onLaidAside({ kind, stream, group, at: now(), why: `${message} [${code}]` });
      else onRetry?.(offer, whyNot);
    } catch (thrown) {
      onError(thrown, { kind, stream });
    }
  };

  /** Whether there is something to do and nobody does it: settled, it would be offered again and again. */
  const isLeft = async (stream: string) => {
    const info = await store.info(stream);
    if (info === undefined || info.owner !== undefined) return false;
    if (info.status === 'running') return true;
    return info.status === 'waiting' && (info.messages !== undefined || (info.due ?? now() + 1) <= now());
  };

  const end = async (offer: TakenOffer | undefined, isHeld: boolean, ended: WorkEnd): Promise<WorkEnd> => {
    if (offer === undefined || isHeld) return ended;
    const why = ended.kind === 'unable' ? ended.why : (await isLeft(offer.stream)) ? LEFT : undefined;
    await (why === undefined ? settle(offer) : fail(offer, why));
    // The pause is the queue's, and so is who tries it next.
    return why === undefined ? ended : { kind: 'done' };
  };

  return {
    groups,
    settle,
    fail,
    add(offer) {
      taken.set(offerKey(offer), offer);
      count(offer.group, 1);
    },
    async perform(kind, stream, work, placedBy) {
      const key = offerKey({ kind, stream });
      const offer = taken.get(key);
      taken.delete(key);
      const group = offer?.group ?? placedBy;
      if (offer === undefined && group !== undefined) count(group, 1);
      let isHeld = false;
      try {
        const ended = await work(() => {
          if (isHeld) return;
          isHeld = true;
          if (offer !== undefined) void settle(offer);
        });
        if (isHeld && offer?.deaths !== undefined)
          await forgive(stream).catch((thrown) => onError(thrown, { kind, stream }));
        return await end(offer, isHeld, ended);
      } catch (thrown) {
        const error = toRuntimeError(thrown);
        if (NOT_OURS.has(error.code)) return await end(offer, isHeld, { kind: 'done' });
        if (offer === undefined || isHeld) throw thrown;
        return await end(offer, false, { kind: 'unable', why: error });
      } finally {
        if (group !== undefined) count(group, -1);
      }
    },
    async giveBack() {
      const all = [...taken.values()];
      taken.clear();
      for (const { group } of all) count(group, -1);
      await Promise.all(all.map(settle));
    },
  };
}
