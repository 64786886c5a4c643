// A program that works on one workflow run until it is done or killed: `node workflow-victim.ts FOLDER RUN [POINT NTH]`.
// Starts the run, or takes it up where its log ends, and prints each committed event as a line of JSON. With POINT it
// kills itself at the NTH time that it passes that point, in this run or in one that it called.
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import { printLine } from './print-line.ts';

const [folder = '.', id = 'run_lab', point = '', nth = '1'] = process.argv.slice(2);

// A test that was itself killed must not leave it behind.
const { ppid } = process;
setInterval(() => process.ppid === ppid || process.exit(1), 500).unref();

let passed = 0;
const crashPoint = (name: string) => {
  if (name === point && ++passed === Number(nth)) process.kill(process.pid, 'SIGKILL');
};

const runtime = await createRuntime({
  store: 'sqlite:store.db',
  durability: 'process',
  cwd: folder,
  ...(point === '' ? {} : { crashPoint }),
});
try {
  const workflow = await loadWorkflow('agent.yml', { cwd: folder, workflow: 'lab' });
  const known = await runtime.store.info(id);
  if (known?.status === 'completed') printLine({ ended: { run: id, status: 'completed' } });
  else {
    const run =
      known === undefined || known.head === 0
        ? runtime.workflows.start(workflow, { id, onWaiting: 'hold' })
        : await runtime.workflows.resume(id, { workflow, onWaiting: 'hold' });
    run.subscribe(printLine);
    printLine({ ended: await run.result });
  }
} catch (thrown) {
  const { code, message } = thrown as { readonly code?: string; readonly message?: string };
  printLine({ refused: { code, message: message ?? String(thrown) } });
  process.exitCode = 1;
} finally {
  await runtime.close();
}
