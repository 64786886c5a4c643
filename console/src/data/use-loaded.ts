import { useCallback, useEffect, useState } from 'react';
import type { TelltaleClient } from '../../../telltale/src/client/client.ts';
import { toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import type { Loadable } from './loadable.ts';
import { useData } from './use-data.ts';

export type Loaded<Value> = Loadable<Value> & { readonly reload: () => void };

/**
 * Reads something, and reads it again when `key` changes or `reload` is called. The previous request is then aborted.
 */
export function useLoaded<Value>(
  key: string,
  read: (client: TelltaleClient, signal: AbortSignal) => Promise<Value>,
): Loaded<Value> {
  const { client } = useData();
  const [round, setRound] = useState(0);
  const [state, setState] = useState<Loadable<Value> & { readonly key: string }>({ kind: 'loading', key });
  const reload = useCallback(() => setRound((before) => before + 1), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` says what `read` reads; `round` asks again.
  useEffect(() => {
    const abort = new AbortController();
    read(client, abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ kind: 'ready', value, key });
      },
      (thrown: unknown) => {
        if (abort.signal.aborted) return;
        const error = toRuntimeError(thrown).toJSON();
        setState((before) =>
          before.kind === 'ready' && before.key === key
            ? { ...before, stale: error }
            : { kind: 'failed', error, key },
        );
      },
    );
    return () => abort.abort();
  }, [client, key, round]);
  return { ...(state.key === key ? state : { kind: 'loading' }), reload };
}
