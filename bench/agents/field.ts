import { fileURLToPath } from 'node:url';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export const PEERS = at('../peers');

/** A contestant of the agent loop and the module that runs it. */
export interface Entrant {
  readonly name: string;
  readonly file: string;
  readonly isPeer: boolean;
}

export const OURS = 'telltale, in memory';
export const OURS_DURABLE = 'telltale, durable';
export const AI_SDK = 'AI SDK 7';
export const LANGGRAPH_SQLITE = 'LangGraph 1.4, SQLite';

const ours = (name: string, file: string): Entrant => ({ name, file: at(file), isPeer: false });
const peer = (name: string, file: string): Entrant => ({ name, file: at(`../peers/${file}`), isPeer: true });

export const FIELD: readonly Entrant[] = [
  ours(OURS, './telltale-memory.ts'),
  ours(OURS_DURABLE, './telltale-durable.ts'),
  peer(AI_SDK, 'ai-sdk.js'),
  peer('LangGraph 1.4', 'langgraph.js'),
  peer(LANGGRAPH_SQLITE, 'langgraph-sqlite.js'),
  peer('OpenAI Agents 0.20', 'openai-agents.js'),
  peer('Mastra 1.71', 'mastra.js'),
];
