import { type ChildProcess, spawn } from 'node:child_process';
import { platform } from 'node:os';
import type { McpProcessStart } from '../tools/mcp/mcp-server.ts';
import { createBoundedOutput } from '../tools/output/output.ts';
import { endOrphans, markedEnvironment, watchGroup } from '../tools/process/orphans.ts';
import { signalGroup } from '../tools/process/run-process.ts';
import { type ChannelListener, KEPT_WORDS, MAX_JUNK, readMessage, type ServerChannel } from './mcp-errors.ts';

/** The most unsent data kept for a server that does not read. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** How long a server has to exit after its input is closed. */
const CLOSE_MS = 200;
const LINGER_MS = 200;

/**
 * Starts a server's process. It is stopped by closing its input, then by SIGTERM, then by SIGKILL. Resolves once it
 * runs. Rejects with the system's error.
 */
export async function startServerProcess(
  start: McpProcessStart,
  maxMessageBytes: number,
): Promise<ServerChannel> {
  const { clock, graceMs } = start;
  const key = `mcp:${start.cwd}:${start.name}`;
  await endOrphans(clock, (each) => each === key);
  const env = await markedEnvironment(start.env, key);
  return new Promise((resolve, reject) => {
    const child = spawnServer({ ...start, env });
    const unwatch = watchGroup(child);
    const stderr = createBoundedOutput(KEPT_WORDS);
    const junk = createBoundedOutput(KEPT_WORDS);
    let junkLines = 0;
    let listener: ChannelListener | undefined;
    let isGone = false;
    let isHeld = true;
    let stopping: Promise<void> | undefined;
    let gone: (leftOver: Promise<void>) => void = () => undefined;
    const exited = new Promise<void>((done) => {
      gone = done;
    });

    const tellEnd = (how: string | undefined) => {
      if (isGone) return;
      isGone = true;
      listener?.ended(how);
    };
    const giveUp = (how: string) => {
      tellEnd(how);
      child.stdout?.destroy();
      void stop();
    };
    const lines = createMessageLines(maxMessageBytes, (line) => {
      const message = readMessage(line);
      if (message === undefined) {
        junk.push(Buffer.from(`${line.slice(0, KEPT_WORDS)}\n`));
        if (++junkLines > MAX_JUNK) giveUp(`it printed ${MAX_JUNK} lines that are not messages`);
      } else listener?.message(message);
    });
    const end = async () => {
      child.stdin?.end();
      let cancel = clock.after(CLOSE_MS, () => {
        void signalGroup(child, 'SIGTERM');
        cancel = clock.after(graceMs, () => void signalGroup(child, 'SIGKILL'));
      });
      await exited;
      cancel();
    };
    const stop = () => {
      stopping ??= end();
      return stopping;
    };
    const setHeld = (held: boolean) => {
      if (held === isHeld || isGone) return;
      isHeld = held;
      const change = held ? 'ref' : 'unref';
      child[change]();
      for (const stream of [child.stdin, child.stdout, child.stderr])
        (stream as MaybeHeld | null)?.[change]?.();
    };

    child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined);
    child.once('error', (error) => {
      if (child.pid === undefined) reject(error);
    });
    child.once('exit', (code, signal) => {
      // Processes that the server has started end with it.
      gone(signalGroup(child, 'SIGKILL').then(unwatch));
      const how = signal === null ? `it exited with ${code}` : `the signal ${signal} ended it`;
      // Its last messages may still be in the pipe, which another process may hold open.
      const cancel = clock.after(LINGER_MS, () => tellEnd(how));
      child.once('close', () => {
        cancel();
        tellEnd(how);
      });
    });
    child.once('spawn', () =>
      resolve({
        listen(to) {
          listener = to;
          child.stdout?.on('data', (chunk: Buffer) => {
            if (!isGone && !lines.push(chunk))
              giveUp(`it sent a message of more than ${maxMessageBytes} bytes`);
          });
        },
        async send(message) {
          child.stdin?.write(`${JSON.stringify(message)}\n`);
          if ((child.stdin?.writableLength ?? 0) > MAX_UNSENT_BYTES)
            giveUp('it does not read what it is sent');
        },
        useVersion: () => undefined,
        get words() {
          return { stderr: stderr.text(), junk: junk.text() };
        },
        hold: () => setHeld(true),
        letGo: () => setHeld(false),
        async end(how) {
          setHeld(true);
          tellEnd(how);
          await stop();
        },
      }),
    );
  });
}

/** Pipes have these methods, although the types of streams do not. */
interface MaybeHeld {
  ref?(): void;
  unref?(): void;
}

const spawnServer = ({ command, args, cwd, env }: McpProcessStart): ChildProcess =>
  spawn(command, args, { cwd, env, stdio: 'pipe', detached: platform() !== 'win32', windowsHide: true });

/** Splits a byte stream into lines. */
export interface MessageLines {
  /** False once a line is longer than the limit. That line is dropped, and no more data is accepted. */
  push(chunk: Uint8Array): boolean;
}

const LINE_FEED = 10;

/** Buffers at most `maxBytes`. Lines come without their line break, and empty lines are skipped. */
export function createMessageLines(maxBytes: number, onLine: (line: string) => void): MessageLines {
  /** The beginning of an incomplete line, joined once it is complete. */
  let parts: Uint8Array[] = [];
  let size = 0;
  let isOver = false;

  const finish = (last: Uint8Array) => {
    const line = Buffer.concat([...parts, last])
      .toString('utf8')
      .trim();
    parts = [];
    size = 0;
    if (line !== '') onLine(line);
  };
  return {
    push(chunk) {
      let from = 0;
      while (!isOver) {
        const end = chunk.indexOf(LINE_FEED, from);
        const part = chunk.subarray(from, end === -1 ? chunk.length : end);
        if (size + part.length > maxBytes) {
          isOver = true;
          parts = [];
        } else if (end === -1) {
          parts.push(part);
          size += part.length;
          return true;
        } else {
          finish(part);
          from = end + 1;
        }
      }
      return false;
    },
  };
}
