import { type ChildProcess, spawn } from 'node:child_process';
import { platform } from 'node:os';
import type { Writable } from 'node:stream';
import { stopped } from '../access/stopped.ts';
import { createKeptOutput, type KeptOutput } from '../output/kept-output.ts';
import { markedEnvironment, watchGroup } from './orphans.ts';
import { cannotStart, outputEndless } from './process-errors.ts';
import type { EndedProcess, ProcessDeps, ProcessRequest } from './process-request.ts';
import { signalGroup } from './signal-group.ts';
import { signalInside } from './signal-inside.ts';

const MAX_DRAINED_BYTES = 4 * 1024 ** 3;
/** How long output may stay open after the process has exited: something it left running holds it. */
const LINGER_MS = 1_000;

/**
 * Runs a program without a shell, as the leader of a process group of its own. Once the signal is aborted the whole
 * group gets SIGTERM, after the grace SIGKILL, and the call rejects when it has stopped. What the program left running
 * behind it, and that still holds its output, is killed a second after its exit.
 */
export async function runProcess(
  request: ProcessRequest,
  { clock, graceMs, maxDrainedBytes = MAX_DRAINED_BYTES }: ProcessDeps,
): Promise<EndedProcess> {
  const { what, signal, maxBytes } = request;
  const env = request.sandboxed === true ? request.env : await markedEnvironment(request.env);
  if (signal.aborted) throw stopped(what, signal);
  return new Promise((resolve, reject) => {
    const child = start({ ...request, env });
    if (child instanceof Error) {
      reject(cannotStart(request, child));
      return;
    }
    const stdout = createKeptOutput(maxBytes);
    const stderr = createKeptOutput(maxBytes);
    let failure: Error | undefined;
    let ending = false;
    let cancelTimer = () => {};

    const unwatch = request.sandboxed === true ? () => undefined : watchGroup(child);
    const finish = async () => {
      unwatch();
      signal.removeEventListener('abort', onAbort);
      cancelTimer();
      child.stdout?.destroy();
      child.stderr?.destroy();
      // What redirected its output is not noticed otherwise.
      if (ending) await signalGroup(child, 'SIGKILL');
      if (failure === undefined)
        resolve({ exitCode: child.exitCode, signalName: child.signalCode, stdout, stderr });
      else reject(failure);
    };
    const finished = once(() => void finish());
    const kill = () => {
      cancelTimer();
      cancelTimer = clock.after(LINGER_MS, finished); // a process the system cannot end must not hold the call
      void signalGroup(child, 'SIGKILL');
    };
    const end = (why: Error) => {
      if (ending) return;
      ending = true;
      failure = why;
      cancelTimer();
      cancelTimer = clock.after(graceMs, kill);
      if (request.sandboxed === true && child.pid !== undefined) void signalInside(child.pid);
      else void signalGroup(child, 'SIGTERM');
    };
    const onAbort = () => end(stopped(what, signal));
    const take = (stream: 'stdout' | 'stderr', kept: KeptOutput) => (chunk: Buffer) => {
      kept.push(chunk);
      if (kept.total > maxDrainedBytes) end(outputEndless(what, maxDrainedBytes));
      else if (!ending) request.onOutput?.(stream, chunk);
    };

    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout?.on('data', take('stdout', stdout));
    child.stderr?.on('data', take('stderr', stderr));
    child.once('error', (error) => {
      if (child.pid !== undefined) return; // a signal that could not be sent; the exit still comes
      failure = cannotStart(request, error);
      finished();
    });
    child.once('exit', () => {
      if (!ending) cancelTimer = clock.after(LINGER_MS, kill);
    });
    child.once('close', finished);
    // A program that does not read all of its input closes the pipe: no failure of the program.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(request.stdin ?? '');
    const extra = child.stdio[3] as Writable | null | undefined;
    extra?.on('error', () => undefined);
    extra?.end(request.extraInput);
  });
}

/** What spawn throws at once (a zero byte in an argument) is an outcome like what it reports later. */
function start(request: ProcessRequest): ChildProcess | Error {
  try {
    return spawn(request.program, request.args, {
      cwd: request.cwd,
      env: request.env,
      stdio: request.extraInput === undefined ? 'pipe' : ['pipe', 'pipe', 'pipe', 'pipe'],
      detached: platform() !== 'win32',
      windowsHide: true,
      windowsVerbatimArguments: request.verbatimArguments ?? false,
    });
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
