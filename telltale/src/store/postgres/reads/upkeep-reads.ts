import type { Described, Results } from '../../grouped/messages.ts';
import { streamUnknown } from '../../store-errors.ts';
import { fromBackup } from '../../upkeep/append-committed.ts';
import type { ChecksumReport, Compacted, UpkeepFault } from '../../upkeep/upkeep.ts';
import { MIGRATIONS } from '../schema/migrations.ts';
import { AGE_MS, CHECKSUM, CHECKSUM_DIGITS } from '../schema/stream-writes.ts';
import type { AskPrepared, Row } from '../writer-link.ts';

export interface UpkeepReads {
  describe(): Promise<Described>;
  weigh(stream: string): Promise<number>;
  rows(after: readonly [string, string] | null, limit: number, now: number): Promise<Results['rows']>;
  lists(after: string, limit: number): Promise<readonly string[]>;
  examine(): Promise<readonly UpkeepFault[]>;
  checksums(): Promise<ChecksumReport>;
  compact(): Promise<Compacted>;
}

export interface UpkeepReadDeps {
  readonly ask: AskPrepared;
  readonly schema: string;
  readonly hasGraphs: () => boolean;
}

const CHUNK_BYTES = 1024 * 1024;
/** Of one kind; whoever has more has to begin with these. */
const MOST = 50;
/** Changed events that are named. */
const MOST_CHANGED = 1_000;
const RESTORE =
  'Restore the database from a backup. What can still be read is saved by: telltale store export';

