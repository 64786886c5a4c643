import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime } from '../../telltale/src/agent/create-runtime.ts';
import { loadWorkflow } from '../../telltale/src/agent/runs/load-workflow.ts';
import type { AsleepFigures, AsleepOptions } from './asleep-figures.ts';

const given = JSON.parse(process.argv[2] ?? '{}') as AsleepOptions;
console.log(JSON.stringify(await measure(given)));
process.exit(0);

/** What runs cost a process that wait for a day: begun here, or taken up from the store of a process that has gone. */
async function measure({
  folder,
  store,
  runs,
  seconds,
  from,
  capacity,
}: AsleepOptions): Promise<AsleepFigures> {
  writeFileSync(
    join(folder, 'agent.yml'),
    `kind: Agent
name: sleeper
---
kind: Workflow
name: sleeper
steps:
  - { name: note, type: emit, event: slept, data: { n: "\${input.n}" } }
${from === 'ended' ? '' : '  - { name: sleep, type: wait, for: 1d }\n'}`,
  );
  const workflow = await loadWorkflow('agent.yml', { cwd: folder });
  const runtime = await createRuntime({
    store,
    cwd: folder,
    ...(capacity === undefined ? {} : { member: { role: 'bench', host: 'bench', version: '0', capacity } }),
  });
  const begin = async (n: number) => {
    const { status, error } = await runtime.workflows.start(workflow, { input: { n } }).result;
    if (status !== (from === 'ended' ? 'completed' : 'waiting'))
      throw new Error(`A run is ${status}: ${error?.message}`);
  };
  // From here on it looks for what nobody works on, as every worker does.
  runtime.fleet?.workOnSessions(async () => ({ kind: 'done' }));
  // What is loaded once, and what is known of the first run, is not counted.
  await begin(0);
  const before = memory();
  const began = performance.now();
  const busy = process.cpuUsage();
  if (from !== 'found')
    for (let n = 0; n < runs; n += 100)
      await Promise.all(Array.from({ length: 100 }, (_, i) => begin(n + i + 1)));
  else if (runtime.fleet === undefined) await runtime.workflows.recover();
  await runtime.workflows.idle();
  const { user, system } = process.cpuUsage(busy);
  const ms = performance.now() - began;
  const after = memory();
  const asleep = process.cpuUsage();
  const since = performance.now();
  await sleep(seconds * 1_000);
  const used = process.cpuUsage(asleep);
  const figures = {
    ms,
    cpuMs: (user + system) / 1_000,
    heapMiB: (after.heap - before.heap) / 2 ** 20,
    rssMiB: (after.rss - before.rss) / 2 ** 20,
    cpuShare: (used.user + used.system) / 1_000 / (performance.now() - since),
  };
  await runtime.close();
  return figures;
}

function memory() {
  for (let n = 0; n < 4; n += 1) globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}
