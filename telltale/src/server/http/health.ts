import type { Readiness } from '../../client/api.ts';
import type { Clock } from '../../kernel/clock.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Tables } from '../../store/store.ts';

/** How long an answer of the store counts: probes come often. */
const FRESH_MS = 1_000;
/** A store that takes longer is as good as none: whoever probes waits for no database to come back. */
const PATIENCE_MS = 2_000;
const NOTHING = { table: 'server.ready', key: 'ready', value: undefined };

export interface ReadinessEdges {
  readonly tables: Pick<Tables, 'exchange'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Why the server is not ready, of itself: it starts or closes. */
  readonly reason: () => string | undefined;
}

/** Whether requests that do something should come here: not while the server starts, closes or has lost its store. */
export function createReadiness({ tables, clock, reason }: ReadinessEdges): () => Promise<Readiness> {
  let looked: { readonly atMs: number; readonly failure: string | undefined } | undefined;

  let looking: Promise<string | undefined> | undefined;

  const storeFailure = async (): Promise<string | undefined> => {
    const atMs = clock.monotonic();
    if (looked === undefined || atMs - looked.atMs >= FRESH_MS) {
      looking ??= look().finally(() => {
        looking = undefined;
      });
      looked = { atMs, failure: await looking };
    }
    return looked.failure;
  };

  const look = (): Promise<string | undefined> =>
    new Promise((resolve) => {
      const cancel = clock.after(PATIENCE_MS, () => resolve('store_slow'));
      const answer = (failure: string | undefined) => {
        cancel();
        resolve(failure);
      };
      // A transaction that changes nothing: a file that can only be read is as good as none.
      tables.exchange([NOTHING], []).then(
        () => answer(undefined),
        (thrown: unknown) => answer(toRuntimeError(thrown).code),
      );
    });

  return async () => {
    const own = reason() ?? (await storeFailure());
    return own === undefined ? { ready: true } : { ready: false, reason: own };
  };
}
