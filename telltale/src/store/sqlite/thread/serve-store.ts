import type { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { FromBackend, Outcome, ToBackend } from '../../grouped/messages.ts';
import { storeGone } from '../sqlite-errors.ts';
import type { ThreadSettings } from '../thread-settings.ts';
import { createAppendRows } from './append-rows.ts';
import { createAttention } from './attention.ts';
import { createCheckpoints } from './checkpoints.ts';
import { compareChecksums } from './checksums.ts';
import { describeFailure } from './describe-failure.ts';
import { createDoorbell } from './doorbell.ts';
import { examineFile } from './examine-file.ts';
import { identityOf, isSameFile } from './is-in-place.ts';
import { createListStreams } from './list-streams.ts';
import { openDatabase } from './open-database.ts';
import { createOwnership } from './ownership.ts';
import { performRead, performWrite, type Rows } from './perform.ts';
import { createReadStream } from './read-stream.ts';
import { createRunGroup } from './run-group.ts';
import { startCheckpointer } from './start-checkpointer.ts';
import { createStreamRows } from './stream-rows.ts';
import { createTableRows } from './table-rows.ts';
import { createUpkeepRows } from './upkeep-rows.ts';
import { writtenChars } from './written-chars.ts';

type Group = Extract<ToBackend, { readonly kind: 'group' }>;

/** Opens the file and answers messages. Undefined, and `refused` told, where it cannot be opened. */
export function serveStore(
  settings: ThreadSettings,
  tell: (message: FromBackend) => void,
  end: () => void,
): ((message: ToBackend) => void) | undefined {
  const describe = (thrown: unknown): RuntimeError =>
    describeFailure(settings.path, settings.lockTimeoutMs, thrown);
  try {
    const serve = open(settings, tell, end, describe);
    tell({ kind: 'opened' });
    return serve;
  } catch (error) {
    tell({ kind: 'refused', error: describe(error).toJSON() });
    end();
    return undefined;
  }
}

function open(
  settings: ThreadSettings,
  tell: (message: FromBackend) => void,
  end: () => void,
  describe: (thrown: unknown) => RuntimeError,
): (message: ToBackend) => void {
  const { db, mustBeAsFound } = openDatabase(settings);
  const file = identityOf(settings.path);
  const bell = createDoorbell(settings);
  const ownership = createOwnership(db, settings, bell);
  const tables = createTableRows(db);
  const appends = createAppendRows(db, tables);
  const attention = createAttention({ db, ownership, tell });
  const checkpoints = createCheckpoints(db, { beside: () => startCheckpointer(settings, file) });
  /** Doorbells of owners whose streams got a message. */
  const toRing = new Set<string>();
  const rows: Rows = {
    appends,
    tables,
    streams: createStreamRows(db, ownership),
    lists: createListStreams(db, ownership),
    readStream: createReadStream(db, settings.path),
    upkeep: createUpkeepRows(db, ownership),
    examine: () => examineFile(db),
    checksums: () => compareChecksums(db),
    messaged(owner) {
      const path = owner === ownership.id ? undefined : ownership.doorbellOf(owner);
      if (path !== undefined) toRing.add(path);
    },
  };
  bell.sweep();
  const runGroup = createRunGroup({
    db,
    appends,
    ownership,
    describe,
    perform: (request, now) => performWrite(rows, request, now),
  });

  const write = ({ writes, now }: Group): FromBackend => {
    const begun = performance.now();
    try {
      // SQLite would go on with a file that no name leads to any more, and all of it be lost at the end.
      if (!isSameFile(settings.path, file)) throw storeGone(settings.path);
      const outcomes = runGroup(writes, now);
      const ms = performance.now() - begun;
      return outcomes.size === 0
        ? { kind: 'committed', ms }
        : { kind: 'written', outcomes: [...outcomes], ms };
    } catch (error) {
      toRing.clear();
      return { kind: 'failed', error: describe(error).toJSON() };
    }
  };

  /** After the answer is out: nobody waits for these. */
  const tidy = ({ writes }: Group, isCommitted: boolean) => {
    for (const path of toRing) bell.ring(path);
    toRing.clear();
    if (ownership.id !== null) {
      attention.startOwning();
      bell.listen(attention.look);
    }
    if (isCommitted) checkpoints.committed(writtenChars(writes));
  };

  const close = (): FromBackend => {
    attention.stop();
    checkpoints.stop();
    bell.close();
    try {
      ownership.resign();
      return { kind: 'closed' };
    } catch (error) {
      return { kind: 'closed', error: describe(error).toJSON() };
    } finally {
      db.close();
    }
  };

  return (message) => {
    switch (message.kind) {
      case 'group': {
        const written = message.writes.length > 0 ? write(message) : undefined;
        if (written !== undefined) tell(written);
        if (message.reads.length > 0) {
          const answer = (request: Group['reads'][number]): Outcome =>
            performRead(rows, request, message.now, describe, mustBeAsFound);
          tell({ kind: 'answers', outcomes: message.reads.map(answer) });
        }
        if (written !== undefined) tidy(message, written.kind !== 'failed');
        return;
      }
      case 'watch':
        attention.watch(message.stream, message.on);
        return;
      case 'close':
        tell(close());
        end();
    }
  };
}
