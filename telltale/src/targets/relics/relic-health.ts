import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { stopped } from '../access/stopped.ts';
import { withTimeout } from '../access/with-timeout.ts';
import type { Operation } from '../operations.ts';

/** A service that takes longer to say that it is well is not. */
const HEALTH_SECONDS = 10;

export interface HealthQuestion {
  readonly what: string;
  readonly driver: string;
  /** Where the service is, without credentials. */
  readonly where: string;
  readonly clock: Clock;
  /** Asks the service something small; what it says of itself is shown. */
  ask(signal: AbortSignal): Promise<JsonObject>;
}

/** Every driver has it. A service that cannot be reached is an answer, not a failure: `ok` is false and `error` says why. */
export const relicHealth = ({ what, driver, where, clock, ask }: HealthQuestion): Operation => ({
  description: 'checks whether it works',
  parameters: {},
  idempotent: true,
  async run(_, { signal }) {
    const started = clock.monotonic();
    const report = (ok: boolean, more: JsonObject): JsonObject => ({
      ok,
      driver,
      where,
      latency_ms: Math.round(clock.monotonic() - started),
      ...more,
    });
    try {
      return report(true, await withTimeout(signal, HEALTH_SECONDS, what, clock, ask));
    } catch (thrown) {
      if (signal.aborted) throw stopped(what, signal);
      const { code, message, hint, retryable } = toRuntimeError(thrown);
      return report(false, { error: { code, message, ...(hint === undefined ? {} : { hint }), retryable } });
    }
  },
});
