import type { Json } from '../../kernel/json.ts';
import type { RelicManifest } from '../../manifest/schema/kinds.ts';
import { behindApproval } from '../access/need.ts';
import { stopped } from '../access/stopped.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { defineOperations } from '../operations.ts';
import type { Target } from '../target.ts';
import type { TargetDeps } from '../target-edges.ts';
import { httpDriver } from './http/http-relic.ts';
import { kvDriver } from './kv-relic.ts';
import { logDriver } from './log-relic.ts';
import { queueDriver } from './queue/queue-relic.ts';
import { badConnection } from './read-connection.ts';
import { redisDriver } from './redis/redis-relic.ts';
import type { RelicContext, RelicDriver } from './relic-driver.ts';
import type { RelicStore } from './relic-store.ts';
import { sqlDriver } from './sql/sql-relic.ts';

/** A Relic manifest as something an action can call. `file` is where the manifest stands. */
export function relicTarget(relic: RelicManifest, file: string, store: RelicStore, deps: TargetDeps): Target {
  const { name, driver, approval, connection } = relic;
  const what = `relic "${name}"`;
  const made = makeDriver(driver, { name, what, file, connection, store, deps });
  const operations = defineOperations(what, made.operations, made.byDefault, made.unnamed);
  if (made.close !== undefined) deps.atClose(made.close);
  const target: Target = {
    kind: 'relic',
    name,
    description: relic.description ?? DESCRIPTIONS[driver],
    parameters: operations.parameters,
    operations: operations.operations,
    byDefault: operations.byDefault,
    idempotent: relic.idempotent,
    idempotentFor: (input) => relic.idempotent || operations.idempotentFor(input),
    start: 'on_close',
    ...(relic.timeout === undefined ? {} : { timeoutMs: relic.timeout.ms }),
    inFull: operations.inFull,
    check: operations.check,
    definition: () => definitionHash(relic as unknown as Json),
    async run(call) {
      if (call.signal.aborted) throw stopped(what, call.signal);
      return operations.run(call);
    },
  };
  return approval === 'always' ? behindApproval(target) : target;
}

function makeDriver(driver: RelicManifest['driver'], context: RelicContext): RelicDriver {
  switch (driver) {
    case 'kv':
      return kvDriver(inStore(driver, context));
    case 'log':
      return logDriver(inStore(driver, context));
    case 'queue':
      return queueDriver(inStore(driver, context));
    case 'sql':
      return sqlDriver(context);
    case 'redis':
      return redisDriver(context);
    case 'http':
      return httpDriver(context);
  }
}

/** Elsewhere than in the store it would be another driver's work. */
function inStore(driver: string, context: RelicContext): RelicContext {
  if (context.connection === undefined) return context;
  throw badConnection(
    context.what,
    context.file,
    `cannot be used: the driver ${driver} lives in the runtime's own store`,
    'Leave "connection" out, or choose the driver sql, redis or http.',
  );
}

const DESCRIPTIONS: Readonly<Record<RelicManifest['driver'], string>> = {
  kv: 'Values by key that outlive the session.',
  log: 'A list that is only appended to and outlives the session.',
  sql: 'A database.',
  redis: 'A Redis server.',
  http: 'A service over HTTP.',
  queue: 'A queue that outlives the session.',
};
