import { deepEqual } from '../../expressions/values.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, stopWith, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { SessionState } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Store, TableWrite } from '../../store/store.ts';
import type { Target, TargetTable } from '../../tools/target.ts';
import type { SessionLog } from '../session-log.ts';
import {
  DEFAULT_USER,
  type DefinedVariable,
  scopeOf,
  type VariableKeys,
  valueProblem,
} from './declared-variables.ts';

export interface VariableStoreDeps {
  readonly manifest: AgentManifest;
  readonly targets: Pick<TargetTable, 'find'>;
  readonly store: Store;
  readonly clock: Clock;
}

/** Stores the defined variables of a session. */
export interface VariableStore {
  /** The table writes of a change: the value, or a note that a relic has yet to store it. */
  writes(variable: DefinedVariable, value: Json): readonly TableWrite[];
  /** Call it when the change is on the log at `seq`. A relic gets the value after the commit. */
  wrote(variable: DefinedVariable, seq: number): void;
  /** Before a turn: reads values that others have set, and retries failed writes to relics. */
  refresh(): Promise<void>;
  /** Resolves when no write to a relic is running. */
  settled(): Promise<void>;
}

/** The table of a scope. */
export const tableOf = (scope: string) => `variables:${scope}`;

/** Values that relics have not stored yet. A row is written in the transaction of the change. */
const pendingTable = (session: string) => `variables.owed:${session}`;

type PendingVariable = StoredVariable & { readonly relic: string };

/** How many of them are read at once. The rest follows after the next restart. */
const MAX_OWED = 1_000;

export interface StoredValues {
  readonly values: JsonObject;
  /** Stores that could not be read, and values of the wrong type. Earlier values stay in effect. */
  readonly problems: readonly RuntimeError[];
}

/** Reads stored values. Values of the wrong type are left out. */
export async function readStoredValues(
  { targets, store, clock }: VariableStoreDeps,
  variables: readonly DefinedVariable[],
  keys: VariableKeys,
): Promise<StoredValues> {
  const problems: RuntimeError[] = [];
  const values = new Map<string, Json>();
  const placed = variables.flatMap((variable) => {
    const scope = scopeOf(variable, keys);
    return scope === undefined ? [] : [{ variable, scope }];
  });
  const take = (variable: DefinedVariable, value: Json | undefined) => {
    if (value === undefined) return;
    const wrong = valueProblem(variable, value);
    if (wrong === undefined) values.set(variable.name, value);
    else problems.push(misfit(wrong));
  };
  const own = placed.filter(({ variable }) => variable.store === undefined);
  const relics = [...new Set(placed.flatMap(({ variable }) => variable.store ?? []))];
  await Promise.all([
    ...own.map(async ({ variable, scope }) =>
      take(variable, await store.tables.get(tableOf(scope), variable.name)),
    ),
    ...relics.map(async (relic) => {
      const there = placed.filter(({ variable }) => variable.store === relic);
      try {
        const found = await createSqlVariables(relic, targets.find('relic', relic), keys.session, clock).read(
          there.map(({ variable, scope }) => ({ scope, name: variable.name })),
        );
        for (const { variable } of there) take(variable, found.get(variable.name));
      } catch (thrown) {
        problems.push(toRuntimeError(thrown));
      }
    }),
  ]);
  return { values: Object.fromEntries(values), problems };
}

function keysOf(state: SessionState): VariableKeys {
  const { id, agent, user = DEFAULT_USER, metadata } = state;
  return { session: id, agent, user, metadata };
}

