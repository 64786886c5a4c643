import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Json } from '../../lib/json.ts';
import { abortError } from '../abort.ts';
import { type BoundedOutput, createBoundedOutput } from '../output/output.ts';
import {
  cannotStart,
  type EndedProcess,
  outputWithoutEnd,
  type ProcessDeps,
  type ProcessRequest,
} from './command-request.ts';
import { markedEnvironment, watchGroup } from './orphans.ts';

const MAX_DRAINED_BYTES = 4 * 1024 ** 3;
/** How long output may stay open after the program has exited, because a process it left running still holds it. */
const LINGER_MS = 1_000;

/**
 * Runs a program without a shell, as the leader of its own process group. When the signal is aborted, the whole group
 * gets SIGTERM and, after the grace period, SIGKILL, and the call rejects when it has stopped. Processes that the
 * program left running and that still hold its output are killed a second after its exit.
 */
export async function runProcess(
  request: ProcessRequest,
  { clock, graceMs, maxDrainedBytes = MAX_DRAINED_BYTES }: ProcessDeps,
): Promise<EndedProcess> {
  const { what, signal, maxBytes } = request;
  const env = request.sandboxed === true ? request.env : await markedEnvironment(request.env);
  if (signal.aborted) throw abortError(what, signal);
  return new Promise((resolve, reject) => {
    const child = start({ ...request, env });
    if (child instanceof Error) {
      reject(cannotStart(request, child));
      return;
    }
    const stdout = createBoundedOutput(maxBytes);
    const stderr = createBoundedOutput(maxBytes);
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
      // Processes that redirected their output would otherwise go unnoticed.
      if (ending) await signalGroup(child, 'SIGKILL');
      if (failure === undefined)
        resolve({ exitCode: child.exitCode, signalName: child.signalCode, stdout, stderr });
      else reject(failure);
    };
    const finished = once(() => void finish());
    const kill = () => {
      cancelTimer();
      cancelTimer = clock.after(LINGER_MS, finished); // a process the system cannot end must not block the call
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
    const onAbort = () => end(abortError(what, signal));
    const take = (stream: 'stdout' | 'stderr', kept: BoundedOutput) => (chunk: Buffer) => {
      kept.push(chunk);
      if (kept.total > maxDrainedBytes) end(outputWithoutEnd(what, maxDrainedBytes));
      else if (!ending) request.onOutput?.(stream, chunk);
    };

    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout?.on('data', take('stdout', stdout));
    child.stderr?.on('data', take('stderr', stderr));
    child.once('error', (error) => {
      if (child.pid !== undefined) return; // a signal could not be sent; the exit still follows
      failure = cannotStart(request, error);
      finished();
    });
    child.once('exit', () => {
      if (!ending) cancelTimer = clock.after(LINGER_MS, kill);
    });
    child.once('close', finished);
    // A program that does not read all of its input closes the pipe, which is not a failure.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(request.stdin ?? '');
    const extra = child.stdio[3] as Writable | null | undefined;
    extra?.on('error', () => undefined);
    extra?.end(request.extraInput);
  });
}

/** An error that spawn throws immediately, such as a zero byte in an argument, is handled like one it reports later. */
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
 * Sends SIGTERM to everything inside a sandbox, but not to the sandbox itself, which would end at once and take the
 * rest with it before they can clean up. `pid` is bubblewrap's. Resolves when the signal has been sent.
 */
async function signalInside(pid: number): Promise<void> {
  const inside = descendants(pid, await parents());
  if (inside.length === 0) return;
  await new Promise<void>((resolve) => {
    const sender = spawn('/bin/sh', ['-c', `kill -s TERM -- ${inside.join(' ')}`], { stdio: 'ignore' });
    sender.once('error', () => resolve()); // SIGKILL follows after the grace period
    sender.once('exit', () => resolve());
  });
}

/** Every process with its parent. Processes that end meanwhile are left out. */
async function parents(): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      // The name in parentheses may contain anything. The state and the parent follow it.
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
 * Sends a signal to a child that leads its own process group, and to everything it started that is still in the group.
 * Uses the shell's `kill`, because Node reaches a group only through the global process object, which belongs to the
 * command line. Without a shell, only the child gets the signal. Resolves when the signal has been sent.
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

/** The most characters of one call that are shown while it runs. The result has its own limit. */
const MAX_PROGRESS_CHARS = 1024 * 1024;

/** Turns output into progress `{stream, text}`. A character split between chunks is held back until it is complete. */
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
