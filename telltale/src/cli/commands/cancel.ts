import { readRun } from '../../engine/read-run.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import { RUN_CANCEL } from '../../session/runs/run-messages.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { startProgress } from '../progress.ts';
import { type CancelUnowned, cancelUnowned } from '../session/cancel-unowned.ts';
import { cancelUnownedRun } from '../session/cancel-unowned-run.ts';
import { findStream } from '../session/find-session.ts';
import { runsOf } from '../session/runs-of.ts';
import { STREAM_HELP } from '../session/session-help.ts';
import { storeFlag } from '../session/store-location.ts';
import { addStoreOption } from '../session/store-option.ts';
import { streamToResume } from '../session/stream-to-resume.ts';
import { withRuntime, withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-line.ts';
import { hasEnded } from '../view/status.ts';

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
const BY = 'user';

export const registerCancel: RegisterCommand = (program, context) => {
  addStoreOption(program.command('cancel'))
    .summary('end a session, whoever runs it')
    .description(
      'Ends a session or a workflow run: what runs is stopped, by the process that works on it. One that nobody runs ends at once.',
    )
    .argument('<session>', 'which one')
    .option('--reason <text>', 'why, for the log')
    .option('--force', 'end a workflow run without undoing what its steps have done')
    .option('--json', 'print {"session", "outcome", "pid"}')
    .addHelpText('after', EXAMPLES)
    .action(
      context.run((session: string, options: CancelOptions) =>
        cancelStream(options, context, (store) => findStream(store, session)),
      ),
    );
};

/** Ends the session or run that `find` finds. */
export async function cancelStream(
  options: CancelOptions,
  context: CommandContext,
  find: (store: Store) => Promise<StreamInfo>,
): Promise<ExitCode> {
  const reason = options.reason ?? DEFAULT_REASON;
  const { clock } = context.io;
  const outcome = await withStoredSessions(context, options, async (runtime): Promise<Outcome> => {
    const info = await sessionLed(runtime.store, await find(runtime.store));
    const { stream, status, owner, kind } = info;
    const told = { kind, stream };
    if (hasEnded(status) && owner === undefined)
      return { ...told, outcome: 'ended_before', text: `${stream} had ended already (${status}).` };
    const ends = { reason, by: BY, clock };
    const cancelled: Outcome = {
      ...told,
      ...{ outcome: 'cancelled', text: `Nobody worked on ${stream}: it is cancelled now.` },
    };
    if (owner === undefined && kind === 'session') {
      const way = await endLead(runtime.store, stream, ends, options.force === true);
      if (way === 'by working on it') return { ...cancelled, isToUndo: true };
      if (await cancelUnowned(runtime, stream, ends)) return cancelled;
    }
    if (owner === undefined && kind === 'run') {
      const way = await wayToEnd(runtime.store, info, options.force === true);
      if (way === 'at once' && (await cancelUnownedRun(runtime.store, stream, ends))) return cancelled;
      if (way === 'by working on it') return { ...cancelled, isToUndo: true };
    }
    if (kind === 'run') await runtime.store.send(stream, { kind: RUN_CANCEL, from: BY, body: reason });
    else await runtime.cancel(stream, reason, BY);
    const pid = (await runtime.store.info(stream))?.owner?.pid ?? owner?.pid;
    if (pid === undefined) {
      const resume = `${await streamToResume(runtime.store, info)}${storeFlag(options.store)}`;
      const text = `${stream} was called by another run, and ends as soon as that goes on:\n  ${resume}`;
      return { ...told, outcome: 'kept', text };
    }
    const text = `Delivered to process ${pid}, which works on ${stream}: it stops what runs and ends it.`;
    return { ...told, outcome: 'delivered', text, pid };
  });
  if (outcome.isToUndo === true) await endByWorking(outcome, reason, options, context);
  const json = { [outcome.kind]: outcome.stream, outcome: outcome.outcome, pid: outcome.pid ?? null };
  await context.io.stdout.write(options.json === true ? jsonText(json, 2) : `${outcome.text}\n`);
  return EXIT.ok;
}

interface Outcome {
  readonly kind: StreamInfo['kind'];
  readonly stream: string;
  readonly outcome: 'ended_before' | 'cancelled' | 'delivered' | 'kept';
  readonly text: string;
  readonly pid?: number;
  /** Whether it is still to be ended, by working on it. */
  readonly isToUndo?: boolean;
}

/** What has completed may have to be undone, which takes the run's agent; one that was called is its caller's to end. */
async function wayToEnd(
  store: Store,
  { stream, parent }: StreamInfo,
  force: boolean,
): Promise<'at once' | 'by working on it' | 'by its caller'> {
  if (force) return 'at once';
  const { steps } = await readRun(store, stream);
  if (![...steps.values()].some(({ status }) => status === 'completed')) return 'at once';
  const caller = parent === undefined ? undefined : await store.info(parent);
  return caller?.kind === 'run' ? 'by its caller' : 'by working on it';
}

/** A run that leads a session ends with it, as long as that goes on. */
async function sessionLed(store: Store, info: StreamInfo): Promise<StreamInfo> {
  if (info.kind !== 'run' || info.parent === undefined || info.stream !== leadRun(info.parent)) return info;
  const session = await store.info(info.parent);
  return session === undefined || (hasEnded(session.status) && session.owner === undefined) ? info : session;
}

/** Ends the run that leads a session, where there is one and it needs nobody for that. */
async function endLead(
  store: Store,
  session: string,
  ends: CancelUnowned,
  force: boolean,
): Promise<'at once' | 'by working on it'> {
  const lead = await store.info(leadRun(session));
  if (lead === undefined || lead.head === 0 || hasEnded(lead.status)) return 'at once';
  if (lead.owner === undefined) {
    if ((await wayToEnd(store, lead, force)) === 'by working on it') return 'by working on it';
    if (await cancelUnownedRun(store, lead.stream, ends)) return 'at once';
  }
  await store.send(lead.stream, { kind: RUN_CANCEL, from: ends.by, body: ends.reason });
  return 'at once';
}

/** Takes the run up here: it finds in its inbox that it is to end, undoes what can be undone, and ends. */
async function endByWorking(
  { kind, stream }: Outcome,
  reason: string,
  { store }: CancelOptions,
  context: CommandContext,
): Promise<void> {
  const { io } = context;
  const run = kind === 'run' ? stream : leadRun(stream);
  const ends = { reason, by: run, clock: io.clock };
  await withRuntime(context, store === undefined ? {} : { store }, async (runtime) => {
    const stopProgress = startProgress(io, () => `Undoing what ${run} has done…`);
    try {
      await undo(runtime, run, reason, io);
    } finally {
      await stopProgress();
    }
    for (const called of await runsOf(runtime.store, run))
      if (called.owner === undefined && !hasEnded(called.status))
        await cancelUnownedRun(runtime.store, called.stream, ends);
    if (kind === 'session') await cancelUnowned(runtime, stream, { ...ends, by: BY });
  });
}

/** One that leads a session goes on with that alone, but it ends without it. */
async function undo({ store, workflows }: Runtime, run: string, reason: string, io: Io): Promise<void> {
  if ((await readRun(store, run)).origin.leads === true) {
    await workflows.cancel(run, reason, BY);
    await Promise.race([workflows.idle(), aborted(io.signal)]);
    const left = await store.info(run);
    if (!io.signal.aborted && left !== undefined && !hasEnded(left.status)) throw notEnded(run);
    return;
  }
  await store.send(run, { kind: RUN_CANCEL, from: BY, body: reason });
  const taken = await workflows.resume(run);
  const stop = () => void taken.interrupt();
  io.signal.addEventListener('abort', stop, { once: true });
  try {
    await taken.result;
  } finally {
    io.signal.removeEventListener('abort', stop);
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const notEnded = (run: string) =>
  new RuntimeError('not_cancelled', `${run} could not be taken up to undo what it has done.`, {
    hint: 'Add --force: then it ends at once, and nothing is undone.',
  });
