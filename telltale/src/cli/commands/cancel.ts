import { RuntimeError } from '../../kernel/runtime-error.ts';
import { cancelUnowned, cancelUnownedRun } from '../../session/ending/cancel-unowned.ts';
import { hasEnded } from '../../session/ending/has-ended.ts';
import { runsOf } from '../../session/ending/runs-of.ts';
import { wayToEnd } from '../../session/ending/way-to-end.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import { RUN_CANCEL } from '../../session/runs/run-messages.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { startProgress } from '../progress.ts';
import { findStream } from '../session/find-session.ts';
import { STREAM_HELP } from '../session/session-help.ts';
import { storeFlag } from '../session/store-location.ts';
import { addStoreOption } from '../session/store-option.ts';
import { streamToResume } from '../session/stream-to-resume.ts';
import { withRuntime, withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-line.ts';

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
  const found = await withStoredSessions(context, options, async (runtime): Promise<Outcome> => {
    const info = await ledBy(runtime.store, await find(runtime.store));
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
      const lead = await runtime.store.info(leadRun(stream));
      if (lead !== undefined && lead.owner === undefined && !hasEnded(lead.status)) {
        const way = options.force === true ? 'at once' : await wayToEnd(runtime.store, lead);
        if (way === 'by working on it') return { ...cancelled, isToUndo: true };
        await cancelUnownedRun(runtime.store, lead.stream, { ...ends, by: stream });
      }
      const toUndo: string[] = [];
      const tellRun = async (run: StreamInfo, why: string) => {
        await runtime.store.send(run.stream, { kind: RUN_CANCEL, from: 'session', body: why });
        if (run.owner === undefined) toUndo.push(run.stream);
      };
      const force = options.force === true;
      if (await cancelUnowned(runtime, stream, { ...ends, force, tellRun })) return { ...cancelled, toUndo };
    }
    if (owner === undefined && kind === 'run') {
      const way = options.force === true ? 'at once' : await wayToEnd(runtime.store, info);
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
    return { ...told, ...deliveredTo(pid, stream) };
  });
  const outcome =
    found.isToUndo === true ? { ...found, ...(await endByWorking(found, reason, options, context)) } : found;
  for (const run of found.toUndo ?? [])
    await endByWorking({ kind: 'run', stream: run }, undefined, options, context);
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
  /** Its runs that were told to end and have to be worked on for it. */
  readonly toUndo?: readonly string[];
}

/** A run that leads a session ends with it, and it with the run: ending the one is ending the other. */
async function ledBy(store: Store, info: StreamInfo): Promise<StreamInfo> {
  const parent = info.parent === undefined ? undefined : await store.info(info.parent);
  const isLead = parent !== undefined && info.kind === 'run' && info.stream === leadRun(parent.stream);
  return isLead && !hasEnded(parent.status) ? parent : info;
}

const deliveredTo = (pid: number | undefined, stream: string): Pick<Outcome, 'outcome' | 'text' | 'pid'> => ({
  outcome: 'delivered',
  text: `Delivered to ${pid === undefined ? 'the process that' : `process ${pid}, which`} works on ${stream}: it stops what runs and ends it.`,
  ...(pid === undefined ? {} : { pid }),
});

/**
 * Takes it up here: it finds in its inbox that it is to end, undoes what can be undone, and ends. A process that
 * watches it may take it up first, and end it in the same way: then what it resolves with is what to say. One without
 * `reason` has been told already.
 */
async function endByWorking(
  { stream: run, kind }: Pick<Outcome, 'stream' | 'kind'>,
  reason: string | undefined,
  { store }: CancelOptions,
  context: CommandContext,
): Promise<Partial<Outcome>> {
  const { io } = context;
  return withRuntime(context, store === undefined ? {} : { store }, async (runtime) => {
    if (kind === 'session') await runtime.cancel(run, reason, BY);
    else if (reason !== undefined)
      await runtime.store.send(run, { kind: RUN_CANCEL, from: BY, body: reason });
    try {
      const taken = kind === 'run' ? await runtime.workflows.resume(run) : await runtime.resume(run);
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
      if (code !== 'stream_owned' && code !== 'run_ended') throw thrown;
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
          ...{ reason: reason ?? DEFAULT_REASON, by: run, clock: io.clock },
        });
    return {};
  });
}

/** What undoes its steps cannot be had, or is another by now. */
const endWithout = ({ code, message }: RuntimeError, run: string) =>
  new RuntimeError(code, message, {
    hint: `Put it back as it was and cancel again, or end it without undoing anything: telltale cancel ${run} --force`,
  });
