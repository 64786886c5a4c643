import { fileURLToPath } from 'node:url';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export const PEERS = at('../peers');

/** A contestant of the agent loop: the module that runs it, and what a program imports to have it. */
export interface Entrant {
  readonly name: string;
  readonly file: string;
  /** Undefined where another entrant imports the same. */
  readonly entry?: string;
  /** Where the entry is looked for; ours is the built package. */
  readonly from: string;
  /** A lower bound, not a runtime: only what a step and a delta cost is asked of it. */
  readonly isFloor?: boolean;
}

export const OURS = 'telltale, in memory';
export const OURS_DURABLE = 'telltale, durable';
export const PROBE = 'probe, in memory';
export const PROBE_DURABLE = 'probe, group commit';
export const AI_SDK = 'AI SDK 7';
export const LANGGRAPH_SQLITE = 'LangGraph 1.4, SQLite';

const ours = (name: string, file: string): Entrant => ({ name, file: at(file), from: at('../..') });
const peer = (name: string, file: string, entry?: string): Entrant => ({
  name,
  file: at(`../peers/${file}`),
  ...(entry === undefined ? {} : { entry }),
  from: PEERS,
});

export const FIELD: readonly Entrant[] = [
  { ...ours(OURS, './telltale-memory.ts'), entry: 'telltale' },
  ours(OURS_DURABLE, './telltale-durable.ts'),
  ours(`${OURS_DURABLE}, idempotent tool`, './telltale-durable-idempotent.ts'),
  { ...ours(PROBE, './probe-memory.ts'), isFloor: true },
  { ...ours(PROBE_DURABLE, './probe-commit.ts'), isFloor: true },
  peer(AI_SDK, 'ai-sdk.js', 'ai'),
  peer('LangGraph 1.4', 'langgraph.js', '@langchain/langgraph'),
  peer(LANGGRAPH_SQLITE, 'langgraph-sqlite.js'),
  peer('OpenAI Agents 0.20', 'openai-agents.js', '@openai/agents'),
  peer('Mastra 1.71', 'mastra.js', '@mastra/core/agent'),
];
