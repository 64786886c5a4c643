import type { Clock } from '../../kernel/clock.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { stopWith } from '../../kernel/stop-with.ts';
import type { Target } from '../../targets/target.ts';

/** One value, as a relic keeps it. */
export interface KeptRow {
  readonly scope: string;
  readonly name: string;
  readonly value: Json;
  /** When it was set: an older write never undoes a newer one. */
  readonly at: number;
}

/** Variables in a table of a `sql` relic. All reject with `variable_store`, whatever is wrong with the database. */
export interface SqlVariables {
  read(wanted: readonly Pick<KeptRow, 'scope' | 'name'>[]): Promise<ReadonlyMap<string, Json>>;
  write(rows: readonly KeptRow[]): Promise<void>;
}

/** How long a database may take: a turn waits for it. */
const DEADLINE_MS = 5_000;

const TABLE = 'telltale_variables';

const CREATE = `CREATE TABLE IF NOT EXISTS ${TABLE} (scope TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY KEY (scope, name))`;

const UPSERT = `INSERT INTO ${TABLE} (scope, name, value, updated_at) VALUES ($1, $2, $3, $4) ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at WHERE ${TABLE}.updated_at <= excluded.updated_at`;

export function createSqlVariables(
  relic: string,
  target: Target | undefined,
  session: string,
  clock: Clock,
): SqlVariables {
  let created = false;

  const call = async (input: JsonObject): Promise<Json> => {
    if (target === undefined) throw noRelic(relic);
    const deadline = new AbortController();
    const disarm = clock.after(DEADLINE_MS, () => stopWith(deadline, tooSlow(relic)));
    const agent = () => ({});
    try {
      const wrong = target.check(input);
      if (wrong !== undefined) throw wrong;
      // The manifest names the relic as the place of the variable: that is its word, and no action of the model's.
      const granted = (await target.needs?.(input, { agent }))?.grants;
      return await target.run({
        session,
        id: 'variables',
        input,
        attempt: 1,
        signal: deadline.signal,
        idempotencyKey: `${session}:variables`,
        agent,
        granted,
        progress: () => undefined,
      });
    } finally {
      disarm();
    }
  };

  const inTable = async (input: JsonObject): Promise<Json> => {
    try {
      if (!created) {
        // Two that create it at once may refuse each other, and one may be there that nobody here may create: what
        // follows tells whether there is one.
        await call({ operation: 'execute', sql: CREATE, params: [] }).catch(() => undefined);
        created = true;
      }
      return await call(input);
    } catch (thrown) {
      created = false;
      throw storeFailed(relic, thrown);
    }
  };

  return {
    async read(wanted) {
      const where = wanted.map((_, n) => `(scope = $${2 * n + 1} AND name = $${2 * n + 2})`).join(' OR ');
      const params = wanted.flatMap(({ scope, name }) => [scope, name]);
      const sql = `SELECT name, value FROM ${TABLE} WHERE ${where}`;
      const { rows } = (await inTable({ operation: 'query', sql, params })) as {
        readonly rows: JsonObject[];
      };
      return new Map(
        rows.flatMap(({ name, value }) => {
          const read = readValue(value);
          return read === undefined ? [] : [[String(name), read] as const];
        }),
      );
    },
    async write(rows) {
      const statements = rows.map(({ scope, name, value, at }) => ({
        sql: UPSERT,
        params: [scope, name, JSON.stringify(value), at],
      }));
      await inTable({ operation: 'transaction', statements });
    },
  };
}

/** Undefined for what somebody else put there and is no JSON. */
function readValue(text: unknown): Json | undefined {
  try {
    return JSON.parse(String(text)) as Json;
  } catch {
    return undefined;
  }
}

const noRelic = (relic: string) =>
  new RuntimeError('target_unknown', `No relic is named "${relic}".`, {
    hint: 'Import a relic of driver sql of that name in "import: { relics }".',
  });

const tooSlow = (relic: string) =>
  new RuntimeError('timeout', `The relic "${relic}" gave no answer within ${DEADLINE_MS} ms.`, {
    retryable: true,
  });

const storeFailed = (relic: string, thrown: unknown) => {
  const cause = toRuntimeError(thrown);
  return new RuntimeError('variable_store', `The relic "${relic}" could not be used: ${cause.message}`, {
    hint: cause.hint,
    retryable: true,
    cause,
  });
};
