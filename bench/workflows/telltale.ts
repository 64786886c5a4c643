import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRuntime } from '../../telltale/src/agent/create-runtime.ts';
import { loadWorkflow } from '../../telltale/src/agent/runs/load-workflow.ts';
import type { ContestOptions, OpenContest, WorkflowContestant } from './contestant.ts';

/** The tool's module counts its calls here. */
const counter = globalThis as { benchSteps?: number };

const moduleOf = (stepMs: number) => `export ${stepMs > 0 ? 'async ' : ''}function run({ n }) {
  globalThis.benchSteps = (globalThis.benchSteps ?? 0) + 1;
  ${stepMs > 0 ? `await new Promise((resolve) => setTimeout(resolve, ${stepMs}));` : ''}
  return { n };
}
`;

/**
 * Workflows as users write them: each step calls a tool. A step must not run twice, so its start is on disk before the
 * tool is called.
 */
export const contestant: WorkflowContestant = {
  open: (options) => openContest(options, { store: 'sqlite:runs.db' }),
};

export interface Home {
  readonly store: string;
  /** Joins the fleet of its store, with this many runs at once. */
  readonly capacity?: number;
  /** How long each step waits. */
  readonly stepMs?: number;
}

export async function openContest(
  { steps, folder }: ContestOptions,
  { store, capacity, stepMs = 0 }: Home,
): Promise<OpenContest> {
  const names = Array.from({ length: steps }, (_, index) => `step_${index + 1}`);
  const files = {
    'step.mjs': moduleOf(stepMs),
    'step.yml': `kind: Tool
name: step
idempotent: false
parameters: { type: object, properties: { n: { type: integer } } }
implementation: { module: ./step.mjs }
`,
    'agent.yml': `kind: Agent
name: bench
import: { tools: [./step.yml] }
---
kind: Workflow
name: bench
steps:
${names.map((name) => `  - { name: ${name}, type: tool, target: step, parameters: { n: "\${input.n}" } }`).join('\n')}
`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const workflow = await loadWorkflow('agent.yml', { cwd: folder });
  const runtime = await createRuntime({
    store,
    cwd: folder,
    ...(capacity === undefined ? {} : { member: { role: 'bench', host: 'bench', version: '0', capacity } }),
  });
  return {
    async run(n) {
      const { status, error } = await runtime.workflows.start(workflow, { input: { n } }).result;
      if (status !== 'completed') throw new Error(`A run ended as ${status}: ${error?.message}`);
    },
    ran: () => counter.benchSteps ?? 0,
    close: () => runtime.close(),
  };
}
