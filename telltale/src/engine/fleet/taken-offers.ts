import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { StreamKind, Work, WorkEnd } from '../engine.ts';
import { type LaidAside, offerKey, type TakenOffer, type WhyNot } from './work-queue.ts';

export interface TakenOffersEdges {
  readonly onError: (thrown: unknown, about: { readonly kind: StreamKind; readonly stream: string }) => void;
  readonly onLaidAside: (aside: LaidAside) => void;
  readonly now: () => number;
}

/** Offers that this process has taken, until it is clear who works on their streams. */
export interface TakenOffers {
  add(offer: TakenOffer): void;
  settle(offer: TakenOffer): Promise<void>;
  fail(offer: TakenOffer, why: WhyNot): Promise<void>;
  /** How many streams of each group are in hand. */
  readonly groups: ReadonlyMap<string, number>;
  /** Does work on a stream, and says what became of the offer that it was taken with, if it was. */
  perform(kind: StreamKind, stream: string, work: (taken: () => void) => ReturnType<Work>): Promise<WorkEnd>;
  /** Gives back what was taken and not begun: the next sweep offers it again. */
  giveBack(): Promise<void>;
}

/** The stream is another's. Whoever has it goes on with it: here is nothing to try again. */
const NOT_OURS: ReadonlySet<string> = new Set(['stream_owned', 'stream_lost', 'stream_moved']);

export function createTakenOffers({ onError, onLaidAside, now }: TakenOffersEdges): TakenOffers {
  const taken = new Map<string, TakenOffer>();
  const groups = new Map<string, number>();

  const count = ({ group }: TakenOffer, by: number) => {
    const held = (groups.get(group) ?? 0) + by;
    if (held > 0) groups.set(group, held);
    else groups.delete(group);
  };
  /** An offer that could not be settled is taken by somebody again, who finds the stream owned and settles it. */
  const settle = ({ kind, stream, settled }: TakenOffer) =>
    settled().catch((thrown) => onError(thrown, { kind, stream }));
  const fail = async ({ kind, stream, group, failed }: TakenOffer, { code, message }: WhyNot) => {
    try {
      if ((await failed({ code, message })) === 'aside')
        onLaidAside({ kind, stream, group, at: now(), why: `${message} [${code}]` });
    } catch (thrown) {
      onError(thrown, { kind, stream });
    }
  };

  const end = async (offer: TakenOffer | undefined, isHeld: boolean, ended: WorkEnd): Promise<WorkEnd> => {
    if (offer === undefined || isHeld) return ended;
    if (ended.kind !== 'unable') {
      await settle(offer);
      return ended;
    }
    await fail(offer, ended.why);
    return { kind: 'done' };
  };

  return {
    groups,
    settle,
    fail,
    add(offer) {
      taken.set(offerKey(offer), offer);
      count(offer, 1);
    },
    async perform(kind, stream, work) {
      const key = offerKey({ kind, stream });
      const offer = taken.get(key);
      taken.delete(key);
      let isHeld = false;
      try {
        const ended = await work(() => {
          if (isHeld) return;
          isHeld = true;
          if (offer !== undefined) void settle(offer);
        });
        return await end(offer, isHeld, ended);
      } catch (thrown) {
        const error = toRuntimeError(thrown);
        if (NOT_OURS.has(error.code)) return await end(offer, isHeld, { kind: 'done' });
        if (offer === undefined || isHeld) throw thrown;
        return await end(offer, false, { kind: 'unable', why: error });
      } finally {
        if (offer !== undefined) count(offer, -1);
      }
    },
    async giveBack() {
      const all = [...taken.values()];
      taken.clear();
      for (const offer of all) count(offer, -1);
      await Promise.all(all.map(settle));
    },
  };
}
