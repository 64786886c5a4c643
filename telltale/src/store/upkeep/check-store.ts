import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { QUARANTINED } from '../quarantine.ts';
import type { Store, StreamInfo } from '../store.ts';
import { fromBackup } from './append-committed.ts';
import { isHalfFork } from './half-fork.ts';
import { allLists, allRows, entryPages, eventPages, listPages } from './pages.ts';
import { RESTORING, type UpkeepFault } from './upkeep.ts';
import { createStreamVerifier, type StreamFlaw } from './verify-stream.ts';

export interface CheckProgress {
  readonly streams: number;
  readonly events: number;
}

export interface CheckOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CheckProgress) => void;
}

export interface CheckReport {
  readonly streams: number;
  readonly events: number;
  readonly snapshots: number;
  readonly messages: number;
  readonly rows: number;
  readonly entries: number;
  /** Events without a checksum, where there are any: a changed byte in them may go unnoticed. */
  readonly uncovered?: number;
  /** The first `MAX_FAULTS`. */
  readonly faults: readonly UpkeepFault[];
  /** Those that are left out of the list. */
  readonly more: number;
}

const MAX_FAULTS = 1_000;
/** Of one stream: a log that is nonsense from one place on says so often enough. */
const MAX_OF_STREAM = 5;

const wake = (run: string) => `Nothing resumes it by itself: telltale workflow resume ${run}`;
const REFOLD =
  'Its events are whole: export it with --no-snapshots and import that into a new store, or restore it from a backup.';

/** Reads everything, as whoever resumes it would, and says what is wrong. Changes nothing. */
export async function checkStore(
  store: Store,
  { signal, onProgress = () => undefined }: CheckOptions = {},
): Promise<CheckReport> {
  const faults: UpkeepFault[] = [];
  const counts = { streams: 0, events: 0, snapshots: 0, messages: 0, rows: 0, entries: 0 };
  let more = 0;
  const report = (fault: UpkeepFault) => {
    if (faults.length < MAX_FAULTS) faults.push(fault);
    else more++;
  };

  const broken = new Set<string>();
  for (const fault of await store.upkeep.examine()) {
    report(fault);
    if (fault.stream !== undefined) broken.add(fault.stream);
  }
  for (const { pid, alive, streams } of (await store.upkeep.describe()).owners)
    if (!alive) report(deadOwner(pid, streams));

  const { changed, uncovered } = await readChecksums(store, report);

  for await (const page of listPages(store, {}, signal))
    for (const info of page) {
      const found = await checkStream(store, info, changed.get(info.stream) ?? NONE, signal, (events) => {
        counts.events += events;
        onProgress(counts);
      });
      counts.streams++;
      counts.snapshots += found.snapshots;
      counts.messages += found.messages;
      for (const fault of found.faults) report(fault);
      // What the home itself has named already is not said twice.
      if (found.unread !== undefined && !broken.has(info.stream)) report(damaged(info.stream, found.unread));
      onProgress(counts);
    }
  await checkTables(store, counts, report, signal);
  return { ...counts, ...(uncovered > 0 ? { uncovered } : {}), faults, more };
}

interface CheckedStream {
  readonly snapshots: number;
  readonly messages: number;
  readonly faults: readonly UpkeepFault[];
  /** Why it could not be read to its end. */
  readonly unread?: RuntimeError;
}

async function checkStream(
  store: Store,
  info: StreamInfo,
  /** Its events that do not fit their checksums. */
  changed: ReadonlySet<number>,
  signal: AbortSignal | undefined,
  counted: (events: number) => void,
): Promise<CheckedStream> {
  const { stream, head, status, owner } = info;
  const faults: UpkeepFault[] = [];
  const add = (flaw: StreamFlaw | undefined, hint = fromBackup(stream)) => {
    if (flaw !== undefined && faults.length < MAX_OF_STREAM)
      faults.push({ grade: 'damage', stream, ...flaw, hint });
  };
  if (status === RESTORING)
    faults.push((await isHalfFork(store, info)) ? halfForked(stream) : halfRestored(stream));
  else if (head === 0 && owner === undefined) faults.push(withoutEvents(stream));
  const verifier = createStreamVerifier(info);
  try {
    const snapshots = (await store.snapshots(stream)).filter(({ seq }) => seq <= head);
    let next = 0;
    for await (const page of eventPages(store, stream, { through: head, signal })) {
      for (const line of page) {
        const flaw = verifier.event(line);
        add(flaw ?? (changed.has(verifier.seq) ? changedAt(verifier.seq) : undefined));
        for (; snapshots[next]?.seq === verifier.seq; next++)
          add(verifier.snapshot(verifier.seq, snapshots[next]?.body ?? ''), REFOLD);
      }
      counted(page.length);
    }
    if (verifier.seq < head)
      add({ seq: verifier.seq + 1, found: `The log ends at event ${verifier.seq}; its head says ${head}.` });
    add(wrongStatus(status, verifier.status()), 'Resume it, or cancel it: both write its status anew.');
    add(lostDue(info, verifier.due()), wake(stream));
    const messages = info.messages === undefined ? [] : await store.upkeep.inbox(stream);
    return { snapshots: snapshots.length, messages: messages.length, faults };
  } catch (thrown) {
    signal?.throwIfAborted();
    for (const seq of changed) if (seq > verifier.seq) add(changedAt(seq));
    // Taken out since it was listed.
    if ((await store.info(stream).catch(() => info)) === undefined)
      return { snapshots: 0, messages: 0, faults: [] };
    return { snapshots: 0, messages: 0, faults, unread: toRuntimeError(thrown) };
  }
}

