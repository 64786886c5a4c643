import type { ListedStream, ListRequest } from '../../grouped/messages.ts';
import type { AskPrepared, Row } from '../ask.ts';
import { AGE_MS } from '../schema/stream-writes.ts';

export interface ListRows {
  info(stream: string): Promise<ListedStream | null>;
  /** Newest first. */
  list(request: ListRequest): Promise<readonly ListedStream[]>;
}

/** `S` is the schema, quoted. */
export function createListRows(ask: AskPrepared, S: string): ListRows {
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
