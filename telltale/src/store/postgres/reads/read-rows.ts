import type { ListedStream, ListRequest, ReadChunk, ReadRequest, Results } from '../../grouped/messages.ts';
import { streamUnknown } from '../../store-errors.ts';
import { databaseDamaged } from '../postgres-errors.ts';
import { AGE_MS } from '../schema/stream-writes.ts';
import type { AskPrepared, Row } from '../writer-link.ts';
import { createUpkeepReads } from './upkeep-reads.ts';

/** A longer answer comes in several: no message grows without bound. Rows are at most so many, whatever their size. */
const CHUNK_BYTES = 1024 * 1024;
const CHUNK_ROWS = 4_096;

/** Answers one read. Throws a RuntimeError for what is not there, else what PostgreSQL threw. */
export type ReadRows = (request: ReadRequest, now: number) => Promise<Results[ReadRequest['op']]>;

export interface RowsReadDeps {
  readonly ask: AskPrepared;
  /** For what may take its time. */
  readonly askLong: AskPrepared;
  readonly schema: string;
  readonly place: string;
  /** Whether there is a file of knowledge graphs beside it. */
  readonly hasGraphs: () => boolean;
}

export function createReadRows({ ask, askLong, schema, place, hasGraphs }: RowsReadDeps): ReadRows {
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

type Keys = Extract<ReadRequest, { readonly op: 'keys' }>;
type Entries = Extract<ReadRequest, { readonly op: 'entries' }>;

export interface TableReads {
  get(table: string, key: string, now: number): Promise<string | null>;
  keys(request: Keys, now: number): Promise<readonly string[]>;
  entries(request: Entries): Promise<Results['entries']>;
}

const LAST_CHARACTER = 0x10ffff;

/** `S` is the schema, quoted. */
function createTableReads(ask: AskPrepared, S: string): TableReads {
  return {
    async get(table, key, now) {
      const sql = `SELECT value FROM ${S}.kv WHERE tab = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > $3)`;
      const [row] = await ask('get', sql, [table, key, now]);
      return row === undefined ? null : String(row[0]);
    },
    async keys({ table, prefix, after, limit }, now) {
      const end = behind(prefix);
      const sql = `SELECT key FROM ${S}.kv WHERE tab = $1 AND key >= $2 AND key > $3
        AND (expires_at IS NULL OR expires_at > $4) ${end === undefined ? '' : 'AND key < $6'} ORDER BY key LIMIT $5`;
      const values = [table, prefix, after, now, limit];
      const rows = await ask(
        end === undefined ? 'keys' : 'keys_to',
        sql,
        end === undefined ? values : [...values, end],
      );
      return rows.map(([key]) => String(key));
    },
    async entries({ list, after, last, limit }) {
      const sql = (order: 'ASC' | 'DESC') =>
        `SELECT n, at, value FROM ${S}.lists WHERE list = $1 AND n > $2 ORDER BY n ${order} LIMIT $3`;
      const rows =
        last === null
          ? await ask('entries', sql('ASC'), [list, after, limit])
          : (await ask('newest', sql('DESC'), [list, after, Math.min(last, limit)])).toReversed();
      return rows.map(([n, at, value]) => ({ n: Number(n), at: Number(at), value: String(value) }));
    },
  };
}

/** The first text, in the order of bytes, behind all that begin with this one; undefined where there is none. */
function behind(prefix: string): string | undefined {
  const characters = [...prefix];
  for (let last = characters.pop(); last !== undefined; last = characters.pop()) {
    const code = last.codePointAt(0) ?? 0;
    // Those in between are halves of pairs, which are no characters.
    const next = code === 0xd7ff ? 0xe000 : code + 1;
    if (code < LAST_CHARACTER) return characters.join('') + String.fromCodePoint(next);
  }
  return undefined;
}

export interface ListRows {
  info(stream: string): Promise<ListedStream | null>;
  /** Newest first. */
  list(request: ListRequest): Promise<readonly ListedStream[]>;
}

/** `S` is the schema, quoted. */
function createListRows(ask: AskPrepared, S: string): ListRows {
  const COLUMNS = `SELECT s.id, s.stream, s.kind, s.name, s.title, s.parent, s.created_at,
    h.status, h.updated_at, h.head, h.due_at, (SELECT count(*) FROM ${S}.inbox i WHERE i.stream = s.id),
    w.id, w.pid, w.started_at, w.host, ${AGE_MS}, h.epoch
    FROM ${S}.streams s JOIN ${S}.heads h ON h.id = s.id
    LEFT JOIN ${S}.owners w ON w.id = h.owner AND w.gone_at IS NULL`;

  return {
    async info(stream) {
      const [row] = await ask('info', `${COLUMNS} WHERE s.stream = $1`, [stream]);
      return row === undefined ? null : listed(row);
    },
    async list({ kind, status, name, parent, before, limit }) {
      const tests = ['s.id < $1'];
      const values: unknown[] = [before ?? Number.MAX_SAFE_INTEGER];
      const test = (sql: (parameter: string) => string, value: unknown) => {
        values.push(value);
        tests.push(sql(`$${values.length}`));
      };
      for (const [column, value] of Object.entries({ kind, name, parent }))
        if (value !== null) test((parameter) => `s.${column} = ${parameter}`, value);
      if (status !== null) test((parameter) => `h.status = ANY (${parameter}::text[])`, status);
      values.push(limit);
      const sql = `${COLUMNS} WHERE ${tests.join(' AND ')} ORDER BY s.id DESC LIMIT $${values.length}`;
      const which = [kind, name, parent, status].map((one) => (one === null ? '0' : '1')).join('');
      const rows = await ask(`list_${which}`, sql, values);
      return rows.map(listed);
    },
  };
}

function listed(row: Row): ListedStream {
  const [id, stream, kind, name, title, parent, createdAt, status, updatedAt, head, due, messages, ...rest] =
    row;
  const [owner, pid, startedAt, host, age, epoch] = rest;
  return {
    id: Number(id),
    stream: String(stream),
    kind: kind === 'run' ? 'run' : 'session',
    name: String(name),
    status: String(status),
    title: String(title),
    ...(parent === null ? {} : { parent: String(parent) }),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
    head: Number(head),
    owner:
      owner === null
        ? null
        : {
            id: Number(owner),
            pid: Number(pid),
            startedAt: Number(startedAt),
            place: String(host),
            beatAgeMs: Number(age),
            epoch: Number(epoch),
          },
    ...(messages === '0' ? {} : { messages: Number(messages) }),
    ...(due === null ? {} : { due: Number(due) }),
  };
}
