import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../telltale/bin/telltale.js', import.meta.url));
const POLL_MS = 2;

/** Milliseconds from the start of `telltale serve` in a folder to its first 200 from `/readyz`. */
export async function timeServe(folder: string): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, [BIN, 'serve', 'agent.yml', '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    const { url } = JSON.parse(await firstLine(child)) as { readonly url: string };
    while (!(await isReady(url))) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    return performance.now() - started;
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

/** An empty program, from its start to its end. */
export function timeEmpty(): number {
  const started = performance.now();
  const { status } = spawnSync(process.execPath, ['-e', '0']);
  if (status !== 0) throw new Error(`An empty program ended with ${status}.`);
  return performance.now() - started;
}

async function firstLine(child: ChildProcess): Promise<string> {
  let said = '';
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdout?.setEncoding('utf8');
  for await (const text of child.stdout ?? []) {
    said += text;
    if (said.trimEnd().endsWith('}')) return said;
  }
  throw new Error(`telltale serve ended: ${errors.slice(-2000)}`);
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.status === 200;
    },
    () => false,
  );
