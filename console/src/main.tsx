import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createClient } from '../../telltale/src/client/create-client.ts';
import { App } from './app.tsx';
import { createTokenVault, takeTokenFromAddress } from './data/token-vault.ts';
import './theme.css';

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no #root.');
const vault = createTokenVault(sessionStorage);
takeTokenFromAddress(vault);
createRoot(root).render(
  <StrictMode>
    <App makeClient={createClient} vault={vault} />
  </StrictMode>,
);
