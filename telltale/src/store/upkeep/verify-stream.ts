import { toRuntimeError } from '../../lib/errors.ts';
import { decodeEvent } from '../../log/codec.ts';
import { reduce } from '../../log/reduce.ts';
import { reduceRun } from '../../log/reduce-run.ts';
import { decodeRunEvent } from '../../log/run-codec.ts';
import { emptyRun } from '../../log/run-state.ts';
import { createSnapshotReader } from '../../log/snapshot.ts';
import { emptyState, type SessionState } from '../../log/state.ts';
import type { StreamInfo } from '../store.ts';

/** What a stream is not as it has to be in. */
export interface StreamFlaw {
  /** Absent where it is not one event's. */
  readonly seq?: number;
  readonly found: string;
}

/**
 * Goes through a stream as whoever resumes it would: each event has the seq of its place, can be read and folded, and
 * snapshots say what the fold says. Give it all events in order, each snapshot right behind the event that it stands for.
 */
export interface StreamVerifier {
  event(line: string): StreamFlaw | undefined;
  snapshot(seq: number, body: string): StreamFlaw | undefined;
  /** The status that the events amount to; undefined where they could not be folded. */
  status(): string | undefined;
  /** When a run that waits is due, as its events say. */
  due(): number | undefined;
  /** Events so far. */
  readonly seq: number;
}

/** The first event of a stream of each kind. */
const FIRST = { session: 'session.started', run: 'workflow.started' } as const;

export function createStreamVerifier({ stream, kind }: Pick<StreamInfo, 'stream' | 'kind'>): StreamVerifier {
  const fold = kind === 'session' ? createSessionFold(stream) : createRunFold(stream);
  const parts = createSnapshotReader();
  let seq = 0;
  /** Behind an event that is not there, or cannot be folded, the state says nothing. */
  let isFolding = true;
  let areParts = true;

  const flaw = (found: string): StreamFlaw => {
    isFolding = false;
    return { seq, found };
  };

  return {
    get seq() {
      return seq;
    },
    event(line) {
      seq++;
      let event: DecodedEvent;
      try {
        event = fold.decode(line);
      } catch (thrown) {
        return flaw(toRuntimeError(thrown).message);
      }
      if (event.seq !== seq) return flaw(`In its place stands the event ${event.seq}.`);
      if (seq === 1 && event.type !== FIRST[kind])
        return flaw(`The log of a ${kind} begins with ${FIRST[kind]}, not with ${event.type}.`);
      if (!isFolding) return undefined;
      try {
        fold.add(event);
        return undefined;
      } catch (thrown) {
        return flaw(`${event.type} cannot be folded: ${toRuntimeError(thrown).message}`);
      }
    },
    snapshot(at, body) {
      if (at !== seq) return { seq: at, found: 'A snapshot stands for an event that is not there.' };
      if (kind !== 'session') return { seq: at, found: 'A run has no snapshots, but here is one.' };
      if (!areParts) return undefined;
      try {
        parts.add(body);
        if (!isFolding || says(parts.state(), fold.state())) return undefined;
        return { seq: at, found: 'The snapshot does not say what the events up to it say.' };
      } catch (thrown) {
        areParts = false;
        return { seq: at, found: toRuntimeError(thrown).message };
      }
    },
    status: () => (isFolding && seq > 0 ? fold.state().status : undefined),
    due: () => (isFolding ? fold.due() : undefined),
  };
}

/** Whether a snapshot says what the events say. Those of earlier versions hold nothing of the sizes of prompts. */
function says(snapshot: SessionState, state: object): boolean {
  if (snapshot.promptTokens !== undefined) return sameValue(snapshot, state);
  const { promptTokens: _, counted: __, ...rest } = state as SessionState;
  return sameValue(snapshot, rest);
}

interface DecodedEvent {
  readonly seq: number;
  readonly type: string;
}

interface Fold {
  decode(line: string): DecodedEvent;
  add(event: DecodedEvent): void;
  state(): { readonly status: string };
  due(): number | undefined;
}

function createSessionFold(stream: string): Fold {
  const state = emptyState();
  return {
    decode: (line) => decodeEvent(line, stream),
    add: (event) => void reduce(state, event as ReturnType<typeof decodeEvent>),
    state: () => state,
    due: () => undefined,
  };
}

function createRunFold(stream: string): Fold {
  const state = emptyRun();
  return {
    decode: (line) => decodeRunEvent(line, stream),
    add: (event) => void reduceRun(state, event as ReturnType<typeof decodeRunEvent>),
    state: () => state,
    due: () => (state.status === 'waiting' ? state.waiting?.due : undefined),
  };
}

/** Whether two values say the same: maps and sets by their members, objects by their keys, what is undefined left out. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((one, at) => sameValue(one, b[at]))
    );
  if (a instanceof Set || b instanceof Set)
    return a instanceof Set && b instanceof Set && a.size === b.size && [...a].every((one) => b.has(one));
  if (a instanceof Map || b instanceof Map)
    return (
      a instanceof Map &&
      b instanceof Map &&
      a.size === b.size &&
      [...a].every(([key, one]) => b.has(key) && sameValue(one, b.get(key)))
    );
  return sameKeys(a as Record<string, unknown>, b as Record<string, unknown>);
}

function sameKeys(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const own = Object.keys(a);
  const isIn = (key: string) => Object.hasOwn(b, key) || a[key] === undefined;
  return (
    own.every((key) => isIn(key) && sameValue(a[key], b[key])) &&
    Object.keys(b).every((key) => Object.hasOwn(a, key) || b[key] === undefined)
  );
}
