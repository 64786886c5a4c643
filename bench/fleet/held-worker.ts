// A worker of a fleet: `held-worker.ts POSTGRES FOLDER CAPACITY RUNS`. Begins so many runs, and prints their ids as JSON
// once all of them are in their second step. Works until it is killed.
import { createRuntime } from '../../telltale/src/agent/create-runtime.ts';
import { loadWorkflow } from '../../telltale/src/agent/runs/load-workflow.ts';

const [postgres = '', folder = '', capacity = '0', count = '0'] = process.argv.slice(2);
const member = { role: 'bench', host: 'bench', version: '0', capacity: Number(capacity) };
const runtime = await createRuntime({ store: postgres, cwd: folder, member });
runtime.fleet?.workOnSessions(async () => ({ kind: 'done' }));
const workflow = await loadWorkflow('agent.yml', { cwd: folder });
const held: Promise<string>[] = [];
for (let n = 0; n < Number(count); n++) {
  const run = runtime.workflows.start(workflow, {});
  run.result.catch(() => undefined); // it is killed before
  held.push(
    new Promise((resolve) => {
      run.subscribe((event) => {
        if (event.type === 'step.started' && event.step === 'second') resolve(run.id);
      });
    }),
  );
}
console.log(JSON.stringify(await Promise.all(held)));
process.stdin.resume(); // ends with its parent
process.stdin.on('end', () => process.exit(0));
