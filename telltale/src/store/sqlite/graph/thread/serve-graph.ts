import type { DatabaseSync } from 'node:sqlite';
import { RuntimeError } from '../../../../kernel/runtime-error.ts';
import { createCheckpoints } from '../../thread/checkpoints.ts';
import { describeFailure } from '../../thread/describe-failure.ts';
import { pause } from '../../thread/inspect-file.ts';
import type {
  GraphArgs,
  GraphOp,
  GraphReply,
  GraphRequest,
  GraphResult,
  GraphSettings,
} from '../graph-messages.ts';
import { createGraphRows, type OpenRows } from './graph-rows.ts';
import { openGraphDatabase } from './open-graph-database.ts';

/** Answers requests, one after the other. */
export interface GraphServer {
  answer(request: GraphRequest): GraphReply;
  close(): void;
}

/**
 * How a request is run. What can be read from the files again survives a killed process (`rebuilt`); what cannot, the
 * plug as well, as the store's log does (`kept`).
 */
const WAY: Readonly<Record<GraphOp, 'read' | 'rebuilt' | 'kept'>> = {
  files: 'read',
  write: 'rebuilt',
  imports: 'read',
  resolve: 'rebuilt',
  search: 'read',
  symbols: 'read',
  symbolsOf: 'read',
  callersOf: 'read',
  calleesOf: 'read',
  importsOf: 'read',
  importersOf: 'read',
  learn: 'kept',
  factsAbout: 'read',
  facts: 'read',
  noteSession: 'kept',
  sessionsOf: 'read',
  records: 'read',
  learned: 'read',
  notes: 'read',
  stats: 'read',
  graphs: 'read',
  drop: 'kept',
};

/** The longest that is left to others between two transactions that write. */
const BREATH_MS = 25;
/** Between two transactions that clear away a graph: others may write meanwhile. */
const SWEEP_PAUSE_MS = 20;
/** About what a row and its words take in the journal. */
const BYTES_A_ROW = 400;
/** Bytes in the journal, about, from which no pause is waited for to bring them into the file. */
const OVERDUE = 32 * 1024 * 1024;
const MEMORY = 'memory';

/** Throws where the tables cannot be opened. */
export function serveGraph(settings: GraphSettings): GraphServer {
  const { path, lockTimeoutMs } = settings;
  const describe = (thrown: unknown): RuntimeError => describeFailure(path ?? MEMORY, lockTimeoutMs, thrown);
  try {
    return serve(openGraphDatabase(settings), settings, describe);
  } catch (error) {
    throw describe(error);
  }
}

function serve(
  db: DatabaseSync,
  { path, durability }: GraphSettings,
  describe: (thrown: unknown) => RuntimeError,
): GraphServer {
  const rows = createGraphRows(db);
  const checkpoints = path === null ? undefined : createCheckpoints(db, { overdue: OVERDUE });
  /** From when on the next transaction may begin. */
  let readyAt = 0;
  let sweeping: ReturnType<typeof setTimeout> | undefined;

  const inTransaction = <T>(begin: 'BEGIN' | 'BEGIN IMMEDIATE', work: () => T): T => {
    db.exec(begin);
    try {
      const value = work();
      db.exec('COMMIT');
      return value;
    } catch (error) {
      rollBack();
      throw error;
    }
  };
  const rollBack = () => {
    try {
      db.exec('ROLLBACK');
    } catch (error) {
      // After a full disk SQLite has rolled back by itself; any other reason shows at the next BEGIN.
      if (!(error instanceof Error)) throw error;
    }
  };

  const sweep = () => {
    sweeping = undefined;
    try {
      if (inTransaction('BEGIN IMMEDIATE', rows.sweep)) sweepLater();
      checkpoints?.committed(BYTES_A_ROW);
    } catch (error) {
      // Nobody waits for it: what is left is cleared away when the store is next opened.
      if (!(error instanceof Error && 'errcode' in error)) throw error;
    }
  };
  const sweepLater = () => {
    sweeping ??= setTimeout(sweep, SWEEP_PAUSE_MS);
    sweeping.unref();
  };
  sweepLater();

  const perform = ({ op, args }: GraphRequest): GraphResult<GraphOp> => {
    const way = WAY[op];
    if (way === 'read') return inTransaction('BEGIN', () => call(rows, op, args));
    const early = readyAt - performance.now();
    if (path !== null && early > 0) pause(Math.min(BREATH_MS, early));
    const began = performance.now();
    const isKept = way === 'kept' && durability === 'power' && path !== null;
    if (isKept) db.exec('PRAGMA synchronous = FULL');
    try {
      const value = inTransaction('BEGIN IMMEDIATE', () => call(rows, op, args));
      if (op === 'drop') sweepLater();
      checkpoints?.committed(rowsOf(op, args) * BYTES_A_ROW);
      return value;
    } finally {
      if (isKept) db.exec('PRAGMA synchronous = NORMAL');
      // As long again as it took, since who waits for the file's lock only looks now and then.
      readyAt = 2 * performance.now() - began;
    }
  };

  return {
    answer(request) {
      try {
        return { id: request.id, value: perform(request) };
      } catch (error) {
        return { id: request.id, error: (error instanceof RuntimeError ? error : describe(error)).toJSON() };
      }
    },
    close() {
      clearTimeout(sweeping);
      checkpoints?.stop();
      db.close();
    },
  };
}

/** The arguments are those of the operation: both come from one call of the port. */
const call = (rows: OpenRows, op: GraphOp, args: GraphArgs<GraphOp>): GraphResult<GraphOp> =>
  (rows[op] as (...args: GraphArgs<GraphOp>) => GraphResult<GraphOp>)(...args);

function rowsOf(op: GraphOp, args: GraphArgs<GraphOp>): number {
  if (op !== 'write') return 1;
  let count = 1;
  for (const { symbols, imports, calls } of (args as GraphArgs<'write'>)[1].records ?? [])
    count += symbols.length + imports.length + calls.length;
  return count;
}
