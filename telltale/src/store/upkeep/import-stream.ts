import type { Clock } from '../../lib/clock.ts';
import { asBefore, hasEnded, noteQuarantine, QUARANTINED } from '../quarantine.ts';
import type { InboxMessage, Store, StoredSnapshot, StreamWriter } from '../store.ts';
import { appendCommitted, importConflict, importMalformed } from './append-committed.ts';
import type { EndLine } from './export-store.ts';
import { createStreamHash, hashStream, type StreamFront } from './pages.ts';
import { RESTORING } from './upkeep.ts';
import { createStreamVerifier, type StreamFlaw } from './verify-stream.ts';

export type StreamOutcome = 'imported' | 'quarantined' | 'same';

export interface StreamImportOptions {
  readonly dryRun: boolean;
  /** It is quarantined unless it has ended. */
  readonly isForeign: boolean;
  readonly clock: Pick<Clock, 'now'>;
}

const FOREIGN = 'It was imported from a file that is not trusted.';

/** One stream on its way in. It is there as a whole, or not at all. */
export interface StreamImport {
  readonly stream: string;
  event(line: number, event: string): Promise<void>;
  snapshot(line: number, snapshot: StoredSnapshot): Promise<void>;
  message(message: Omit<InboxMessage, 'id'>): void;
  /** What remains to be done; it may be awaited later, while others are read. */
  end(line: number, end: EndLine): Promise<() => Promise<StreamOutcome>>;
  /** Takes out what is there of it. */
  abandon(): Promise<void>;
}

/** Characters that are written at a time. */
const WRITE_CHARS = 1024 * 1024;

export async function beginStreamImport(
  store: Store,
  front: StreamFront,
  line: number,
  { dryRun, isForeign, clock }: StreamImportOptions,
): Promise<StreamImport> {
  const { stream, kind, name, title, parent } = front;
  const verifier = createStreamVerifier(front);
  const hash = createStreamHash(front);
  const messages: Omit<InboxMessage, 'id'>[] = [];
  const before = await store.info(stream);
  const isThere = before !== undefined && before.status !== RESTORING;
  let writer: StreamWriter | undefined;
  if (!dryRun && !isThere) {
    // What an import that was broken off has left of it.
    if (before !== undefined) await takeOut(store, await store.upkeep.acquire(stream));
    const head = { kind, name, title, status: RESTORING, ...(parent === undefined ? {} : { parent }) };
    const begun = store.begin(stream, head);
    begun.made.catch(() => undefined); // the first append says so
    writer = begun.writer;
  }
  let [pending, chars, written]: [string[], number, number] = [[], 0, 0];
  const flush = async () => {
    if (writer === undefined || pending.length === 0) return;
    const append = { expectedSeq: written, events: pending };
    written += pending.length;
    [pending, chars] = [[], 0];
    await appendCommitted(writer, append);
  };
  const refuse = (at: number, flaw: StreamFlaw | undefined) => {
    if (flaw !== undefined)
      throw importMalformed(at, `Stream "${stream}", event ${verifier.seq}: ${flaw.found}`);
  };

  return {
    stream,
    async event(at, event) {
      refuse(at, verifier.event(event));
      hash.event(event);
      if (writer === undefined) return;
      pending.push(event);
      chars += event.length;
      if (chars >= WRITE_CHARS) await flush();
    },
    async snapshot(at, snapshot) {
      refuse(at, verifier.snapshot(snapshot.seq, snapshot.body));
      hash.snapshot(snapshot);
      // Behind the events that it stands for: else the store would not keep it.
      await flush();
      writer?.snapshot(snapshot.seq, snapshot.body);
    },
    message(message) {
      hash.message(message);
      messages.push(message);
    },
    async end(at, { events, sha256 }) {
      if (events !== verifier.seq)
        throw importMalformed(at, `Stream "${stream}" is to have ${events} events, and has ${verifier.seq}.`);
      const found = hash.end();
      if (sha256 !== undefined && sha256 !== found)
        throw importMalformed(
          at,
          `Stream "${stream}" is not what was exported.`,
          'Export it again; or, where it was changed on purpose, take "sha256" out of that line.',
        );
      if (isThere) {
        if ((await hashStream(store, await asBefore(store, before))) !== found)
          throw importConflict(line, `Stream "${stream}"`);
        return async () => 'same';
      }
      const last = flush();
      last.catch(() => undefined); // told when it is awaited below
      const to = writer;
      const isQuarantined = isForeign && !hasEnded(front);
      return async () => {
        if (to === undefined) return isQuarantined ? 'quarantined' : 'imported';
        await last;
        const { status, due, createdAt, updatedAt } = front;
        const wait = due === undefined ? {} : { due };
        const times = { createdAt, updatedAt, messages };
        if (isQuarantined) {
          await noteQuarantine(store, stream, { why: FOREIGN, at: clock.now(), status, ...wait });
          await store.upkeep.settle(stream, to.epoch, { status: QUARANTINED, ...times });
        } else await store.upkeep.settle(stream, to.epoch, { status, ...times, ...wait });
        await to.release();
        return isQuarantined ? 'quarantined' : 'imported';
      };
    },
    async abandon() {
      if (writer !== undefined) await takeOut(store, writer);
    },
  };
}

async function takeOut(store: Store, writer: StreamWriter): Promise<void> {
  await store.upkeep.remove(writer.stream, writer.epoch);
  await writer.release();
}
