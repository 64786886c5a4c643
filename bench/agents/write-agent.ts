import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedAgent } from '../../telltale/src/agent/loaded-agent.ts';
import type { loadAgent as LoadAgent } from '../../telltale/src/index.ts';
import { INSTRUCTIONS, TOOL, TOOL_DESCRIPTION } from './scenario.ts';

export type Dialect = LoadedAgent['manifest']['dialect'];

/** Tools are modules of a folder; through this name of the global object the bench reaches into them. */
const HOOK = 'telltaleBenchTool';

/** Writes an agent with one tool, as a user would, and reads it. `tool` is what the tool's module calls; `more` is YAML. */
export async function writeAgent(
  folder: string,
  idempotent: boolean,
  tool: (query: string) => unknown,
  loadAgent: typeof LoadAgent,
  dialect: Dialect = 'tags',
  more = '',
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
idempotent: ${idempotent}
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
dialect: ${dialect}
import: { tools: [./tool.yml] }
limits: { turns: 1000000 }
${more}`,
  );
  return loadAgent('agent.yml', { cwd: folder });
}

/** An action as a model writes it, up to its closing tag and without it. */
export function openAction(id: string, query: string, dependsOn?: string): string {
  const after = dependsOn === undefined ? '' : `,"depends_on":["${dependsOn}"]`;
  return `<action id="${id}">{"name":"${TOOL}","parameters":{"query":"${query}"}${after}}`;
}
