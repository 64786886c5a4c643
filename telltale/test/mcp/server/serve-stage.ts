import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import type { Runtime } from '../../../src/agent/runtime-types.ts';
import { type Clock, createSystemClock } from '../../../src/lib/clock.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { createMcpServer, type McpServerOptions } from '../../../src/mcp/server/create-mcp-server.ts';

export const NOTES =
  'I read what was asked for, did it with care and looked at the outcome: nothing is left open.';

export const AGENT = 'kind: Agent\nname: guide\ndescription: Leads clients.\n';

/** A workflow of the agent, as a document behind it. */
export const workflow = (name: string, steps: string, more = '') =>
  `---\nkind: Workflow\nname: ${name}\ndescription: What ${name} does.\n${more}steps:\n${steps}`;

export const task = (name: string, more = '') =>
  `  - { name: ${name}, type: task, prompt: "Do the part called ${name}."${more} }\n`;

export interface Told extends JsonObject {
  readonly run: string;
  readonly continueToken: string;
}

export interface Stage {
  readonly runtime: Runtime;
  readonly client: Client;
  /** The raw result. */
  call(name: string, args?: object): Promise<CallToolResult>;
  /** Its structured content; throws where it is an error. */
  told(name: string, args?: object): Promise<Told>;
  /** The code of the error that it must be. */
  refused(name: string, args?: object): Promise<string>;
  close(): Promise<void>;
}

export type StageOptions = Partial<McpServerOptions> & {
  readonly store?: string;
  readonly name?: string;
  readonly clock?: Clock;
};

/** What other stages in the same folder share. */
export const SHARED = 'sqlite:served.db';

/** A server in this process on what lies in a folder, and a client of the SDK. */
export async function stage(folder: string, options: StageOptions = {}): Promise<Stage> {
  const { store = 'memory', name = 'tester', clock = createSystemClock(), ...more } = options;
  const runtime = await createRuntime({ store, durability: 'process', cwd: folder, clock });
  const agents = more.agents ?? [await loadAgent('agent.yml', { cwd: folder })];
  const server = await createMcpServer({ runtime, clock, waitMs: 10_000, ...more, agents });
  const [mine, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  const client = new Client({ name, version: '1.0.0' });
  await client.connect(mine);
  const close = async () => {
    await client.close();
    await runtime.close();
  };
  onTestFinished(close);
  const call = async (tool: string, args: object = {}) =>
    (await client.callTool({ name: tool, arguments: { ...args } })) as CallToolResult;
  const codeOf = ({ structuredContent }: CallToolResult) =>
    (structuredContent as { error?: { code?: string } } | undefined)?.error?.code ?? '';
  return {
    runtime,
    client,
    call,
    close,
    async told(tool, args) {
      const result = await call(tool, args);
      if (result.isError === true) throw new Error(JSON.stringify(result.structuredContent));
      return result.structuredContent as Told;
    },
    async refused(tool, args) {
      const result = await call(tool, args);
      if (result.isError !== true) throw new Error(`It was not refused: ${JSON.stringify(result)}`);
      return codeOf(result);
    },
  };
}
