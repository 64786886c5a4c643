import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from '../src/app.tsx';
import { createTokenVault } from '../src/data/token-vault.ts';
import { makeFixtureClient } from './fixture-client.ts';
import '../src/theme.css';

const options = new URLSearchParams(location.search);
const client = makeFixtureClient({
  sessions: Number(options.get('sessions') ?? 24),
  offline: options.has('offline'),
  refused: options.has('refused'),
});
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App makeClient={() => client} vault={createTokenVault(sessionStorage)} />
  </StrictMode>,
);
