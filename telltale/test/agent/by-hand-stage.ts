import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import type { RunOptions, WorkflowRun } from '../../src/agent/runs/run-types.ts';
import type { Runtime, RuntimeOptions } from '../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../store/eventually.ts';
import { agentFolder, tool } from './run-agent.ts';

const note = tool(
  'note',
  `const { appendFileSync } = await import('node:fs');
   appendFileSync(new URL('../notes.txt', import.meta.url), input.text + '\\n');`,
);

export const FILES = (concurrency: string) => ({
  ...note,
  'flows/w.yml': `kind: Workflow
name: w
trigger: { type: manual, concurrency: ${concurrency} }
steps:
  - { name: write, type: tool, target: note, parameters: { text: "\${input.who ?? nobody}" } }
  - { name: hold, type: wait, event: custom }
`,
});
export const IMPORT = 'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\n';

export const folderOf = (concurrency: string): string => agentFolder(IMPORT, FILES(concurrency));

export const notes = (folder: string): readonly string[] => {
  const file = join(folder, 'notes.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

export async function runtimeOf(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime({ onError: () => undefined, ...options });
  onTestFinished(() => runtime.close());
  return runtime;
}

export async function starterOf(runtime: Runtime, folder: string) {
  const workflow = findWorkflow(await loadAgent('agent.yml', { cwd: folder }), 'w');
  return (who: string, options: RunOptions = {}): WorkflowRun =>
    runtime.workflows.start(workflow, { input: { who }, onWaiting: 'hold', ...options });
}

/** Until the run is where its log says that. */
export const waitsFor = (store: Store, runtime: Runtime, run: string, what: string) =>
  eventually(async () => {
    expect((await store.info(run))?.status).toBe('waiting');
    expect((await runtime.workflows.state(run)).waiting?.for).toMatch(what);
  });
export const HOLDS = 'event custom';

/** A runtime with a workflow that only so many may run at a time, on a store of its own. */
export async function createStage(
  concurrency: string,
  given: Partial<RuntimeOptions> = {},
  wrap: (store: Store) => Store = (store) => store,
) {
  const clock = given.clock ?? createSystemClock();
  const store = wrap(createMemoryStore({ clock }));
  const folder = folderOf(concurrency);
  const runtime = await runtimeOf({ store, cwd: folder, clock, ...given });
  const start = await starterOf(runtime, folder);
  const go = (run: WorkflowRun) => runtime.workflows.signal(run.id, 'custom');
  const reaches = (run: WorkflowRun, what: string) => waitsFor(store, runtime, run.id, what);
  return { store, folder, runtime, start, go, reaches };
}
