import type { Readiness } from '../../client/api.ts';
import type { Clock } from '../../kernel/clock.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Tables } from '../../store/store.ts';

/** How long an answer of the store counts: probes come often. */
const FRESH_MS = 1_000;
const NOTHING = { table: 'server.ready', key: 'ready', value: undefined };

export interface ReadinessEdges {
  readonly tables: Pick<Tables, 'exchange'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Why the server is not ready, of itself: it starts or closes. */
  readonly reason: () => string | undefined;
}

/** Whether requests that do something should come here: not while the server starts, closes or has lost its store. */
export function createReadiness({ tables, clock, reason }: ReadinessEdges): () => Promise<Readiness> {
  let looked: { readonly atMs: number; readonly failure: string | undefined } | undefined;

  const storeFailure = async (): Promise<string | undefined> => {
    const atMs = clock.monotonic();
    if (looked === undefined || atMs - looked.atMs >= FRESH_MS) {
      // A transaction that changes nothing: a file that can only be read is as good as none.
      const failure = await tables.exchange([NOTHING], []).then(
        () => undefined,
        (thrown: unknown) => toRuntimeError(thrown).code,
      );
      looked = { atMs, failure };
    }
    return looked.failure;
  };

  return async () => {
    const own = reason() ?? (await storeFailure());
    return own === undefined ? { ready: true } : { ready: false, reason: own };
  };
}
