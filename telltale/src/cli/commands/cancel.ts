import { type CancelSession, cancelSession } from '../../agent/ending/cancel-session.ts';
import { cancelUnownedRun, runsOf, wayToEnd } from '../../agent/ending/cancel-unowned.ts';
import { hasEnded } from '../../agent/ending/has-ended.ts';
import { leadRun } from '../../agent/guided/guidance.ts';
import { RUN_CANCEL } from '../../agent/runs/run-messages.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { signer } from '../program.ts';
import { startProgress } from '../progress.ts';
import { findStream, STREAM_HELP, streamToResume } from '../session/find-session.ts';
import { addStoreOption, storeFlag } from '../session/store-options.ts';
import { withRuntime, withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-text.ts';

export interface CancelOptions {
  readonly store?: string;
  readonly reason?: string;
  readonly force?: true;
  readonly json?: true;
}

const EXAMPLES = `
${STREAM_HELP}

Examples:
  $ telltale cancel last
  $ telltale cancel last --reason "the branch is gone"
`;

const DEFAULT_REASON = 'asked to';
/** Another process was faster: it ends the stream, or has ended it. */
const BY_OTHERS: ReadonlySet<string> = new Set([
  'stream_owned',
  'run_ended',
  'session_ended',
  'session_completed',
]);

export const registerCancel: RegisterCommand = (program, context) => {
  addStoreOption(program.command('cancel'))
    .summary('stop a session, whichever process runs it')
    .description(
      'Ends a session or a workflow run. The process that works on it stops its actions; without such a process it ends at once.',
    )
    .argument('<session>', 'which one')
    .option('--reason <text>', 'the reason, for the log')
    .option('--force', 'end a workflow run without undoing its steps')
    .option('--json', 'print {"session", "outcome", "pid"}')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((session: string, options: CancelOptions) =>
        cancelStream(options, context, (store) => findStream(store, session)),
      ),
    );
};

/** Cancels the session or run that `find` returns. */
export async function cancelStream(
  options: CancelOptions,
  context: CommandContext,
  find: (store: Store) => Promise<StreamInfo>,
): Promise<ExitCode> {
  const reason = options.reason ?? DEFAULT_REASON;
  const ends = { reason, by: signer(), clock: context.io.clock, force: options.force === true };
  const found = await withStoredSessions(context, options, async ({ store }): Promise<CancelOutcome> => {
    const info = await ledBy(store, await find(store));
    const told = { kind: info.kind, stream: info.stream };
    const ended = await (info.kind === 'session' ? endSession(store, info, ends) : endRun(store, info, ends));
    return ended === 'kept'
      ? { ...told, ...(await keptFor(store, info, options, context.io)) }
      : { ...told, ...ended };
  });
  const outcome =
    found.isToUndo === true ? { ...found, ...(await endByWorking(found, reason, options, context)) } : found;
  for (const run of found.toUndo ?? [])
    await endByWorking({ kind: 'run', stream: run }, undefined, options, context);
  const json = { [outcome.kind]: outcome.stream, outcome: outcome.outcome, pid: outcome.pid ?? null };
  await context.io.stdout.write(options.json === true ? jsonText(json, 2) : `${outcome.text}\n`);
  return EXIT.ok;
}

type Ends = CancelSession & { readonly force: boolean };
type CancelEnded = Omit<CancelOutcome, 'kind' | 'stream'> | 'kept';

async function endSession(store: Store, { stream }: StreamInfo, ends: Ends): Promise<CancelEnded> {
  const toUndo: string[] = [];
  const tellRun = async (run: StreamInfo, why: string) => {
    await store.send(run.stream, { kind: RUN_CANCEL, from: 'session', body: why });
    if (run.owner === undefined) toUndo.push(run.stream);
  };
  const cancelled = await cancelSession(store, stream, { ...ends, tellRun });
  switch (cancelled.kind) {
    case 'ended':
      return { ...cancelledNow(stream), toUndo };
    case 'ended_before':
      return endedBefore(stream, cancelled.status);
    case 'told':
      return deliveredTo(cancelled.pid, stream);
    case 'to_undo':
      return { ...cancelledNow(stream), isToUndo: true };
    case 'kept':
      return 'kept';
  }
}

async function endRun(store: Store, info: StreamInfo, ends: Ends): Promise<CancelEnded> {
  const { stream, status, owner } = info;
  if (hasEnded(status) && owner === undefined) return endedBefore(stream, status);
  if (owner === undefined) {
    const way = ends.force ? 'at once' : await wayToEnd(store, info);
    if (way === 'by working on it') return { ...cancelledNow(stream), isToUndo: true };
    if (way === 'at once' && (await cancelUnownedRun(store, stream, ends)) !== 'owned')
      return cancelledNow(stream);
  }
  await store.send(stream, { kind: RUN_CANCEL, from: ends.by, body: ends.reason });
  const pid = (await store.info(stream))?.owner?.pid ?? owner?.pid;
  return pid === undefined ? 'kept' : deliveredTo(pid, stream);
}

