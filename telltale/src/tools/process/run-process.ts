import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Json } from '../../lib/json.ts';
import { createKeptOutput, type KeptOutput } from '../output/output.ts';
import { stopped } from '../stop-and-wait.ts';
import {
  cannotStart,
  type EndedProcess,
  outputEndless,
  type ProcessDeps,
  type ProcessRequest,
} from './command-request.ts';
import { markedEnvironment, watchGroup } from './orphans.ts';

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

/**
 * Sends SIGTERM to everything inside a sandbox, and not to the sandbox itself: that would end at once and take the rest
 * with it, without the time to clean up. `pid` is bubblewrap's. Resolves when it has been sent.
 */
async function signalInside(pid: number): Promise<void> {
  const inside = descendants(pid, await parents());
  if (inside.length === 0) return;
  await new Promise<void>((resolve) => {
    const sender = spawn('/bin/sh', ['-c', `kill -s TERM -- ${inside.join(' ')}`], { stdio: 'ignore' });
    sender.once('error', () => resolve()); // SIGKILL follows after the grace
    sender.once('exit', () => resolve());
  });
}

/** Every process with its parent. What ends meanwhile is left out. */
async function parents(): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      // The name, in brackets, may hold anything; behind it come the state and the parent.
      const parent = /^ \S (\d+)/.exec(stat.slice(stat.lastIndexOf(')') + 1))?.[1];
      if (parent !== undefined) found.set(Number(pid), Number(parent));
    }),
  );
  return found;
}

function descendants(pid: number, parentOf: ReadonlyMap<number, number>): readonly number[] {
  const found: number[] = [];
  const waiting = [pid];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
    for (const [child, parent] of parentOf)
      if (parent === at) {
        found.push(child);
        waiting.push(child);
      }
  return found;
}

export type EndSignal = 'SIGTERM' | 'SIGKILL';

/**
 * Sends a signal to a child that leads its own process group, and to all that it started and that did not leave the
 * group. By way of the shell's `kill`: Node reaches a group only through the global process, which is the command
 * line's. Where there is no shell, the child alone gets it. Resolves when it has been sent.
 */
export function signalGroup(child: ChildProcess, signal: EndSignal): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return Promise.resolve();
  const [program, args] =
    platform() === 'win32'
      ? ['taskkill', ['/pid', String(pid), '/T', ...(signal === 'SIGKILL' ? ['/F'] : [])]]
      : ['/bin/sh', ['-c', `kill -s ${signal.slice(3)} -- -${pid}`]];
  return new Promise((resolve) => {
    const fallBack = () => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      resolve();
    };
    const sender = spawn(program, args, { stdio: 'ignore', windowsHide: true });
    sender.once('error', fallBack);
    sender.once('exit', (code) => {
      if (code === 0) resolve();
      else fallBack();
    });
  });
}

/** Characters of one call that are shown while it runs; the result has its own limit. */
const MAX_PROGRESS_CHARS = 1024 * 1024;

/** Turns output into progress `{stream, text}`; a character cut in two by the chunks is held until it is whole. */
export function textProgress(progress: (data: Json) => void) {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  let left = MAX_PROGRESS_CHARS;
  return (stream: 'stdout' | 'stderr', chunk: Uint8Array): void => {
    if (left <= 0) return;
    const text = decoders[stream].write(chunk);
    left -= text.length;
    if (text !== '') progress({ stream, text });
    if (left <= 0) progress({ stream, text: '\n… [the rest is not shown while it runs] …\n' });
  };
}
