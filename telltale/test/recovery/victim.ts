// A program that works on one session until it is done or killed: `node victim.ts FOLDER SESSION [POINT [NTH]]`. Starts the
// session, or takes it up where its log ends, and prints each committed event as a line of JSON. With POINT it kills
// itself at the NTH time the runtime passes that point; with POINT `list` it prints every point it passes instead.
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { printLine } from './print-line.ts';

const [folder = '.', id = 'ses_lab', point = '', nth = '1'] = process.argv.slice(2);

// A test that was itself killed must not leave it behind.
const { ppid } = process;
setInterval(() => process.ppid === ppid || process.exit(1), 500).unref();

let passed = 0;
const crashPoint = (name: string) => {
  if (point === 'list') printLine({ point: name });
  else if (name === point && ++passed === Number(nth)) process.kill(process.pid, 'SIGKILL');
};

const runtime = await createRuntime({
  store: process.env.VICTIM_STORE ?? 'sqlite:store.db',
  durability: 'process',
  cwd: folder,
  ...(point === '' ? {} : { crashPoint }),
});
try {
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const known = await runtime.store.info(id);
  if (known?.status === 'completed') printLine({ ended: { session: id, status: 'completed' } });
  else {
    const session =
      known === undefined || known.head === 0
        ? runtime.start(agent, { input: 'Do all of it.', id })
        : await runtime.resume(id, { agent });
    session.subscribe((event) => {
      if ('seq' in event) printLine(event);
    });
    printLine({ ended: await session.result });
  }
} catch (thrown) {
  const { code, message } = thrown as { readonly code?: string; readonly message?: string };
  printLine({ refused: { code, message: message ?? String(thrown) } });
  process.exitCode = 1;
} finally {
  await runtime.close();
}