export function createUpkeepReads({ ask, schema, hasGraphs }: UpkeepReadDeps): UpkeepReads {
  const S = `"${schema}"`;

  const bytes = async (): Promise<number> => {
    const sql = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`;
    const [row] = await ask('bytes', sql, [schema]);
    return Number(row?.[0]);
  };

  return {
    async describe() {
      const [counts] = await ask(
        'describe',
        `SELECT (SELECT count(*) FROM ${S}.streams WHERE kind = 'session'),
          (SELECT count(*) FROM ${S}.streams WHERE kind = 'run'),
          (SELECT coalesce(sum(head), 0) FROM ${S}.heads), (SELECT count(*) FROM ${S}.inbox),
          (SELECT count(*) FROM ${S}.kv), (SELECT count(DISTINCT tab) FROM ${S}.kv),
          (SELECT count(DISTINCT list) FROM ${S}.lists), (SELECT count(*) FROM ${S}.lists)`,
        [],
      );
      const [sessions, runs, events, messages, rows, tables, lists, entries] = (counts ?? []).map(Number);
      const owners = await ask(
        'described_owners',
        `SELECT w.id, w.pid, w.started_at, w.host, ${AGE_MS},
          (SELECT count(*) FROM ${S}.heads h WHERE h.owner = w.id) FROM ${S}.owners w WHERE w.gone_at IS NULL ORDER BY w.id`,
        [],
      );
      return {
        kind: 'postgres',
        version: MIGRATIONS.length,
        bytes: await bytes(),
        freeBytes: 0,
        sessions: sessions ?? 0,
        runs: runs ?? 0,
        events: events ?? 0,
        messages: messages ?? 0,
        rows: rows ?? 0,
        tables: tables ?? 0,
        lists: lists ?? 0,
        entries: entries ?? 0,
        graphs: hasGraphs(),
        owners: owners.map(([id, pid, startedAt, host, age, streams]) => ({
          owner: {
            id: Number(id),
            pid: Number(pid),
            startedAt: Number(startedAt),
            place: String(host),
            beatAgeMs: Number(age),
            epoch: 0,
          },
          streams: Number(streams),
        })),
      };
    },
    async weigh(stream) {
      const sum = (column: string, table: string) =>
        `(SELECT coalesce(sum(octet_length(${column})), 0) FROM ${S}.${table} WHERE stream = s.id)`;
      const sql = `SELECT ${sum('body', 'log')} + ${sum('body', 'snapshots')} + ${sum('message', 'inbox')}
        FROM ${S}.streams s WHERE s.stream = $1`;
      const [row] = await ask('weigh', sql, [stream]);
      if (row === undefined) throw streamUnknown(stream);
      return Number(row[0]);
    },
    async rows(after, limit, now) {
      const sql = `SELECT tab, key, value, expires_at FROM (
          SELECT k.*, sum(octet_length(value)) OVER (ORDER BY tab, key) - octet_length(value) AS before FROM (
            SELECT tab, key, value, expires_at FROM ${S}.kv
            WHERE (tab, key) > ($1, $2) AND (expires_at IS NULL OR expires_at > $3) ORDER BY tab, key LIMIT $4
          ) k
        ) c WHERE before < ${CHUNK_BYTES} ORDER BY tab, key`;
      const rows = await ask('rows', sql, [after?.[0] ?? '', after?.[1] ?? '', now, limit]);
      return rows.map(([table, key, value, expiresAt]) => ({
        table: String(table),
        key: String(key),
        value: String(value),
        expiresAt: expiresAt === null ? null : Number(expiresAt),
      }));
    },
    async lists(after, limit) {
      const sql = `SELECT DISTINCT list FROM ${S}.lists WHERE list > $1 ORDER BY list LIMIT $2`;
      return (await ask('lists', sql, [after, limit])).map(([list]) => String(list));
    },
    async examine() {
      const faults: UpkeepFault[] = [];
      for (const [name, { sql, fault }] of Object.entries(questions(S)))
        for (const row of await ask(`examine_${name}`, `${sql} LIMIT ${MOST}`, [])) {
          const found = fault(row);
          const hint = found.stream === undefined ? RESTORE : fromBackup(found.stream);
          faults.push({ grade: 'damage', hint, ...found });
        }
      return faults;
    },
    async checksums() {
      const [sum] = await ask(
        'uncovered',
        `SELECT coalesce(sum(count), 0) FROM ${S}.log WHERE sums IS NULL`,
        [],
      );
      const changed = await ask(
        'changed',
        `SELECT s.stream, l.first + e.n - 1 FROM ${S}.log l JOIN ${S}.streams s ON s.id = l.stream,
            unnest(string_to_array(l.body, chr(10))) WITH ORDINALITY AS e(line, n)
          WHERE l.sums IS NOT NULL
            AND substr(l.sums, ((e.n - 1) * ${CHECKSUM_DIGITS} + 1)::integer, ${CHECKSUM_DIGITS}) <> ${CHECKSUM}
          ORDER BY s.id, l.first, e.n LIMIT ${MOST_CHANGED}`,
        [],
      );
      return {
        changed: changed.map(([stream, seq]) => ({ stream: String(stream), seq: Number(seq) })),
        uncovered: Number(sum?.[0]),
      };
    },
    async compact() {
      // A message that came in the moment in which its stream was taken out.
      const sql = `DELETE FROM ${S}.inbox i WHERE NOT EXISTS (SELECT 1 FROM ${S}.streams s WHERE s.id = i.stream)`;
      await ask('sweep_inbox', sql, []);
      const size = await bytes();
      return { beforeBytes: size, afterBytes: size, left: 'by_itself' };
    },
  };
}

interface UpkeepReadsQuestion {
  readonly sql: string;
  readonly fault: (row: Row) => Omit<UpkeepFault, 'grade' | 'hint'> & Partial<UpkeepFault>;
}

/** A row of an answer is something wrong. */
const questions = (S: string): Readonly<Record<string, UpkeepReadsQuestion>> => ({
  headless: {
    sql: `SELECT s.stream FROM ${S}.streams s LEFT JOIN ${S}.heads h ON h.id = s.id WHERE h.id IS NULL`,
    fault: ([stream]) => ({ stream: String(stream), found: 'It has no head, so that nobody can find it.' }),
  },
  stray_heads: {
    sql: `SELECT h.id FROM ${S}.heads h LEFT JOIN ${S}.streams s ON s.id = h.id WHERE s.id IS NULL`,
    fault: ([id]) => ({ found: `Head ${id} belongs to no stream.` }),
  },
  gaps: {
    sql: `SELECT s.stream, g.due FROM (
        SELECT stream, first, lag(first + count, 1, 1::bigint) OVER (PARTITION BY stream ORDER BY first) AS due FROM ${S}.log
      ) g JOIN ${S}.streams s ON s.id = g.stream WHERE g.first <> g.due`,
    fault: ([stream, due]) => ({
      stream: String(stream),
      seq: Number(due),
      found: `Event ${due} is missing or out of place.`,
    }),
  },
  lengths: {
    sql: `SELECT s.stream, h.head, coalesce(sum(l.count), 0) FROM ${S}.streams s JOIN ${S}.heads h ON h.id = s.id
      LEFT JOIN ${S}.log l ON l.stream = s.id GROUP BY s.stream, h.head HAVING coalesce(sum(l.count), 0) <> h.head`,
    fault: ([stream, head, found]) => ({
      stream: String(stream),
      found: `Its head says ${head} events, and the log has ${found}.`,
    }),
  },
  counts: {
    sql: `SELECT s.stream, l.first, l.count FROM ${S}.log l JOIN ${S}.streams s ON s.id = l.stream
      WHERE l.count <> length(l.body) - length(replace(l.body, chr(10), '')) + 1`,
    fault: ([stream, first, count]) => ({
      stream: String(stream),
      seq: Number(first),
      found: `${count} events were written from ${first} on, and others are there.`,
    }),
  },
  stray_log: {
    sql: `SELECT l.stream, count(*) FROM ${S}.log l LEFT JOIN ${S}.streams s ON s.id = l.stream
      WHERE s.id IS NULL GROUP BY l.stream`,
    fault: ([stream, n]) => ({ found: `${n} rows of the log belong to no stream (${stream}).` }),
  },
  snapshots: {
    sql: `SELECT s.stream, x.seq FROM ${S}.snapshots x JOIN ${S}.streams s ON s.id = x.stream
      JOIN ${S}.heads h ON h.id = s.id WHERE x.seq > h.head`,
    fault: ([stream, seq]) => ({
      stream: String(stream),
      seq: Number(seq),
      found: `A snapshot stands for event ${seq}, which is not there.`,
    }),
  },
  stray_snapshots: {
    sql: `SELECT x.stream, x.seq FROM ${S}.snapshots x LEFT JOIN ${S}.streams s ON s.id = x.stream WHERE s.id IS NULL`,
    fault: ([stream, seq]) => ({ found: `A snapshot of event ${seq} belongs to no stream (${stream}).` }),
  },
  stray_messages: {
    sql: `SELECT i.id, i.stream FROM ${S}.inbox i LEFT JOIN ${S}.streams s ON s.id = i.stream WHERE s.id IS NULL`,
    // It came in the moment in which its stream was taken out.
    fault: ([id, stream]) => ({
      grade: 'note',
      found: `Message ${id} is for no stream (${stream}).`,
      hint: 'Nothing is lost: telltale store prune takes it out.',
    }),
  },
  kinds: {
    sql: `SELECT stream, kind FROM ${S}.streams WHERE kind NOT IN ('session', 'run')`,
    fault: ([stream, kind]) => ({
      stream: String(stream),
      found: `It is of a kind that is unknown: ${kind}.`,
    }),
  },
  lists: {
    sql: `SELECT list, count(*), max(n) FROM ${S}.lists GROUP BY list HAVING count(*) <> max(n)`,
    fault: ([list, found, last]) => ({ found: `List "${list}" has ${found} of its ${last} entries.` }),
  },
});
