import { randomBytes } from 'node:crypto';
import type { Readiness } from '../../client/api.ts';
import type { Clock } from '../../kernel/clock.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Tables } from '../../store/store.ts';

/** How long an answer of the store counts: probes come often. */
const FRESH_MS = 1_000;
/** A store that takes longer is as good as none: whoever probes waits for no database to come back. */
const PATIENCE_MS = 2_000;
const TABLE = 'server.ready';
/** A full disk may still take a few bytes, and a journal that is used again needs no new ones. */
const ROOM_BYTES = 48 * 1024;
/** Compressed it would need no room. */
const ROOM = randomBytes(ROOM_BYTES).toString('base64');

export interface ReadinessDeps {
  readonly tables: Pick<Tables, 'exchange'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Why the server is not ready, of itself: it starts or closes. */
  readonly reason: () => string | undefined;
}

/** Whether requests that do something should come here: not while the server starts or closes, or cannot write its store. */
export function createReadiness({ tables, clock, reason }: ReadinessDeps): () => Promise<Readiness> {
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
      write().then(
        () => answer(undefined),
        (thrown: unknown) => answer(toRuntimeError(thrown).code),
      );
    });

  /** Two transactions: SQLite would never write what the same one takes out again. */
  const write = async () => {
    await tables.exchange([], [{ table: TABLE, key: 'room', value: ROOM }]);
    await tables.exchange([], [{ table: TABLE, key: 'room', value: undefined }]);
  };

  return async () => {
    const own = reason() ?? (await storeFailure());
    return own === undefined ? { ready: true } : { ready: false, reason: own };
  };
}
