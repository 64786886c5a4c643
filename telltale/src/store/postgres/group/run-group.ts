import { randomUUID } from 'node:crypto';
import { type RuntimeError, toRuntimeError } from '../../../kernel/runtime-error.ts';
import type { Outcome, Taken } from '../../grouped/messages.ts';
import { isContended, isOfOneWrite, sqlState } from '../describe-postgres-failure.ts';
import type { Ownership } from '../ownership.ts';
import type { WriterLink } from '../writer-link.ts';
import { checkWrite } from './check-write.ts';
import { type Answer, type Consequences, decodeAnswer } from './decode-answer.ts';
import { type EncodedCall, encodeCall, type PlacedWrite } from './encode-call.ts';
import { isAppend, splitGroup, type Write } from './split-group.ts';

export interface GroupDeps {
  readonly link: WriterLink;
  readonly ownership: Ownership;
  readonly schema: string;
  readonly leaseMs: number;
  readonly describe: (thrown: unknown) => RuntimeError;
  /** Told of each commit, as soon as it is known. */
  readonly committed: (consequences: Consequences) => void;
}

export interface RunGroup {
  run(writes: readonly Write[], now: number): Promise<GroupOutcomes>;
  /** What the database knows this store by; undefined where it knows nothing of it. */
  readonly store: string | undefined;
}

/** What became of the writes of a group, by their place in it; an append that went through is left out. */
export type GroupOutcomes = ReadonlyMap<number, Outcome>;

/** Said by the database of an owner that others took for dead. */
const OWNER_GONE = 'TT001';
/** How often a call is made again that gave way to another process's. */
const MAX_TRIES = 20;

/**
 * Mostly one call. Where the database finds fault with a write (not with its state, nor with a name, but a text that it
 * cannot keep), the group is halved until the one that is to blame stands alone, and only that one fails. Throws a
 * RuntimeError where nothing of the group was written.
 */
export function createRunGroup(deps: GroupDeps): RunGroup {
  const { link, ownership, schema, leaseMs, describe } = deps;
  const store = randomUUID();
  let last = 0;

  const send = async (call: EncodedCall, now: number): Promise<Answer | null> => {
    const number = ++last;
    for (let left = MAX_TRIES; ; left--) {
      const owner = call.owns ? await ownership.claim() : null;
      try {
        return await link.call([store, number, now, owner, leaseMs, ...call.values]);
      } catch (error) {
        if (left === 0) throw error;
        if (sqlState(error) === OWNER_GONE) ownership.gone();
        else if (!isContended(error)) throw error;
      }
    }
  };

  const runAll = async (writes: readonly Write[], now: number): Promise<GroupOutcomes> => {
    const outcomes = new Map<number, Outcome>();
    /** Everything below is done, or has its outcome. */
    let reached = 0;

    /** The write as it can be sent: an append to a stream that an earlier call made has its number by now. */
    const ready = (place: number, from: number): PlacedWrite | undefined => {
      const write = writes[place] as Write;
      const why = checkWrite(write);
      if (why !== undefined) outcomes.set(place, { error: why.toJSON() });
      if (why !== undefined) return undefined;
      if (!isAppend(write) || write[0] > 0) return { place, write };
      const birth = -1 - write[0];
      const made = outcomes.get(birth);
      if (made !== undefined && 'error' in made) {
        outcomes.set(place, made);
        return undefined;
      }
      if (birth >= from) return { place, write };
      const [, ...rest] = write;
      return { place, write: [((made as { readonly value: Taken }).value as Taken).id, ...rest] };
    };

    const run = async (from: number, to: number): Promise<void> => {
      const placed: PlacedWrite[] = [];
      for (let place = from; place < to; place++) {
        const one = ready(place, from);
        if (one !== undefined) placed.push(one);
      }
      if (placed.length > 0) {
        const call = encodeCall(placed, schema);
        try {
          deps.committed(decodeAnswer(placed, call, await send(call, now), outcomes));
        } catch (error) {
          if (!isOfOneWrite(error)) throw error;
          if (placed.length > 1) {
            const middle = Math.ceil((from + to) / 2);
            await run(from, middle);
            await run(middle, to);
            return;
          }
          outcomes.set(placed[0]?.place ?? from, { error: describe(error).toJSON() });
        }
      }
      reached = to;
    };

    try {
      for (const { from, to } of splitGroup(writes)) await run(from, to);
    } catch (error) {
      const why = toRuntimeError(describe(error));
      if (reached === 0) throw why;
      for (let place = reached; place < writes.length; place++) outcomes.set(place, { error: why.toJSON() });
    }
    return outcomes;
  };

  return {
    run: runAll,
    get store() {
      return last === 0 ? undefined : store;
    },
  };
}
