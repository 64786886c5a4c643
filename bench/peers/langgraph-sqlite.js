import { join } from 'node:path';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { openGraph } from './langgraph.js';

export const contestant = {
  name: 'LangGraph 1.4, SQLite',
  open: (script, folder) => openGraph(script, SqliteSaver.fromConnString(join(folder, 'checkpoints.db'))),
};
