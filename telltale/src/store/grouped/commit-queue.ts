import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Append, StreamHead } from '../store.ts';
import { MAX_QUEUED, MAX_QUEUED_CHARS, storeOverloaded } from '../store-errors.ts';
import { joinAppend } from '../stream-batches.ts';
import {
  abandon,
  addAppend,
  addFailed,
  type Batch,
  conclude,
  emptyBatch,
  type Flight,
  type GroupReply,
  partOff,
  type RequestEntry,
  readsOf,
  type Settled,
  settleAppends,
  surface,
  takeOff,
  tellMoved,
} from './batch.ts';
import type { ReadRequest, Results, ToBackend, WriteRequest } from './messages.ts';
import { type WriterState, whyNot } from './writer-state.ts';

/**
 * Gathers what is asked while the thread is busy and sends it as one group as soon as it is not. One message is on its
 * way at a time; there is no timer, so a lone append is sent at once and a hundred sessions share a commit.
 */
export interface CommitQueue {
  /**
   * Calls back before the next group is sent, and before all that is asked from now on: then appends what has gathered. One
   * that is urgent, and all before it, at the end of the microtask.
   */
  whenDue(handOver: () => void, isUrgent: boolean): void;
  /** All that was gathered until now is appended. */
  gather(): void;
  append(writer: WriterState, append: Append, settled: Settled): void;
  /** Settles with an error, in turn behind the appends before it. */
  refuse(writer: WriterState, error: RuntimeError, settled: Settled): void;
  /**
   * Makes the writer's stream, with what is appended until `later` comes. The writer is refused where this is, and this
   * where the first of its appends is.
   */
  create(writer: WriterState, head: StreamHead, later: Later): Promise<void>;
  write<R extends WriteRequest>(request: R): Promise<Results[R['op']]>;
  /** Answered after all writes that were asked for before it. */
  read<R extends ReadRequest>(request: R): Promise<Results[R['op']]>;
  /** What the thread says of the group on its way. */
  replied(reply: GroupReply): void;
  /** All that comes later fails with this; resolves when everything before it is settled. */
  shut(error: RuntimeError): Promise<void>;
  /** Everything that waits, and all that comes later, fails with this. */
  fail(error: RuntimeError): void;
}

/** Calls back when what is gathered may be sent. */
export type Later = (flush: () => void) => void;

export interface CommitQueueDeps {
  readonly location: string;
  readonly now: () => number;
  readonly post: (message: ToBackend) => void;
  /** The process must stay for what is queued, and may end when nothing is. */
  readonly hold: () => void;
  readonly letGo: () => void;
  /** After the commit of events of this stream. */
  readonly moved: (stream: string) => void;
}

/** Smaller groups are not parted: a commit more costs more than their callers take. */
const FEWEST_PARTED = 16;
/** What fewer callers take says little of others. */
const FEWEST_MEASURED = 8;

