import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { RelicManifest } from '../../manifest/schema/kinds.ts';
import { behindApproval } from '../access/need.ts';
import { defineOperations, type Operations } from '../operations.ts';
import type { Target } from '../target.ts';
import { kvOperations } from './kv-relic.ts';
import { logOperations } from './log-relic.ts';
import type { RelicStore } from './relic-store.ts';

/** A Relic manifest as something an action can call. `file` is where the manifest stands. */
export function relicTarget(relic: RelicManifest, file: string, store: RelicStore): Target {
  const { name, driver, approval } = relic;
  const what = `relic "${name}"`;
  const operations = operationsOf(relic, what, file, store);
  const target: Target = {
    kind: 'relic',
    name,
    description: relic.description ?? DESCRIPTIONS[driver],
    parameters: operations.parameters,
    idempotent: relic.idempotent,
    idempotentFor: (input) => relic.idempotent || operations.idempotentFor(input),
    start: 'on_close',
    ...(relic.timeout === undefined ? {} : { timeoutMs: relic.timeout.ms }),
    check: operations.check,
    run: (call) => operations.run(call),
  };
  return approval === 'always' ? behindApproval(target) : target;
}

function operationsOf(relic: RelicManifest, what: string, file: string, store: RelicStore): Operations {
  const { driver, connection } = relic;
  switch (driver) {
    case 'kv':
    case 'log':
      // Elsewhere than in the store it would be another driver's work.
      if (connection !== undefined) throw driverMissing(what, file, `${driver} with a connection`);
      return driver === 'kv'
        ? defineOperations(what, kvOperations(`relic:${relic.name}`, store), 'get')
        : defineOperations(what, logOperations(`relic:${relic.name}`, store), 'append');
    case 'sql':
    case 'redis':
    case 'http':
    case 'queue':
      throw driverMissing(what, file, driver);
  }
}

const DESCRIPTIONS: Readonly<Record<RelicManifest['driver'], string>> = {
  kv: 'Values by key that outlive the session.',
  log: 'A list that is only appended to and outlives the session.',
  sql: 'A database.',
  redis: 'A Redis server.',
  http: 'A service over HTTP.',
  queue: 'A queue.',
};

const driverMissing = (what: string, file: string, driver: string) =>
  new RuntimeError('driver_missing', `The ${what} (${file}) needs the driver ${driver}, which comes later.`, {
    hint: 'Drivers so far: kv and log, without a connection.',
  });
