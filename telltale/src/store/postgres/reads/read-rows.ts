import type { ReadChunk, ReadRequest, Results } from '../../grouped/messages.ts';
import { streamUnknown } from '../../store-errors.ts';
import type { AskPrepared } from '../ask.ts';
import { databaseDamaged } from '../postgres-errors.ts';
import { AGE_MS } from '../schema/stream-writes.ts';
import { createListRows } from './list-rows.ts';
import { createTableReads } from './table-reads.ts';
import { createUpkeepReads } from './upkeep-reads.ts';

/** A longer answer comes in several: no message grows without bound. Rows are at most so many, whatever their size. */
const CHUNK_BYTES = 1024 * 1024;
const CHUNK_ROWS = 4_096;

/** Answers one read. Throws a RuntimeError for what is not there, else what PostgreSQL threw. */
export type ReadRows = (request: ReadRequest, now: number) => Promise<Results[ReadRequest['op']]>;

export interface ReadDeps {
  readonly ask: AskPrepared;
  /** For what may take its time. */
  readonly askLong: AskPrepared;
  readonly schema: string;
  readonly place: string;
  /** Whether there is a file of knowledge graphs beside it. */
  readonly hasGraphs: () => boolean;
}

export function createReadRows({ ask, askLong, schema, place, hasGraphs }: ReadDeps): ReadRows {
  const S = `"${schema}"`;
  const lists = createListRows(ask, S);
  const tables = createTableReads(ask, S);
  const upkeep = createUpkeepReads({ ask: askLong, schema, hasGraphs });

  /** One row at least where there is such a stream: its head. The rows of the log have their number from the third on. */
  const READ = `
    SELECT f.id, f.head, l.first, l.count, l.body FROM (
      SELECT s.id, h.head FROM ${S}.streams s JOIN ${S}.heads h ON h.id = s.id WHERE s.stream = $1
    ) f LEFT JOIN LATERAL (
      SELECT r.first, r.count, r.body, sum(octet_length(r.body)) OVER (ORDER BY r.first) - octet_length(r.body) AS before FROM (
        SELECT g.first, g.count, g.body FROM ${S}.log g
        WHERE g.stream = f.id AND g.first <= least(f.head, $3::bigint) AND g.first >= coalesce(
          (SELECT b.first FROM ${S}.log b WHERE b.stream = f.id AND b.first <= $2 ORDER BY b.first DESC LIMIT 1), 0)
        ORDER BY g.first LIMIT ${CHUNK_ROWS}
      ) r
    ) l ON l.before < ${CHUNK_BYTES} ORDER BY l.first`;

  const read = async (stream: string, from: number, limit: number): Promise<ReadChunk> => {
    const last = limit <= 0 ? 0 : Math.min(from + limit - 1, Number.MAX_SAFE_INTEGER);
    const rows = await ask('read', READ, [stream, from, last]);
    if (rows.length === 0) throw streamUnknown(stream);
    const end = Math.min(Number(rows[0]?.[1]), last);
    const bodies: string[] = [];
    let [first, next] = [from, from];
    if (next > end) return { first, bodies, next: null };
    for (const [, , at, count, body] of rows) {
      if (bodies.length === 0) first = Number(at);
      else if (Number(at) !== next) throw gap(stream, next);
      bodies.push(String(body));
      next = Number(at) + Number(count);
    }
    if (rows[0]?.[2] === null || first > from) throw gap(stream, from);
    return { first, bodies, next: next <= end ? next : null };
  };
  const gap = (stream: string, seq: number) =>
    databaseDamaged(place, `event ${seq} of stream "${stream}" is missing`);

  const idOf = async (stream: string): Promise<string> => {
    const [row] = await ask('id', `SELECT id FROM ${S}.streams WHERE stream = $1`, [stream]);
    if (row === undefined) throw streamUnknown(stream);
    return String(row[0]);
  };

  return async (request, now) => {
    switch (request.op) {
      case 'read':
        return read(request.stream, request.from, request.limit);
      case 'snapshots': {
        const sql = `SELECT seq, body FROM ${S}.snapshots WHERE stream = $1 ORDER BY seq`;
        const rows = await ask('snapshots', sql, [await idOf(request.stream)]);
        return rows.map(([seq, body]) => ({ seq: Number(seq), body: String(body) }));
      }
      case 'info':
        return lists.info(request.stream);
      case 'list':
        return lists.list(request);
      case 'owners': {
        const sql = `SELECT w.id, w.pid, w.started_at, w.host, ${AGE_MS} FROM ${S}.owners w WHERE w.gone_at IS NULL`;
        const rows = await ask('owners', sql, []);
        return rows.map(([id, pid, startedAt, host, age]) => ({
          id: Number(id),
          pid: Number(pid),
          startedAt: Number(startedAt),
          place: String(host),
          beatAgeMs: Number(age),
          epoch: 0,
        }));
      }
      case 'inbox': {
        const sql = `SELECT i.id, i.at, i.message FROM ${S}.streams s JOIN ${S}.inbox i ON i.stream = s.id
          WHERE s.stream = $1 ORDER BY i.id`;
        const rows = await ask('inbox', sql, [request.stream]);
        return rows.map(([id, at, message]) => ({
          id: Number(id),
          at: Number(at),
          message: String(message),
        }));
      }
      case 'get':
        return tables.get(request.table, request.key, now);
      case 'keys':
        return tables.keys(request, now);
      case 'entries':
        return tables.entries(request);
      case 'describe':
        return upkeep.describe();
      case 'weigh':
        return upkeep.weigh(request.stream);
      case 'rows':
        return upkeep.rows(request.after, request.limit, now);
      case 'lists':
        return upkeep.lists(request.after, request.limit);
      case 'examine':
        return upkeep.examine();
      case 'checksums':
        return upkeep.checksums();
      case 'compact':
        return upkeep.compact();
    }
  };
}
