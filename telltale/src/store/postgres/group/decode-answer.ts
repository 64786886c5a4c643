import type { RuntimeError } from '../../../lib/errors.ts';
import type { AppendOp, NotedOwner, Outcome, Results, WriteRequest } from '../../grouped/messages.ts';
import {
  inboxFull,
  listMoved,
  MAX_INBOX_MESSAGES,
  notANumber,
  notExact,
  streamExists,
  streamLost,
  streamMoved,
  streamRestoring,
  streamUnknown,
} from '../../store-errors.ts';
import type { EncodedCall, PlacedWrite } from './encode-call.ts';
import { isAppend } from './encode-call.ts';

type Refused = readonly [epoch: number | null, head: number | null, name: string | null];

/** What `write_group` answers, where it does. */
export interface DecodeAnswer {
  readonly made: readonly (number | null)[] | null;
  readonly refused: readonly (readonly [place: number, ...Refused])[] | null;
  readonly out: readonly (readonly [place: number, outcome: RawOutcome])[];
}

type RawOutcome = null | boolean | number | string | Readonly<Record<string, unknown>>;

/** After the commit: who is to be told of it. */
export interface Consequences {
  /** A message came for a stream: of this owner and his address, or of nobody. */
  readonly sent: readonly {
    readonly stream: string;
    readonly id: number;
    readonly owner: number | null;
    readonly peer: string | null;
  }[];
  /** A stream that is to be worked on was let go of. */
  readonly adrift: boolean;
}

/** By place in the group; an append that went through is left out. */
export function decodeAnswer(
  writes: readonly PlacedWrite[],
  call: EncodedCall,
  answer: DecodeAnswer | null,
  outcomes: Map<number, Outcome>,
): Consequences {
  const sent: Consequences['sent'][number][] = [];
  let adrift = false;
  if (answer === null) return { sent, adrift };
  const byPlace = new Map(writes.map(({ place, write }) => [place, write]));
  const fail = (place: number, error: RuntimeError) => outcomes.set(place, { error: error.toJSON() });
  for (const [n, place] of call.births.entries()) {
    const id = answer.made?.[n] ?? null;
    const request = byPlace.get(place) as Extract<WriteRequest, { readonly op: 'create' }>;
    if (id === null) fail(place, streamExists(request.stream));
    else outcomes.set(place, { value: { id, epoch: 1, head: 0 } });
  }
  for (const [n, ...refused] of answer.refused ?? []) {
    const placed = call.appends[n];
    if (placed !== undefined) fail(placed.place, refusal(placed.write as AppendOp, refused));
  }
  for (const [place, raw] of answer.out) {
    const write = byPlace.get(place);
    if (write === undefined) continue;
    if (isAppend(write) || write.op === 'create') {
      const append = isAppend(write) ? write : write.first;
      const made = append === null ? undefined : outcomes.get(-1 - append[0]);
      if (made !== undefined && 'error' in made) outcomes.set(place, made);
      else if (append !== null && raw !== null)
        fail(place, refusal(append, (raw as { readonly refused: Refused }).refused));
      continue;
    }
    const value = resultOf(write, raw);
    if ('error' in value) fail(place, value.error);
    else outcomes.set(place, value);
    if ('error' in value) continue;
    if (write.op === 'release' || write.op === 'settle')
      adrift ||= (raw as { readonly adrift: boolean | null }).adrift === true;
    if (write.op === 'send') {
      const { id, owner, peer } = raw as {
        readonly id: number;
        readonly owner: number | null;
        readonly peer: string | null;
      };
      sent.push({ stream: write.stream, id, owner, peer });
    }
  }
  return { sent, adrift };
}

function refusal(
  [stream, epoch, expectedSeq]: AppendOp,
  [foundEpoch, foundHead, name]: Refused,
): RuntimeError {
  if (foundEpoch !== epoch || name === null) return streamLost(name ?? `#${stream}`, epoch);
  return streamMoved(name, expectedSeq, foundHead ?? 0);
}

type DecodeAnswerDecoded = { readonly value: Results[keyof Results] } | { readonly error: RuntimeError };

function resultOf(request: WriteRequest, raw: RawOutcome): DecodeAnswerDecoded {
  const trouble = typeof raw === 'object' && raw !== null ? raw.e : undefined;
  switch (request.op) {
    case 'acquire': {
      if (trouble === 'restoring') return { error: streamRestoring(request.stream) };
      if (trouble !== undefined) return { error: streamUnknown(request.stream) };
      const { taken, owner } = raw as {
        readonly taken?: readonly [number, number, number];
        readonly owner?: OwnerTuple;
      };
      if (owner !== undefined) return { value: { ownedBy: notedOwner(owner) } };
      const [id, epoch, head] = taken ?? [0, 0, 0];
      return { value: { id, epoch, head } };
    }
    case 'send':
      if (trouble === 'unknown') return { error: streamUnknown(request.stream) };
      if (trouble === 'full') return { error: inboxFull(request.stream, MAX_INBOX_MESSAGES) };
      return { value: (raw as { readonly id: number }).id };
    case 'increment':
      if (trouble === 'exact') return { error: notExact(request.table, request.key, request.by) };
      if (trouble !== undefined) return { error: notANumber(request.table, request.key) };
      return { value: Number(raw) };
    case 'delete':
    case 'exchange':
      return { value: raw === true };
    case 'push':
      return { value: Number(raw) };
    case 'settle':
    case 'remove':
      if (trouble === 'unknown') return { error: streamUnknown(request.stream) };
      if (trouble === 'lost') return { error: streamLost(request.stream, request.epoch) };
      return { value: null };
    case 'enter': {
      if (trouble === undefined) return { value: null };
      const { last } = raw as { readonly last: number };
      return { error: listMoved(request.list, request.first, last) };
    }
    case 'create':
    case 'dissolve':
    case 'release':
    case 'snapshot':
    case 'set':
      return { value: null };
  }
}

export type OwnerTuple = readonly [
  id: number,
  pid: number,
  startedAt: number,
  host: string,
  beatAgeMs: number,
  epoch: number,
];

const notedOwner = ([id, pid, startedAt, place, beatAgeMs, epoch]: OwnerTuple): NotedOwner => ({
  id,
  pid,
  startedAt,
  place,
  beatAgeMs,
  epoch,
});
