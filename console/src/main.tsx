import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { emptySummary } from '../../telltale/src/events/session-summary.ts';
import './theme.css';

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no #root.');
createRoot(root).render(
  <StrictMode>
    <main className="p-6 text-body">{emptySummary('none').id}</main>
  </StrictMode>,
);
