import { randomUUID } from 'node:crypto';
import { type RuntimeError, toRuntimeError } from '../../../lib/errors.ts';
import type { Outcome, Taken } from '../../grouped/messages.ts';
import { nameMalformed } from '../../store-errors.ts';
import type { Ownership } from '../ownership.ts';
import { isContended, isOfOneWrite, sqlState } from '../postgres-errors.ts';
import type { WriterLink } from '../writer-link.ts';
import { type Consequences, type DecodeAnswer, decodeAnswer } from './decode-answer.ts';
import {
  type EncodedCall,
  encodeCall,
  isAppend,
  type PlacedWrite,
  splitGroup,
  type Write,
} from './encode-call.ts';

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

  const send = async (call: EncodedCall, now: number): Promise<DecodeAnswer | null> => {
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

/** Two of them, and what stands beside them, are below the 2,704 bytes of an index entry. 1,024 letters of ASCII fit. */
const MAX_NAME_BYTES = 1_250;

/** Why PostgreSQL could not keep what a write names. */
function checkWrite(write: Write): RuntimeError | undefined {
  if (isAppend(write)) {
    for (const [table, key] of write[7] ?? []) {
      const why = tooLong('A table', table) ?? tooLong('A key', key);
      if (why !== undefined) return why;
    }
    return undefined;
  }
  switch (write.op) {
    case 'create':
      return (
        tooLong('A stream', write.stream) ??
        tooLong('The name of what a stream is of', write.head.name) ??
        tooLong('The parent of a stream', write.head.parent ?? '') ??
        (write.first === null ? undefined : checkWrite(write.first))
      );
    case 'set':
    case 'delete':
    case 'increment':
      return tooLong('A table', write.table) ?? tooLong('A key', write.key);
    case 'exchange':
      for (const [table, key] of [...write.expected, ...write.writes]) {
        const why = tooLong('A table', table) ?? tooLong('A key', key);
        if (why !== undefined) return why;
      }
      return undefined;
    case 'push':
    case 'enter':
      return tooLong('A list', write.list);
    case 'acquire':
    case 'dissolve':
    case 'release':
    case 'snapshot':
    case 'send':
    case 'settle':
    case 'remove':
      return undefined;
  }
}

function tooLong(what: string, name: string): RuntimeError | undefined {
  if (name.length <= MAX_NAME_BYTES / 3) return undefined;
  const bytes = Buffer.byteLength(name);
  if (bytes <= MAX_NAME_BYTES) return undefined;
  return nameMalformed(what, `${bytes} bytes of UTF-8 long (PostgreSQL keeps ${MAX_NAME_BYTES})`);
}
