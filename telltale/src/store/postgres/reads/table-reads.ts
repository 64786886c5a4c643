import type { ReadRequest, Results } from '../../grouped/messages.ts';
import type { AskPrepared } from '../ask.ts';

type Keys = Extract<ReadRequest, { readonly op: 'keys' }>;
type Entries = Extract<ReadRequest, { readonly op: 'entries' }>;

export interface TableReads {
  get(table: string, key: string, now: number): Promise<string | null>;
  keys(request: Keys, now: number): Promise<readonly string[]>;
  entries(request: Entries): Promise<Results['entries']>;
}

const LAST_CHARACTER = 0x10ffff;

/** `S` is the schema, quoted. */
export function createTableReads(ask: AskPrepared, S: string): TableReads {
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
