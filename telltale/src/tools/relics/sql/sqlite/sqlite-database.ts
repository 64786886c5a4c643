import { fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../../../../lib/built-file.ts';
import { abortError } from '../../../abort.ts';
import { thrownMessage } from '../../../output/output.ts';
import type { RelicContext } from '../../relic-driver.ts';
import { badConnection, relicBrokeOff, relicClosed, relicUnavailable } from '../../relic-driver.ts';
import type { SqlDatabase, SqlRequest, SqlResult } from '../sql-database.ts';
import { createCallLimiter, rowTooLarge, sqlRefused } from '../sql-database.ts';
import type { FromServer, ToServer } from './serve-sqlite.ts';
import { bindParams, messageLine } from './serve-sqlite.ts';

/** A SQLite file inside the permitted paths, opened by a separate process that starts with the first request. */
export function createSqliteDatabase(context: RelicContext, address: string): SqlDatabase {
  const { what, deps } = context;
  const path = pathOf(context, address);
  const where = `sqlite:${path}`;
  const limiter = createCallLimiter(what, 1);
  let child: SqliteProcess | undefined;
  let isBusy = false;
  let isClosed = false;

  const failure = (answer: Exclude<FromServer, { kind: 'opened' | 'done' }>, { limits }: SqlRequest) => {
    switch (answer.kind) {
      case 'unusable':
        return relicUnavailable(what, where, answer.why, answer.retryable);
      case 'refused':
        return sqlRefused(what, answer.problem);
      case 'row_too_large':
        return rowTooLarge(what, limits.maxBytes);
    }
  };

  const opened = async (request: SqlRequest): Promise<SqliteProcess> => {
    if (child?.hasEnded === false) return child;
    const { real } = await deps.permissions.paths.resolve(path);
    if (isClosed) throw relicClosed(what);
    const started = startSqliteProcess();
    child = started;
    const answer = await started.ask({ op: 'open', path: real });
    if (answer.kind === 'opened') return started;
    started.kill();
    if (answer.kind === 'done') throw relicUnavailable(what, where, 'it sent an unexpected answer');
    throw failure(answer, request);
  };

  const runIn = async (request: SqlRequest, signal: AbortSignal): Promise<readonly SqlResult[]> => {
    const statements = request.statements.map((statement) => ({
      sql: statement.sql,
      bindings: bindParams(what, statement),
    }));
    const { mode, limits } = request;
    const server = await opened(request);
    if (signal.aborted) throw abortError(what, signal);
    const answer = await server.ask({ op: 'run', mode, statements, limits });
    if (answer.kind === 'done') return answer.results;
    if (answer.kind === 'opened') throw relicUnavailable(what, where, 'it sent an unexpected answer');
    throw failure(answer, request);
  };

  return {
    dialect: 'sqlite',
    where,
    async run(request, signal) {
      const leave = await limiter.acquire(signal);
      const kill = () => child?.kill();
      signal.addEventListener('abort', kill, { once: true });
      isBusy = true;
      try {
        if (isClosed) throw relicClosed(what);
        if (signal.aborted) throw abortError(what, signal);
        return await runIn(request, signal);
      } catch (thrown) {
        if (signal.aborted) throw abortError(what, signal);
        if (child?.hasEnded === true && !(thrown instanceof Error && thrown.name === 'RuntimeError'))
          throw relicBrokeOff(what, where, thrownMessage(thrown), request.mode === 'read');
        throw thrown;
      } finally {
        isBusy = false;
        signal.removeEventListener('abort', kill);
        leave();
      }
    },
    async close() {
      isClosed = true;
      if (isBusy) child?.kill();
      await child?.close();
    },
  };
}

/** Reads `sqlite:PATH`, `file://PATH` or PATH, relative to the agent's folder. */
function pathOf({ what, file }: RelicContext, address: string): string {
  const path = /^file:\/\//i.test(address)
    ? fileURLToPath(address)
    : address.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');
  if (path !== '' && !path.startsWith(':memory:')) return path;
  throw badConnection(
    what,
    file,
    'has no file',
    'Give the path of a file, such as sqlite:./data.db. A database in memory would be lost with the process.',
  );
}

/** The process that has a SQLite file open. It answers one request at a time. */
export interface SqliteProcess {
  /** Rejects if the process ends before it has answered. */
  ask(message: ToServer): Promise<FromServer>;
  readonly hasEnded: boolean;
  /** Ends the process immediately. Whoever opens the file next rolls back its unfinished work. */
  kill(): void;
  /** Resolves when it has closed the file and exited. */
  close(): Promise<void>;
}

const FILE = builtFile(new URL('./sqlite-process.ts', import.meta.url));

export function startSqliteProcess(): SqliteProcess {
  const child = fork(FILE, {
    // Node 22 warns that node:sqlite is experimental, but users cannot do anything about it.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: {}, // it needs no variables, so it gets no secrets
    stdio: ['pipe', 'pipe', 'ignore', 'pipe', 'ipc'],
  });
  const [input, output, , line] = child.stdio as unknown as [Writable, Readable, null, Writable];
  // Writing to a process that was just killed fails, but only its exit matters.
  for (const stream of [input, line]) stream.on('error', () => undefined);
  let waiting: { resolve(answer: FromServer): void; reject(error: Error): void } | undefined;
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    const end = (why: string) => {
      if (hasEnded) return;
      hasEnded = true;
      waiting?.reject(new Error(why));
      resolve();
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(`its process ended with ${signal ?? code}`));
  });
  createInterface({ input: output }).on('line', (text) => {
    const answered = waiting;
    waiting = undefined;
    answered?.resolve(JSON.parse(text) as FromServer);
  });
  return {
    ask(message) {
      if (hasEnded) return Promise.reject(new Error('its process has ended'));
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        input.write(messageLine(message));
      });
    },
    get hasEnded() {
      return hasEnded;
    },
    kill: () => void child.kill('SIGKILL'),
    async close() {
      input.end();
      line.end();
      await ended;
    },
  };
}
