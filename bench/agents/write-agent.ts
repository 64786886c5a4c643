import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { loadAgent as LoadAgent, LoadedAgent } from '../../telltale/src/index.ts';
import { INSTRUCTIONS, TOOL, TOOL_DESCRIPTION } from './scenario.ts';

/** The tool's module runs in this process and calls the bench through this global name. */
const HOOK = 'telltaleBenchTool';

/** Writes an agent with one tool to `folder`, as a user would, and loads it. The tool's module calls `tool`. */
export async function writeAgent(
  folder: string,
  tool: (query: string) => unknown,
  loadAgent: typeof LoadAgent,
): Promise<LoadedAgent> {
  Reflect.set(globalThis, HOOK, tool);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'tool.yml'),
    `kind: Tool
name: ${TOOL}
description: ${TOOL_DESCRIPTION}
parameters: { type: object, properties: { query: { type: string } }, required: [query] }
implementation: { module: ./tool.mjs }
idempotent: false
`,
  );
  writeFileSync(
    join(folder, 'tool.mjs'),
    `const hook = globalThis.${HOOK};\nexport const run = ({ query }) => hook(query);\n`,
  );
  writeFileSync(
    join(folder, 'agent.yml'),
    `kind: Agent
name: bench
model: scripted:none.yml
instructions: ${INSTRUCTIONS}
dialect: tags
import: { tools: [./tool.yml] }
limits: { turns: 1000000 }
`,
  );
  return loadAgent('agent.yml', { cwd: folder });
}

/** An action as a model writes it, without its closing tag. */
export const openAction = (id: string, query: string): string =>
  `<action id="${id}">{"name":"${TOOL}","parameters":{"query":"${query}"}}`;
