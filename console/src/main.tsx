import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createClient } from '../../telltale/src/client/create-client.ts';
import { App } from './app.tsx';
import './theme.css';

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no #root.');
createRoot(root).render(
  <StrictMode>
    <App makeClient={createClient} />
  </StrictMode>,
);