export function createCommitQueue(deps: CommitQueueDeps, pace: CommitQueuePace = createPace()): CommitQueue {
  let batch = emptyBatch();
  let flight: Flight | undefined;
  let isScheduled = false;
  /** A stream was begun in this turn of the event loop, in which its first events come. */
  let isBeginning = false;
  let dead: RuntimeError | undefined;
  let idlers: (() => void)[] = [];
  let isTelling = false;
  /** The second half of a group whose first has been told. */
  let tellRest: (() => void) | undefined;
  /** A group of which nothing could be written, sent while others were being told: its callers are told behind them. */
  let untold: Flight | undefined;
  const gatherers = createGatherers();

  const isEmpty = () => batch.settled.length + batch.writes.length + batch.reads.length === 0;

  const schedule = (later: Later) => {
    if (isScheduled || flight !== undefined) return;
    isScheduled = true;
    deps.hold();
    later(later === queueMicrotask ? flushSoon : flushAfresh);
  };

  const flushSoon = () => {
    if (isBeginning) setImmediate(flushAfresh);
    else flushAfresh();
  };

  /** While nobody is told of anything: where that pays, the callers of the first half are told during the commit of the second. */
  const flushAfresh = () => flush(true);

  const flush = (parts: boolean) => {
    isScheduled = false;
    if (flight !== undefined || send(parts)) return;
    if (gatherers.count() > 0) return schedule(setImmediate); // one who was asked had nothing yet, and will be due again
    deps.letGo();
    for (const resolve of idlers) resolve();
    idlers = [];
  };

  /** Whether there was anything to send. */
  const send = (parts = false): boolean => {
    isBeginning = false;
    isScheduled = true; // what is gathered comes along
    gatherers.ask();
    isScheduled = false;
    if (isEmpty()) return false;
    const { length } = batch.writes;
    // Reads are answered behind all writes that were asked for before them: with new ones all the time they never would be.
    if (parts && batch.reads.length === 0 && length >= 2 * FEWEST_PARTED && pace.pays(length))
      flight = takeOff(partOff(batch, length >> 1));
    else {
      flight = takeOff(batch);
      batch = emptyBatch();
    }
    pace.sent(flight.writes.length);
    const { writes, reads } = flight;
    if (writes.length + reads.length > 0) deps.post({ kind: 'group', now: deps.now(), writes, reads });
    if (writes.length > 0) return true;
    if (isTelling) untold = flight;
    else settle(flight);
    return true;
  };

  /** Where it pays, what has gathered meanwhile is sent before callers are told, so that the thread does not wait for them. */
  const land = (callers: number) => {
    flight = undefined;
    const waiting = batch.settled.length + gatherers.count();
    if ((waiting > 0 || !isEmpty()) && pace.pays(callers + waiting)) send();
  };

  /**
   * Appends that callers make in answer come together in one group: it is sent when all of them have been told, or, where
   * that pays, when half of them have been.
   */
  const settle = (landed: Flight) => {
    const { length } = landed.batch.settled;
    isTelling = true;
    if (landed.reads.length === 0) land(length);
    else if (flight === landed) flight = readsOf(landed); // its callers are being told, and only once
    const parts =
      flight === undefined &&
      isEmpty() &&
      gatherers.count() === 0 &&
      length >= FEWEST_PARTED &&
      pace.pays(length);
    const half = parts ? length >> 1 : length;
    if (parts) {
      isScheduled = true; // before they are told: what they ask for would be sent by itself, and then a group on top of it
      deps.hold();
    }
    tell(landed.batch, 0, half);
    if (!parts) return told(landed);
    tellRest = () => {
      tellRest = undefined;
      tell(landed.batch, half, length);
      told(landed);
    };
    setImmediate(() => {
      isScheduled = false;
      send();
      tellRest?.();
      schedule(setImmediate);
    });
  };

  const tell = (told: Batch, from: number, to: number) => {
    if (to - from >= FEWEST_MEASURED) {
      pace.telling(to - from);
      setImmediate(pace.answered);
    }
    settleAppends(told, from, to);
  };

  const told = (landed: Flight) => {
    isTelling = false;
    tellMoved(landed, deps.moved);
    const next = untold;
    untold = undefined;
    if (next !== undefined) settle(next);
    schedule(setImmediate);
  };

  const overload = (chars: number): RuntimeError | undefined => {
    const { settled, writes, reads } = batch;
    if (settled.length + writes.length + reads.length >= MAX_QUEUED)
      return storeOverloaded(deps.location, `${settled.length + writes.length + reads.length} requests`);
    if (batch.chars + chars > MAX_QUEUED_CHARS)
      return storeOverloaded(deps.location, `${batch.chars} characters`);
    return undefined;
  };

  const request = <R extends ReadRequest | WriteRequest>(
    asked: R,
    queue: (entry: RequestEntry<R>) => void,
  ): Promise<Results[R['op']]> => {
    gatherers.ask();
    const why = dead ?? overload(0);
    if (why !== undefined) return Promise.reject(why);
    return new Promise<Results[R['op']]>((resolve, reject) => {
      // The thread answers each request with the result of its kind (`perform.ts`).
      queue({ kind: 'request', request: asked, resolve: resolve as RequestEntry<R>['resolve'], reject });
      schedule(queueMicrotask);
    });
  };

  return {
    whenDue(handOver, isUrgent) {
      if (flight === undefined && !isScheduled) return queueMicrotask(handOver);
      gatherers.add(handOver);
      if (isUrgent) queueMicrotask(gatherers.ask);
    },
    gather: gatherers.ask,
    append(writer, append, settled) {
      try {
        const body = joinAppend(writer.stream, append);
        const why = dead ?? whyNot(writer, append.expectedSeq, writer.queued) ?? overload(body.length);
        if (why !== undefined) throw why;
        addAppend(batch, writer, append, body, settled);
      } catch (error) {
        const why = toRuntimeError(error);
        const { making } = writer;
        if (making === undefined || making.first !== undefined) writer.failure ??= why;
        else {
          making.failure ??= why;
          writer.refusal = why;
        }
        addFailed(batch, writer, why, settled);
      }
      schedule(queueMicrotask);
    },
    refuse(writer, error, settled) {
      addFailed(batch, writer, error, settled);
      schedule(queueMicrotask);
    },
    create(writer, head, later) {
      gatherers.ask();
      return new Promise((made, refused) => {
        const reject = (error: RuntimeError) => {
          writer.refusal = error;
          refused(error);
        };
        const resolve: RequestEntry<WriteRequest>['resolve'] = (value) => {
          writer.id = (value as Results['create']).id;
          made();
        };
        const why = dead ?? overload(0);
        if (why !== undefined) return reject(why);
        const request = { op: 'create', stream: writer.stream, head, first: null } as const;
        const making = { first: undefined, failure: undefined };
        writer.making = making;
        batch.writes.push({ kind: 'request', request, makes: writer, making, resolve, reject });
        if (later !== queueMicrotask) isBeginning = true;
        schedule(later);
      });
    },
    write: (asked) => request(asked, (entry) => batch.writes.push(entry)),
    read: (asked) => request(asked, (entry) => batch.reads.push(entry)),
    replied(reply) {
      if (flight === undefined) return;
      const landed = flight;
      pace.landed('ms' in reply ? reply.ms : undefined);
      conclude(landed, reply);
      if (reply.kind !== 'answers') settle(landed);
      else {
        land(0);
        schedule(setImmediate);
      }
    },
    shut(error) {
      gatherers.ask();
      dead ??= error;
      if (flight === undefined && !isScheduled && isEmpty()) return Promise.resolve();
      return new Promise((resolve) => idlers.push(resolve));
    },
    fail(error) {
      dead ??= error;
      tellRest?.(); // theirs is committed
      gatherers.ask();
      const lost = flight === undefined ? [batch] : [flight.batch, batch];
      flight = undefined;
      batch = emptyBatch();
      for (const one of lost) abandon(one, error);
      for (const one of lost) settleAppends(one);
      schedule(setImmediate);
    },
  };
}