const NONE: ReadonlySet<number> = new Set();

const changedAt = (seq: number): StreamFlaw => ({
  seq,
  found: 'The event was changed after it was written: it does not fit its checksum.',
});

/** By stream, the events that do not fit their checksums. */
async function readChecksums(store: Store, report: (fault: UpkeepFault) => void) {
  const changed = new Map<string, Set<number>>();
  try {
    const found = await store.upkeep.checksums();
    for (const { stream, seq } of found.changed) {
      const seqs = changed.get(stream) ?? new Set();
      changed.set(stream, seqs.add(seq));
    }
    return { changed, uncovered: found.uncovered };
  } catch (thrown) {
    const { message } = toRuntimeError(thrown);
    report({
      grade: 'damage',
      found: `The checksums cannot be read: ${message}`,
      hint: 'Restore the store from a backup. What can still be read is saved by: telltale store export',
    });
    return { changed, uncovered: 0 };
  }
}

/** Statuses that the events do not know: being restored, quarantined, or branched off and not begun. */
const OWN_STATUSES: ReadonlySet<string> = new Set([RESTORING, QUARANTINED, 'interrupted']);

function wrongStatus(status: string, folded: string | undefined): StreamFlaw | undefined {
  if (folded === undefined || folded === status || OWN_STATUSES.has(status)) return undefined;
  return { found: `It is listed as ${status}, but its events say ${folded}.` };
}

/** Earlier is well: it is looked at ahead of its time, and goes on waiting. */
function lostDue({ status, owner, due }: StreamInfo, folded: number | undefined): StreamFlaw | undefined {
  if (folded === undefined || status !== 'waiting' || owner !== undefined) return undefined;
  if (due !== undefined && due <= folded) return undefined;
  const noted = due === undefined ? 'no time at all' : `only ${new Date(due).toISOString()}`;
  return { found: `It waits until ${new Date(folded).toISOString()}, but ${noted} is noted for that.` };
}

async function checkTables(
  store: Store,
  counts: { rows: number; entries: number },
  report: (fault: UpkeepFault) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const reading = async (what: string, read: () => Promise<void>) => {
    try {
      await read();
    } catch (thrown) {
      signal?.throwIfAborted();
      report({
        grade: 'damage',
        found: `${what} cannot be read: ${toRuntimeError(thrown).message}`,
        hint: 'Set what is named anew, or restore it from a backup.',
      });
    }
  };
  await reading('The tables', async () => {
    for await (const _row of allRows(store, signal)) counts.rows++;
  });
  await reading('The lists', async () => {
    for await (const list of allLists(store, signal))
      await reading(`List "${list}"`, async () => {
        for await (const page of entryPages(store, list, 0, signal)) counts.entries += page.length;
      });
  });
}

const damaged = (stream: string, { message, hint = fromBackup(stream) }: RuntimeError): UpkeepFault => ({
  grade: 'damage',
  stream,
  found: message,
  hint,
});

const halfRestored = (stream: string): UpkeepFault => ({
  grade: 'damage',
  stream,
  found: 'It is not whole: a copy or an import into this store was broken off.',
  hint: 'Run the same copy or import again; it goes on from there.',
});

const halfForked = (stream: string): UpkeepFault => ({
  grade: 'note',
  stream,
  found: 'It is not whole: the fork that was to make it was broken off.',
  hint: 'Nothing is lost: fork again. telltale store prune takes this one out when it is old enough.',
});

const withoutEvents = (stream: string): UpkeepFault => ({
  grade: 'note',
  stream,
  found: 'It has no events: whoever made it died before the first.',
  hint: 'Nothing is lost. telltale store prune takes it out when it is old enough.',
});

const deadOwner = (pid: number, streams: number): UpkeepFault => ({
  grade: 'note',
  found: `Process ${pid}, which is dead, is noted as the owner of ${streams} ${streams === 1 ? 'stream' : 'streams'}.`,
  hint: 'Nothing is lost: who works on this store next takes them over.',
});
