import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, loadAgent } from '../../telltale/src/index.ts';
import type { Model } from '../../telltale/src/models/model.ts';
import { PROMPT } from './scenario.ts';
import { openAction, writeAgent } from './write-agent.ts';

/** Everything in milliseconds since the model began to speak. */
export interface EarlyTurn {
  /** When the chunk was pushed that closes the last action's tag. */
  readonly closedAt: number;
  /** When each tool began and ended, in order. */
  readonly tools: readonly { readonly from: number; readonly to: number }[];
  readonly streamEndedAt: number;
  readonly endedAt: number;
}

export interface EarlyScenario {
  /** Actions in a `depends_on` chain. */
  readonly chain: number;
  /** 1 is the whole thing: 50 tokens a second for 4 s, tools of 1 s, closed at 0.8 s. */
  readonly scale: number;
}

const TOKENS = 200;
const TOKEN_MS = 20;
const CLOSING_TOKEN = 40;
const TOOL_MS = 1000;

/** The latest that an ideal runtime ends: it starts each tool at once, and ends with the last of stream and tools. */
export function idealEnd({ closedAt, tools, streamEndedAt }: EarlyTurn): number {
  const chain = tools.reduce((sum, { from, to }) => sum + to - from, 0);
  return Math.max(streamEndedAt, closedAt + chain);
}

/** How much later the last tool's result was in hand than with an ideal runtime. */
export function chainLag({ closedAt, tools }: EarlyTurn): number {
  const chain = tools.reduce((sum, { from, to }) => sum + to - from, 0);
  return (tools.at(-1)?.to ?? closedAt) - closedAt - chain;
}

/** Runs the scenario on a durable log, one session after another, the first not counted. */
export async function runEarlyTurns(
  folder: string,
  { chain, scale }: EarlyScenario,
  runs: number,
  delayMs: number,
): Promise<readonly EarlyTurn[]> {
  let began = 0;
  let closedAt = 0;
  let streamEndedAt = 0;
  let tools: { from: number; to: number }[] = [];
  const now = () => performance.now() - began;
  const agent = await writeAgent(
    folder,
    false,
    async () => {
      if (delayMs > 0) await sleep(delayMs);
      const from = now();
      await sleep(TOOL_MS * scale);
      tools.push({ from, to: now() });
      return 'done';
    },
    loadAgent,
  );
  const model: Model = {
    id: 'fake',
    async stream(_request, sink) {
      began = performance.now();
      for (let token = 1; token <= TOKENS; token += 1) {
        const dueMs = token * TOKEN_MS * scale - now();
        if (dueMs > 0) await sleep(dueMs);
        sink.text(tokenOf(token, chain));
        if (token === CLOSING_TOKEN) closedAt = now();
      }
      streamEndedAt = now();
      return { finish: 'stop', usage: { input: 10, output: TOKENS } };
    },
  };
  const runtime = await createRuntime({
    store: `sqlite:${join(folder, 'log.db')}`,
    durability: 'power',
    cwd: folder,
  });
  const turns: EarlyTurn[] = [];
  for (let run = -1; run < runs; run += 1) {
    tools = [];
    const session = runtime.start(agent, { input: PROMPT, model });
    const { status, error, turns: taken } = await session.result;
    const endedAt = now();
    if (status !== 'completed' || taken !== 1 || tools.length !== chain)
      throw new Error(
        `The session ended as ${status} after ${taken} turns and ${tools.length} of ${chain} tools: ${error?.message}`,
      );
    if (run >= 0) turns.push({ closedAt, tools, streamEndedAt, endedAt });
  }
  await runtime.close();
  return turns;
}

/** Thoughts, the actions with the last close in one token, then the answer until the end. */
function tokenOf(token: number, chain: number): string {
  if (token === 1) return '<thought>';
  if (token === CLOSING_TOKEN - 1) {
    const ids = Array.from({ length: chain }, (_, index) => `a${index + 1}`);
    return `</thought>${ids.map((id, index) => openAction(id, id, ids[index - 1])).join('</action>')}`;
  }
  if (token === CLOSING_TOKEN) return '</action>';
  if (token === CLOSING_TOKEN + 1) return '<response>';
  return token === TOKENS ? '</response>' : 'word ';
}
