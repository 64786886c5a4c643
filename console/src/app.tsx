import { Router } from 'wouter';
import type { ClientOptions, TelltaleClient } from '../../telltale/src/client/client.ts';
import { DataProvider } from './data/data-provider.tsx';
import { useHashPath } from './shell/hash-location.ts';
import { Shell } from './shell/shell.tsx';

export interface AppProps {
  readonly makeClient: (options: ClientOptions) => TelltaleClient;
}

/** Pages are behind `#`: the plain paths are the API's. */
export const App = ({ makeClient }: AppProps) => (
  <Router hook={useHashPath}>
    <DataProvider makeClient={makeClient}>
      <Shell />
    </DataProvider>
  </Router>
);
