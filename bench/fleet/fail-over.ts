import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readRunEvents } from '../../telltale/src/engine/read-run.ts';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { openStore } from '../../telltale/src/store/open-store.ts';
import type { Store } from '../../telltale/src/store/store.ts';

export interface FailOver {
  /** From the kill until another worker has it, of each run that the killed workers held. */
  readonly takenMs: readonly number[];
  /** What went wrong, if anything did. */
  readonly wrong: string;
}

export interface FailOverOptions {
  readonly postgres: string;
  /** Runs of each worker that is killed. */
  readonly held: number;
  readonly kills: number;
  readonly progress: (line: string) => void;
}

/** Steps that hold a run in a worker: the first has ended by then, the second goes on for longer than the bench. */
const FILES: Readonly<Record<string, string>> = {
  'quick.mjs': 'export const run = () => ({});\n',
  'long.mjs':
    'export const run = (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));\n',
  'quick.yml':
    'kind: Tool\nname: quick\nparameters: { type: object }\nimplementation: { module: ./quick.mjs }\n',
  'long.yml':
    'kind: Tool\nname: long\nidempotent: true\nparameters: { type: object }\nimplementation: { module: ./long.mjs }\n',
  'agent.yml': `kind: Agent
name: bench
import: { tools: [./quick.yml, ./long.yml] }
---
kind: Workflow
name: bench
steps:
  - { name: first, type: tool, target: quick }
  - { name: second, type: tool, target: long, timeout: 1h }
`,
};
const WORKER = fileURLToPath(new URL('./held-worker.ts', import.meta.url));
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

export async function measureFailOver({
  postgres,
  held,
  kills,
  progress,
}: FailOverOptions): Promise<FailOver> {
  const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-fleet-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const children = new Set<ChildProcess>();
  const start = async (capacity: number, begin: number) => {
    const child = spawn(
      process.execPath,
      [...process.execArgv, WORKER, postgres, folder, `${capacity}`, `${begin}`],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    children.add(child);
    for await (const line of createInterface({ input: child.stdout }))
      return { child, runs: JSON.parse(line) as readonly string[] };
    throw new Error('A worker ended before it had begun.');
  };
  const store = await openStore(postgres, { clock: createSystemClock(), cwd: folder });
  try {
    await start(held * (kills + 1), 0);
    const takenMs: number[] = [];
    const wrong: string[] = [];
    for (let kill = 1; kill <= kills; kill++) {
      const { child, runs } = await start(held, held);
      const killedAt = Date.now();
      child.kill('SIGKILL');
      for (const run of runs) {
        const taken = await takenAt(store, run, killedAt);
        if (taken === undefined) wrong.push(`${run} stayed where it was`);
        else takenMs.push(taken - killedAt);
        const events = await readRunEvents(store, run);
        const first = events.filter((event) => event.type === 'step.started' && event.step === 'first');
        if (first.length !== 1) wrong.push(`${run} began its first step ${first.length} times`);
      }
      progress(`  ${kill} of ${kills}: the last run was taken after ${Math.max(...takenMs.slice(-held))} ms`);
    }
    return { takenMs, wrong: wrong.slice(0, 5).join('; ') };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** When another worker went on with it. */
async function takenAt(store: Store, run: string, since: number): Promise<number | undefined> {
  while (Date.now() - since < PATIENCE_MS) {
    const resumed = (await readRunEvents(store, run)).find(({ type }) => type === 'workflow.resumed');
    if (resumed !== undefined) return resumed.at;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return undefined;
}
