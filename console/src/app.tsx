import { Router } from 'wouter';
import type { ClientOptions, TelltaleClient } from '../../telltale/src/client/client.ts';
import { DataProvider } from './data/data-provider.tsx';
import type { TokenVault } from './data/token-vault.ts';
import { useHashPath } from './shell/hash-location.ts';
import { Shell } from './shell/shell.tsx';

export interface AppProps {
  readonly makeClient: (options: ClientOptions) => TelltaleClient;
  readonly vault: TokenVault;
}

/** Page routes come after `#`, because the plain paths belong to the API. */
export const App = ({ makeClient, vault }: AppProps) => (
  <Router hook={useHashPath}>
    <DataProvider makeClient={makeClient} vault={vault}>
      <Shell />
    </DataProvider>
  </Router>
);