interface CancelOutcome {
  readonly kind: StreamInfo['kind'];
  readonly stream: string;
  readonly outcome: 'ended_before' | 'cancelled' | 'delivered' | 'kept';
  readonly text: string;
  readonly pid?: number;
  /** Whether this command must resume it so that it ends. */
  readonly isToUndo?: boolean;
  /** Its runs that were told to end and must be resumed so that they do. */
  readonly toUndo?: readonly string[];
}

/** A run that guides a session ends with it, and the other way around. */
async function ledBy(store: Store, info: StreamInfo): Promise<StreamInfo> {
  const parent = info.parent === undefined ? undefined : await store.info(info.parent);
  const isLead = parent !== undefined && info.kind === 'run' && info.stream === leadRun(parent.stream);
  return isLead && !hasEnded(parent.status) ? parent : info;
}

const cancelledNow = (stream: string) =>
  ({ outcome: 'cancelled', text: `No process worked on ${stream}. It is cancelled now.` }) as const;

const endedBefore = (stream: string, status: string) =>
  ({ outcome: 'ended_before', text: `${stream} has already ended (${status}).` }) as const;

/** Its caller must end it, and nobody works on the caller. */
async function keptFor(store: Store, info: StreamInfo, options: CancelOptions, io: Io) {
  const resume = `${await streamToResume(store, info, io)}${storeFlag(options.store)}`;
  const text = `${info.stream} was called by another session. It ends as soon as that one continues:\n  ${resume}`;
  return { outcome: 'kept', text } as const;
}

const deliveredTo = (
  pid: number | undefined,
  stream: string,
): Pick<CancelOutcome, 'outcome' | 'text' | 'pid'> => ({
  outcome: 'delivered',
  text: `Delivered to ${pid === undefined ? 'the process that' : `process ${pid}, which`} works on ${stream}. It stops all running actions, then ends.`,
  ...(pid === undefined ? {} : { pid }),
});

/**
 * Resumes it here: it finds the cancellation in its inbox, undoes what can be undone, and ends. Another process that
 * watches it may resume it first and end it in the same way. Then the result of that process counts. A cancellation
 * without `reason` was sent before.
 */
async function endByWorking(
  { stream: run, kind }: Pick<CancelOutcome, 'stream' | 'kind'>,
  reason: string | undefined,
  { store }: CancelOptions,
  context: CommandContext,
): Promise<Partial<CancelOutcome>> {
  const { io } = context;
  return withRuntime(context, store === undefined ? {} : { store }, async (runtime) => {
    if (reason !== undefined)
      await runtime.store.send(run, {
        kind: kind === 'session' ? 'cancel' : RUN_CANCEL,
        from: signer(),
        body: reason,
      });
    try {
      // The runtime decides: it does not resume a stream that has ended in the meantime.
      const taken =
        kind === 'run' ? await runtime.workflows.resume(run) : await runtime.resume(run, { by: 'runtime' });
      const stop = () => void taken.interrupt();
      io.signal.addEventListener('abort', stop, { once: true });
      const stopProgress = startProgress(io, () => `Undoing what ${run} has done…`);
      try {
        await taken.result;
      } finally {
        io.signal.removeEventListener('abort', stop);
        await stopProgress();
      }
    } catch (thrown) {
      const code = thrown instanceof RuntimeError ? thrown.code : undefined;
      if (code === 'manifest_changed') throw endWithout(thrown as RuntimeError, run);
      if (code === undefined || !BY_OTHERS.has(code)) throw thrown;
      const info = await runtime.store.info(run);
      return info === undefined || !hasEnded(info.status)
        ? deliveredTo(info?.owner?.pid, run)
        : {
            outcome: info.status === 'cancelled' ? 'cancelled' : 'ended_before',
            text: `${run} has ended (${info.status}), by another process.`,
          };
    }
    for (const called of await runsOf(runtime.store, run))
      if (called.owner === undefined && !hasEnded(called.status))
        await cancelUnownedRun(runtime.store, called.stream, {
          reason: reason ?? DEFAULT_REASON,
          by: run,
          clock: io.clock,
        });
    return {};
  });
}

/** The manifest that undoes its steps is missing or has changed. */
const endWithout = ({ code, message }: RuntimeError, run: string) =>
  new RuntimeError(code, message, {
    hint: `Restore the manifest and cancel again, or end the run without undoing anything: telltale cancel ${run} --force`,
  });
