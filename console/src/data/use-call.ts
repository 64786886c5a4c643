import { useCallback, useRef, useState } from 'react';
import type { CallOptions, TelltaleClient } from '../../../telltale/src/client/client.ts';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import { useData } from './use-data.ts';

export interface Call<Args extends readonly unknown[], Value> {
  /** Runs the call unless it is already running. Resolves to undefined if it failed; `error` says why. */
  readonly run: (...args: Args) => Promise<Value | undefined>;
  readonly busy: boolean;
  readonly error: ErrorJson | undefined;
  readonly forget: () => void;
}

/** `crypto.randomUUID` only exists in secure contexts. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/**
 * A call that changes the server's state. If a response is lost, the retry has the same idempotency key, so nothing is
 * done twice. After a response, the next call gets a new key.
 */
export function useCall<Args extends readonly unknown[], Value>(
  call: (client: TelltaleClient, options: CallOptions, ...args: Args) => Promise<Value>,
): Call<Args, Value> {
  const { client } = useData();
  const [state, setState] = useState<{ busy: boolean; error?: ErrorJson }>({ busy: false });
  const latest = useRef(call);
  latest.current = call;
  const pending = useRef<{ args: string; key: string } | undefined>(undefined);
  const busy = useRef(false);
  const run = useCallback(
    async (...args: Args) => {
      if (busy.current) return undefined;
      const asked = JSON.stringify(args);
      if (pending.current?.args !== asked) pending.current = { args: asked, key: newKey() };
      busy.current = true;
      setState({ busy: true });
      try {
        const value = await latest.current(client, { idempotencyKey: pending.current.key }, ...args);
        pending.current = undefined;
        setState({ busy: false });
        return value;
      } catch (thrown) {
        const error = toRuntimeError(thrown).toJSON();
        if (!error.retryable) pending.current = undefined;
        setState({ busy: false, error });
        return undefined;
      } finally {
        busy.current = false;
      }
    },
    [client],
  );
  const forget = useCallback(() => setState({ busy: false }), []);
  return { run, busy: state.busy, error: state.error, forget };
}
