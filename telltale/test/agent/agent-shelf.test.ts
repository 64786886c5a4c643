import { expect, it } from 'vitest';
import { createAgentShelf } from '../../src/agent/agent-cache.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { createSessionParts } from '../../src/agent/open-runtime-works.ts';
import { createTokenizer } from '../../src/agent/tokenizer.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import type { OpenMcpServer } from '../../src/tools/mcp/mcp-server.ts';

/** A shelf, and how many of the servers that its agents import are running. */
function shelfWithServers() {
  const running = new Set<number>();
  let started = 0;
  const mcp: OpenMcpServer = async ({ name }) => {
    const number = started++;
    running.add(number);
    return {
      name,
      tools: [],
      call: () => Promise.reject(new Error('there is nothing to call')),
      close: async () => {
        running.delete(number);
      },
    };
  };
  const clock = createSystemClock();
  const deps = { store: createMemoryStore(), clock, env: {}, mcp, tokenizer: createTokenizer() };
  const shelf = createAgentShelf(deps, createSessionParts());
  const make = (name = 'x') =>
    defineAgent({
      name,
      model: scripted(['<response>Hi.</response>']),
      tools: [{ mcp: { name: 'server', command: 'serve' } }],
    });
  return { shelf, running, make, started: () => started };
}

it('an agent that is used again is prepared once', async () => {
  const { shelf, make, started } = shelfWithServers();
  const agent = await make();
  for (let i = 0; i < 100; i++) shelf.release(await shelf.prepare(agent, undefined));
  expect(started()).toBe(1);
  await shelf.close();
});

it('agents that no session uses any more are closed, all but a few', async () => {
  const { shelf, running, make } = shelfWithServers();
  for (let i = 0; i < 100; i++) shelf.release(await shelf.prepare(await make(), undefined));
  await expect.poll(() => running.size).toBe(32);
  await shelf.close();
  expect(running.size).toBe(0);
});

it('an agent that a session uses is never closed, however many come after it', async () => {
  const { shelf, running, make } = shelfWithServers();
  const agent = await make();
  const first = await shelf.prepare(agent, undefined);
  shelf.release(await shelf.prepare(agent, undefined));
  for (let i = 0; i < 50; i++) shelf.release(await shelf.prepare(await make(), undefined));
  await expect.poll(() => running.size).toBe(33);
  expect(running.has(0)).toBe(true);
  shelf.release(first);
  await shelf.close();
  expect(running.size).toBe(0);
});
