import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRuntime } from '../../telltale/src/agent/create-runtime.ts';
import { loadWorkflow } from '../../telltale/src/agent/runs/load-workflow.ts';
import type { ContestOptions, OpenContest, WorkflowContestant } from './contestant.ts';

/** What the tool's module, which the runtime loads, tells of its calls. */
interface Told {
  benchSteps?: number;
  benchBegan?: number | undefined;
}
const told = globalThis as Told;

const moduleOf = (stepMs: number) => `export ${stepMs > 0 ? 'async ' : ''}function run({ n }) {
  globalThis.benchSteps = (globalThis.benchSteps ?? 0) + 1;
  globalThis.benchBegan ??= performance.now();
  ${stepMs > 0 ? `await new Promise((resolve) => setTimeout(resolve, ${stepMs}));` : ''}
  return { n };
}
`;

/** Workflows as users write them, each step a call of a tool. */
export const contest = (idempotent: boolean): WorkflowContestant => ({
  open: (options) => openContest(options, { store: 'sqlite:runs.db', idempotent }),
});

export interface Home {
  readonly store: string;
  readonly idempotent?: boolean;
  /** As a member of the fleet of its store, which works on so many runs at once. */
  readonly capacity?: number;
  /** What each step's own work takes, of time and not of the processor. */
  readonly stepMs?: number;
}

export async function openContest(
  { steps, folder }: ContestOptions,
  { store, idempotent = false, capacity, stepMs = 0 }: Home,
): Promise<OpenContest> {
  const names = Array.from({ length: steps }, (_, index) => `step_${index + 1}`);
  const files = {
    'step.mjs': moduleOf(stepMs),
    'step.yml': `kind: Tool
name: step
idempotent: ${idempotent}
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
  const run = async (n: number) => {
    const { status, error } = await runtime.workflows.start(workflow, { input: { n } }).result;
    if (status !== 'completed') throw new Error(`A run ended as ${status}: ${error?.message}`);
  };
  return {
    run,
    async start(n) {
      told.benchBegan = undefined;
      const asked = performance.now();
      await run(n);
      return (told.benchBegan ?? Number.NaN) - asked;
    },
    ran: () => told.benchSteps ?? 0,
    close: () => runtime.close(),
  };
}
