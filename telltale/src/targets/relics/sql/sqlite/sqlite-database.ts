import { fileURLToPath } from 'node:url';
import { stopped } from '../../../access/stopped.ts';
import { thrownMessage } from '../../../output/thrown-message.ts';
import { badConnection } from '../../read-connection.ts';
import type { RelicContext } from '../../relic-driver.ts';
import { relicBrokeOff, relicClosed, relicUnavailable } from '../../relic-errors.ts';
import type { SqlDatabase, SqlRequest, SqlResult } from '../sql-database.ts';
import { rowTooLarge, sqlRefused } from '../sql-errors.ts';
import { createTurnstile } from '../turnstile.ts';
import { bindParams } from './bind-params.ts';
import type { FromServer } from './messages.ts';
import { type SqliteProcess, startSqliteProcess } from './start-sqlite-process.ts';

/** A SQLite file inside the permitted paths, in a process of its own that starts with the first request. */
export function createSqliteDatabase(context: RelicContext, address: string): SqlDatabase {
  const { what, deps } = context;
  const path = pathOf(context, address);
  const where = `sqlite:${path}`;
  const turnstile = createTurnstile(what, 1);
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
    if (answer.kind === 'done') throw relicUnavailable(what, where, 'it gave an answer to no question');
    throw failure(answer, request);
  };

  const runIn = async (request: SqlRequest, signal: AbortSignal): Promise<readonly SqlResult[]> => {
    const statements = request.statements.map((statement) => ({
      sql: statement.sql,
      bindings: bindParams(what, statement),
    }));
    const { mode, limits } = request;
    const server = await opened(request);
    if (signal.aborted) throw stopped(what, signal);
    const answer = await server.ask({ op: 'run', mode, statements, limits });
    if (answer.kind === 'done') return answer.results;
    if (answer.kind === 'opened') throw relicUnavailable(what, where, 'it gave an answer to no question');
    throw failure(answer, request);
  };

  return {
    dialect: 'sqlite',
    where,
    async run(request, signal) {
      const leave = await turnstile.enter(signal);
      const kill = () => child?.kill();
      signal.addEventListener('abort', kill, { once: true });
      isBusy = true;
      try {
        if (isClosed) throw relicClosed(what);
        if (signal.aborted) throw stopped(what, signal);
        return await runIn(request, signal);
      } catch (thrown) {
        if (signal.aborted) throw stopped(what, signal);
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

/** `sqlite:PATH`, `file://PATH` or PATH; relative to the agent's folder. */
function pathOf({ what, file }: RelicContext, address: string): string {
  const path = /^file:\/\//i.test(address)
    ? fileURLToPath(address)
    : address.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');
  if (path !== '' && !path.startsWith(':memory:')) return path;
  throw badConnection(
    what,
    file,
    'names no file',
    'Give the path of a file, as in sqlite:./data.db; what is kept in memory alone would be gone with the process.',
  );
}