/** Undefined if the agent defines no variables. */
export function createVariableStore(deps: VariableStoreDeps, log: SessionLog): VariableStore | undefined {
  const { defined } = deps.manifest.context_variables;
  if (defined.length === 0) return undefined;
  const { store, targets, clock } = deps;
  const { state } = log;
  const relics = new Map<string, SqlVariables>();
  /** Values on the log that their relic has not stored yet. */
  const pending = new Map<string, PendingVariable>();
  const fresh = new Map<string, PendingVariable>();
  /** The current scope of each variable. */
  let scopes: Map<string, string | undefined> | undefined;
  const scopesNow = () => {
    scopes ??= scopesOf(defined, keysWhenAsked(state));
    return scopes;
  };
  const told = new Set<string>();
  let pendingRead = false;
  let writing: Promise<void> = Promise.resolve();

  const relicOf = (name: string): SqlVariables => {
    const known = relics.get(name);
    if (known !== undefined) return known;
    const made = createSqlVariables(name, targets.find('relic', name), state.id, clock);
    relics.set(name, made);
    return made;
  };

  /**
   * Reports a problem once until writing works again, so that a database failure does not repeat in every
   * turn.
   */
  const tell = (message: string) => {
    if (told.has(message)) return;
    told.add(message);
    log.append({ type: 'fault', code: 'variable_store', message });
  };

  /**
   * Writes pending values to relics. An error is reported as a fault. The session has the value, and the next
   * turn tries again.
   */
  const writePending = async (): Promise<void> => {
    for (const relic of new Set([...pending.values()].map((each) => each.relic))) {
      const rows = [...pending.values()].filter((each) => each.relic === relic);
      try {
        await relicOf(relic).write(rows);
        told.clear();
        for (const row of rows) {
          const key = rowKey(row);
          if (pending.get(key) !== row) continue;
          pending.delete(key);
          if (!fresh.has(key)) await store.tables.delete(pendingTable(state.id), key);
        }
      } catch (thrown) {
        const { message } = toRuntimeError(thrown);
        const names = rows.map(({ name }) => `"${name}"`).join(', ');
        tell(
          `${message} What was set holds in this session, and is kept once the relic can be used: ${names}.`,
        );
      }
    }
  };

  const writeSoon = () => {
    writing = writing.then(() => (pending.size === 0 ? undefined : writePending()));
  };

  /** Reads values that an earlier process could not write. */
  const readPending = async (): Promise<void> => {
    if (pendingRead || !defined.some((each) => each.store !== undefined)) return;
    pendingRead = true;
    for (const key of await store.tables.keys(pendingTable(state.id), { limit: MAX_OWED })) {
      const row = await store.tables.get(pendingTable(state.id), key);
      if (row !== undefined && !pending.has(key)) pending.set(key, row as unknown as PendingVariable);
    }
  };

  return {
    writes(variable, value) {
      const scope = scopeOf(variable, keysOf(state));
      const { name, store: relic } = variable;
      scopesNow().set(name, scope);
      if (scope === undefined) return [];
      if (relic === undefined) return [{ table: tableOf(scope), key: name, value }];
      const row = { scope, name, value, at: clock.now(), relic };
      fresh.set(rowKey(row), row);
      return [{ table: pendingTable(state.id), key: rowKey(row), value: row }];
    },
    wrote(variable, seq) {
      const scope = scopesNow().get(variable.name);
      const key = scope === undefined ? '' : rowKey({ name: variable.name, scope });
      const row = fresh.get(key);
      if (row === undefined) return;
      log.committed(seq, (error) => {
        if (error !== undefined) return;
        pending.set(key, row);
        if (fresh.get(key) === row) fresh.delete(key);
        writeSoon();
      });
    },
    async refresh() {
      await log.flushed(); // otherwise older stored values would overwrite its own latest ones
      const before = new Map(defined.map(({ name }) => [name, state.variables.get(name)]));
      await readPending();
      if (pending.size > 0) writeSoon();
      await writing;
      // Nobody else writes variables of `key: session` in the runtime's own store.
      const keys = keysOf(state);
      const others = defined.filter((variable) => {
        const { name, key, store: relic } = variable;
        const scope = scopeOf(variable, keys);
        const isOwed = scope !== undefined && pending.has(rowKey({ name, scope }));
        return !isOwed && (key !== 'session' || relic !== undefined);
      });
      if (others.length === 0) return;
      const { values, problems } = await readStoredValues(deps, others, keys);
      for (const { message } of problems) tell(message);
      for (const variable of others) {
        const { name } = variable;
        if (state.variables.get(name) !== before.get(name)) continue; // set here meanwhile, so the stored value is older
        const scope = scopeOf(variable, keys);
        const isOther = scope !== scopesNow().get(name);
        if (!Object.hasOwn(values, name) && (!isOther || problems.length > 0)) continue;
        scopesNow().set(name, scope);
        const from = state.variables.get(name)?.value ?? null;
        const to = (Object.hasOwn(values, name) ? values[name] : variable.default) ?? null;
        if (!deepEqual(from, to as Json))
          log.append({ type: 'variable.changed', name, class: 'defined', from, to: to as Json, by: 'seed' });
      }
    },
    settled: () => writing,
  };
}

const rowKey = ({ name, scope }: Pick<StoredVariable, 'name' | 'scope'>): string => `${name}@${scope}`;

const scopesOf = (
  variables: readonly DefinedVariable[],
  keys: VariableKeys,
): Map<string, string | undefined> =>
  new Map(variables.map((variable) => [variable.name, scopeOf(variable, keys)]));

/** The keys that were used for the last read, before the last turn. */
const keysWhenAsked = (state: SessionState): VariableKeys => {
  const metadata = state.turns.at(-1)?.metadata ?? state.metadata;
  return { ...keysOf(state), metadata };
};

const misfit = (cause: RuntimeError) =>
  new RuntimeError('variable_store', `What is kept of a variable does not count: ${cause.message}`, {
    cause,
  });

/** A value as stored in a relic. */
export interface StoredVariable {
  readonly scope: string;
  readonly name: string;
  readonly value: Json;
  /** When it was set. An older write never overwrites a newer one. */
  readonly at: number;
}

/** Variables in a table of a `sql` relic. Every failure rejects with `variable_store`. */
export interface SqlVariables {
  read(wanted: readonly Pick<StoredVariable, 'scope' | 'name'>[]): Promise<ReadonlyMap<string, Json>>;
  write(rows: readonly StoredVariable[]): Promise<void>;
}

/** How long the database may take. A turn waits for it. */
const DEADLINE_MS = 5_000;

const TABLE = 'telltale_variables';

const CREATE = `CREATE TABLE IF NOT EXISTS ${TABLE} (scope TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY KEY (scope, name))`;

const UPSERT = `INSERT INTO ${TABLE} (scope, name, value, updated_at) VALUES ($1, $2, $3, $4) ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at WHERE ${TABLE}.updated_at <= excluded.updated_at`;

function createSqlVariables(
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
      // The manifest names the relic, so the call needs no approval like an action of the model.
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
        // Concurrent creation may fail, and the table may exist although this user may not create it. The
        // next call shows whether it exists.
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

/** Undefined if the stored text is not JSON. */
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
