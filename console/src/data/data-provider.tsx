import { type ReactNode, useEffect, useMemo, useSyncExternalStore } from 'react';
import type { ReviewInfo } from '../../../telltale/src/client/api.ts';
import type { ClientOptions, TelltaleClient } from '../../../telltale/src/client/client.ts';
import { createConsoleData } from './console-data.ts';
import type { TokenVault } from './token-vault.ts';
import { DataContext } from './use-data.ts';
import { SignInContext } from './use-sign-in.ts';

export interface DataProviderProps {
  readonly makeClient: (options: ClientOptions) => TelltaleClient;
  readonly vault: TokenVault;
  readonly children: ReactNode;
}

/** A new token gets a new client and new data, so nothing that the previous token could see remains. */
export function DataProvider({ makeClient, vault, children }: DataProviderProps) {
  const token = useSyncExternalStore(vault.subscribe, vault.read);
  const data = useMemo(
    () => createConsoleData({ client: makeClient(token === undefined ? {} : { token }), isInView }),
    [makeClient, token],
  );
  useEffect(() => data.start(), [data]);
  const signIn = useMemo(
    () => ({
      token,
      signIn: vault.write,
    }),
    [vault, token],
  );
  return (
    <SignInContext value={signIn}>
      <DataContext value={data}>{children}</DataContext>
    </SignInContext>
  );
}

const isInView = ({ session, above = [] }: ReviewInfo): boolean =>
  /^#\/reviews\b/.test(location.hash) ||
  [session, ...above].some((stream) => location.hash.includes(encodeURIComponent(stream)));