/** Those who append what they have gathered when they are asked, in the order in which they came. */
export interface Gatherers {
  add(handOver: () => void): void;
  count(): number;
  /** Asks all of them. One who throws keeps nobody from being asked. */
  ask(): void;
}

function createGatherers(): Gatherers {
  let waiting: (() => void)[] = [];
  return {
    add: (handOver) => void waiting.push(handOver),
    count: () => waiting.length,
    ask() {
      if (waiting.length === 0) return;
      const due = waiting;
      waiting = [];
      for (const handOver of due) {
        try {
          handOver();
        } catch (error) {
          surface(error);
        }
      }
    },
  };
}

/**
 * How a group's callers compare with its commit. Told all at once, callers and then the commit of what they append take
 * their time one after the other. In two groups in turn, one is written while the callers of the other are told, at the
 * price of one commit more: of the part of it, that is, which does not depend on how much is written (the wait for the
 * disk, the way there and back). That pays where callers take longer than that part does; on a slow disk one large group
 * is better. So both are measured.
 */
export interface CommitQueuePace {
  /** So many writes are on their way. */
  sent(writes: number): void;
  /**
   * `ms`: how long the commit took, where the one who made it says so. Else it is taken from here, where it may have lain
   * for a while if callers were being told meanwhile: then it says nothing of the commit.
   */
  landed(ms?: number): void;
  /** So many callers are being told. */
  telling(callers: number): void;
  /** They have made what they make in answer. */
  answered(): void;
  /** Whether so many callers, those of both groups, are better told in two groups than in one. */
  pays(callers: number): boolean;
}

/** How much the newest measure counts: a pause of the machine is soon forgotten. */
const SHARE = 0.25;
/** Of commits: more of them are looked at, since they have to differ in size. */
const COMMIT_SHARE = 1 / 32;
/**
 * A commit that takes longer than so many usual ones was held up by something else. With 4, one in five that was made the
 * fixed part of the others look six times as long; with 2, twice.
 */
const MOST_USUAL = 2;
/** Sizes that differ by less than this share of themselves say nothing of what a write costs. */
const LEAST_SPREAD = 0.1;

export function createPace(now: () => number = () => performance.now()): CommitQueuePace {
  const commits = createLine();
  let sentAt = 0;
  let size = 0;
  let toldAt = 0;
  let told = 0;
  let callerMs = 0;
  return {
    sent(writes) {
      sentAt = now();
      size = writes;
    },
    landed(ms) {
      if (size > 0 && (ms !== undefined || told === 0)) commits.add(size, ms ?? now() - sentAt);
      size = 0; // the reads of a group are answered behind its commit
    },
    telling(callers) {
      toldAt = now();
      told = callers;
    },
    answered() {
      if (told > 0) callerMs += SHARE * ((now() - toldAt) / told - callerMs);
      told = 0;
    },
    pays: (callers) => callers * callerMs > commits.fixedMs(),
  };
}

interface CommitQueueLine {
  add(size: number, ms: number): void;
  /** What a commit of nothing would take: all of it, where sizes were too much alike to tell. */
  fixedMs(): number;
}

/** The straight line nearest to the latest commits, older ones counting less and less. */
function createLine(): CommitQueueLine {
  let share = 1;
  let size = 0;
  let ms = 0;
  let sizeSpread = 0;
  let together = 0;
  return {
    add(newSize, tookMs) {
      const newMs = ms > 0 ? Math.min(tookMs, MOST_USUAL * ms) : tookMs;
      const ahead = newSize - size;
      size += share * ahead;
      ms += share * (newMs - ms);
      sizeSpread += share * ((1 - share) * ahead * ahead - sizeSpread);
      together += share * (ahead * (newMs - ms) - together);
      share = Math.max(COMMIT_SHARE, share / (1 + share));
    },
    fixedMs() {
      const least = (LEAST_SPREAD * size) ** 2;
      const perWrite = Math.max(0, together / (sizeSpread + least || 1));
      return Math.max(0, ms - perWrite * size);
    },
  };
}
