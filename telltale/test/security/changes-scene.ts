import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import type { ResumeRunOptions, RunResult } from '../../src/agent/runs/run-types.ts';
import type { Runtime } from '../../src/agent/runtime-types.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import type { RunState } from '../../src/log/run-state.ts';
import { agentFolder, tool } from '../agent/run-agent.ts';
import { eventually } from '../store/eventually.ts';

/** Writes its text down, and hangs while the file "hang" holds that text. */
export const effect = tool(
  'effect',
  `const { appendFileSync, readFileSync } = await import('node:fs');
   appendFileSync(new URL('../effects.txt', import.meta.url), input.text + '\\n');
   if (readFileSync(new URL('../hang', import.meta.url), 'utf8') === input.text)
     await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(new Error('stopped'))));
   return { did: input.text };`,
);

export const step = (name: string, text = name, more = '') =>
  `{ name: ${name}, type: tool, target: effect, parameters: { text: "${text}" }${more} }`;

export const flow = (body: string, name = 'pay') => `kind: Workflow\nname: ${name}\n${body}\n`;
export const list = (...lines: readonly string[]) => lines.map((line) => `  - ${line}\n`).join('');
export const steps = (...lines: readonly string[]) => flow(`steps:\n${list(...lines)}`);

export interface Resumed {
  readonly result: RunResult;
  readonly events: readonly RunEvent[];
  readonly state: RunState;
}

/** An agent with a workflow "pay", whose runs are stopped halfway and go on with another definition. */
export class Scene {
  readonly folder: string;

  constructor(workflow: string, other = flow(`steps:\n${list(step('none'))}`, 'other')) {
    this.folder = agentFolder('import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\n', {
      ...effect,
      'flows/pay.yml': workflow,
      'flows/other.yml': other,
      hang: 'nothing',
    });
  }

  open(): Promise<Runtime> {
    return createRuntime({ store: 'sqlite:runs.db', durability: 'process', cwd: this.folder });
  }

  write(workflow: string, file = 'pay'): void {
    writeFileSync(join(this.folder, 'flows', `${file}.yml`), workflow);
  }

  effects(): readonly string[] {
    const file = join(this.folder, 'effects.txt');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }

  /** Runs the workflow into the effect of this text, and leaves it there as a process that is killed does. */
  async stopAt(text: string): Promise<void> {
    writeFileSync(join(this.folder, 'hang'), text);
    const runtime = await this.open();
    const workflow = await loadWorkflow('agent.yml', { cwd: this.folder, workflow: 'pay' });
    const run = runtime.workflows.start(workflow, { id: 'run_pay' });
    await eventually(() => expect(this.effects()).toContain(text));
    await run.interrupt();
    await runtime.close();
    writeFileSync(join(this.folder, 'hang'), 'nothing');
  }

  /** Runs the workflow until it only waits. */
  async waitIn(): Promise<void> {
    const runtime = await this.open();
    const workflow = await loadWorkflow('agent.yml', { cwd: this.folder, workflow: 'pay' });
    expect(await runtime.workflows.start(workflow, { id: 'run_pay' }).result).toMatchObject({
      status: 'waiting',
    });
    await runtime.close();
  }

  async with<Result>(use: (runtime: Runtime) => Promise<Result>): Promise<Result> {
    const runtime = await this.open();
    try {
      return await use(runtime);
    } finally {
      await runtime.close();
    }
  }

  resume(acceptChanges?: ResumeRunOptions['acceptChanges']): Promise<Resumed> {
    return this.with(async ({ workflows }) => {
      const run = await workflows.resume('run_pay', acceptChanges === undefined ? {} : { acceptChanges });
      const result = await run.result;
      const events = await workflows.events('run_pay');
      return { result, events, state: await workflows.state('run_pay') };
    });
  }
}

export const stepsOf = (events: readonly RunEvent[], type: string): readonly unknown[] =>
  events.flatMap((event) => (event.type === type && 'step' in event ? [event.step] : []));

export const openSteps = ({ steps: known }: RunState): readonly string[] =>
  [...known.values()].flatMap(({ step: address, status }) =>
    ['running', 'retrying', 'interrupted'].includes(status) ? [address] : [],
  );
