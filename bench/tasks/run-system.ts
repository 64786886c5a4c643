// One system through all tasks, in a process of its own: `run-system.ts FILE OPTIONS`. Its last line is JSON.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { TASKS, type Task } from './catalog.ts';
import { whatIsWrong } from './check-answer.ts';
import { type Spent, startProvider } from './provider.ts';
import type { System } from './system.ts';
import { World } from './world.ts';

export interface RunOptions {
  readonly tasks: readonly string[];
  readonly speed: number;
}

/** One task as one system did it. */
export interface TaskFigures extends Spent {
  readonly task: string;
  readonly wallMs: number;
  /** Why the figures do not count; undefined where the answer and the calls were right. */
  readonly wrong?: string;
}

export interface SystemFigures {
  readonly name: string;
  readonly tasks: readonly TaskFigures[];
  /** How late timers were in this process, at the 99th percentile. */
  readonly lagMs: number;
}

const [file = '', given = '{}'] = process.argv.slice(2);
const { tasks, speed } = JSON.parse(given) as RunOptions;
const { system } = (await import(file)) as { readonly system: System };
const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-tasks-'));
const provider = await startProvider(system.manner, speed);
const opened = await system.open(provider.url, folder);
try {
  const chosen = TASKS.filter(({ id }) => tasks.includes(id));
  // Not counted: code is loaded and compiled, connections are made.
  const warmUp = TASKS.find(({ id }) => id === 'explain') as Task;
  await opened.run(warmUp.question, new World(randomBytes(8).toString('hex'), speed));
  provider.reset();
  const lag = monitorEventLoopDelay({ resolution: 5 });
  lag.enable();
  const figures: TaskFigures[] = [];
  for (const task of chosen) figures.push(await perform(task));
  lag.disable();
  console.log(
    JSON.stringify({
      name: system.name,
      tasks: figures,
      lagMs: lag.percentile(99) / 1e6 - 5,
    } satisfies SystemFigures),
  );
} finally {
  await opened.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

async function perform(task: Task): Promise<TaskFigures> {
  const world = new World(randomBytes(8).toString('hex'), speed);
  const started = performance.now();
  let answer = '';
  let failure: string | undefined;
  try {
    answer = await opened.run(task.question, world);
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  const wallMs = performance.now() - started;
  const spent = provider.spent.get(task.id) ?? { requests: 0, input: 0, uncached: 0, output: 0, fixed: 0 };
  const wrong = failure ?? provider.problems.at(-1) ?? (await whatIsWrong(task, answer, world));
  return { task: task.id, wallMs, ...spent, ...(wrong === undefined ? {} : { wrong }) };
}
