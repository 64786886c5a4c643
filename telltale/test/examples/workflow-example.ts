import { resolve } from 'node:path';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import type { LoadedWorkflow, RunOptions, RunResult } from '../../src/agent/runs/run-types.ts';
import type { Runtime, RuntimeOptions } from '../../src/agent/runtime-types.ts';
import type { RunEvent, RunEventOf, RunEventType } from '../../src/log/run-event.ts';
import { examples } from './example-run.ts';

export interface WorkflowExample {
  readonly runtime: Runtime;
  readonly workflow: LoadedWorkflow;
  close(): Promise<void>;
}

/** A runtime of its own, in memory unless `options` say otherwise, and the workflow of an example or of a copy of one. */
export async function openExample(
  folder: string,
  { workflow, ...options }: Partial<RuntimeOptions> & { readonly workflow?: string } = {},
): Promise<WorkflowExample> {
  const cwd = resolve(examples, folder);
  const env = { PATH: process.env.PATH };
  const loaded = await loadWorkflow('agent.yml', {
    cwd,
    env,
    ...(workflow === undefined ? {} : { workflow }),
  });
  const runtime = await createRuntime({ store: 'memory', cwd, env, random: () => 0, ...options });
  return { runtime, workflow: loaded, close: () => runtime.close() };
}

export interface FinishedRun {
  readonly result: RunResult;
  readonly events: readonly RunEvent[];
}

export async function finish(
  { runtime, workflow }: WorkflowExample,
  options: RunOptions = {},
): Promise<FinishedRun> {
  const run = runtime.workflows.start(workflow, options);
  const result = await run.result;
  return { result, events: await runtime.workflows.events(run.id) };
}

export const ofType = <Type extends RunEventType>(
  events: readonly RunEvent[],
  type: Type,
): readonly RunEventOf<Type>[] =>
  events.filter((event) => event.type === type) as unknown as readonly RunEventOf<Type>[];

/** The states in the order in which they were entered. */
export const path = (events: readonly RunEvent[]): readonly string[] =>
  ofType(events, 'state.entered').map(({ state }) => state);

/** What differs from run to run. */
const VARYING: ReadonlySet<string> = new Set([
  'seq',
  'at',
  'run',
  'cause',
  'ms',
  'manifest',
  'usage',
  'cost_usd',
]);

/** A run's log as lines of JSON that are the same whenever it takes the same path. */
export const normalizeRun = (events: readonly RunEvent[]): string =>
  events
    .map(({ type, ...body }) => {
      const kept = Object.entries(body).filter(([name]) => !VARYING.has(name));
      return `${JSON.stringify({ type, ...Object.fromEntries(kept) })}\n`;
    })
    .join('');
