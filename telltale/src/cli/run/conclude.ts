import type { SessionResult } from '../../agent/runtime-types.ts';
import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { RunState } from '../../log/run-state.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { asTyped } from '../session/store-options.ts';
import { waitingText } from '../view/describe-run-event.ts';
import { spanText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { failureLines, failureToFixLines, type RootCause } from '../view/root-cause.ts';
import { sentences } from '../view/text-width.ts';
import { askedLines, waitingLines } from '../workflow/waiting-lines.ts';
import type { FollowedSession } from './follow-session.ts';
import type { RunMode } from './run-mode.ts';

const EXITS: Readonly<Record<SessionResult['status'], ExitCode>> = {
  completed: EXIT.ok,
  failed: EXIT.failed,
  cancelled: EXIT.failed,
  stalled: EXIT.waiting,
  waiting: EXIT.waiting,
  interrupted: EXIT.interrupted,
};

export interface ConcludeOptions {
  readonly mode: RunMode;
  /** ` --store X`, if commands about this session need it. Undefined if the session is gone when this process ends. */
  readonly storeFlag: string | undefined;
  /** Whether others use the same store: a worker then resumes what this process releases. */
  readonly isShared?: boolean;
  /** The run that guides the session, if it waits. */
  readonly lead?: RunState | undefined;
  /** The command that continues the session, without its id: `resume`. */
  readonly resumeWith?: string;
}

/** Says on stderr what a person must know about a session that did not end well, and returns the exit code. */
export function conclude(
  { result, turn, cutOff, unread, idle, cancelled, rootCause }: FollowedSession,
  io: Io,
  { mode, storeFlag, isShared = false, lead, resumeWith = 'resume' }: ConcludeOptions,
): Promise<ExitCode> {
  const { session, status, error, reviews = [] } = result;
  const paint = paletteFor(io.stderr);
  const about = `session ${session}${turn === 0 ? '' : `, turn ${turn}`}`;
  const end: ConcludedWork = {
    status,
    error,
    unread,
    rootCause,
    about,
    commands: { see: `logs ${session}`, resume: `${resumeWith} ${session}` },
    running: cutOff.map(({ action, startedAt }) => ({ what: `${action.id} ${action.name}`, startedAt })),
    cancelled: `The session ${session} was cancelled${cancelled === undefined ? '.' : ` ${cancelled}`}`,
  };
  return concludeEnd(end, io, {
    mode,
    storeFlag,
    interrupted: idle ? undefined : turn === 0 ? ' before its first turn' : ` in turn ${turn}`,
    ...(isShared && !idle
      ? {
          shared: `A worker of the fleet continues it if it has the manifest.${storeFlag === undefined ? '' : ` To end it: ${io.program} cancel ${session}${storeFlag}`}`,
        }
      : {}),
    waiting: () => [
      `The session is waiting for ${waitsFor(lead)}.`,
      ...reviews.flatMap(({ review, target, what }) =>
        askedLines({ review, who: target, what }, storeFlag, paint, io),
      ),
      ...(lead === undefined ? [] : waitingLines(lead.id, lead, storeFlag, paint, io)),
    ],
  });
}

/** How a session or a workflow run ended, as far as both are alike. */
export interface ConcludedWork {
  readonly status: SessionResult['status'];
  readonly error: ErrorJson | undefined;
  /** Whether the reader of our output has gone away. */
  readonly unread: boolean;
  /** What somebody has to fix, where there is something. */
  readonly rootCause: RootCause | undefined;
  /** `session ses_…, turn 3`, `run run_…`. */
  readonly about: string;
  /** Behind the name of the program, without the store. */
  readonly commands: { readonly see: string; readonly resume: string };
  /** What was running when it was interrupted here. */
  readonly running: readonly { readonly what: string; readonly startedAt: number | undefined }[];
  /** The sentence about a cancellation. */
  readonly cancelled: string;
}

export interface ConcludeEndOptions {
  readonly mode: RunMode;
  readonly storeFlag: string | undefined;
  /** Where it was interrupted; undefined where nothing was: nobody was at work. */
  readonly interrupted: string | undefined;
  /** A line about those who work on the same store. */
  readonly shared?: string;
  /** What it waits for, a sentence, and the lines that say how to answer. */
  readonly waiting: () => readonly string[];
}

/** Says on stderr how a session or run ended, if that was not well, and what to do. */
export async function concludeEnd(
  { status, error, unread, rootCause, about, commands, running, cancelled }: ConcludedWork,
  io: Pick<Io, 'stderr' | 'clock' | 'program'>,
  { mode, storeFlag, interrupted, shared, waiting }: ConcludeEndOptions,
): Promise<ExitCode> {
  const { stderr, clock, program } = io;
  const code = isLost({ status, error }) ? EXIT.failed : EXITS[status];
  if (unread || mode === 'events' || mode === 'json') return code;
  const paint = paletteFor(stderr);
  const { bold, cyan, red, yellow } = paint;
  const look = { paint, io, storeFlag };
  const tell = (lines: readonly string[]) => stderr.write(`${sentences(lines, stderr.columns).join('\n')}\n`);
  if (code === EXIT.ok) {
    // The session or run continued after a failure, which a person may have missed.
    if (rootCause !== undefined && mode !== 'quiet') await tell(failureToFixLines(rootCause, look));
    return code;
  }
  const see = storeFlag === undefined ? '' : `See: ${program} ${commands.see}${storeFlag}`;
  const resume =
    storeFlag === undefined
      ? 'Its store was in memory, so it cannot be resumed.'
      : `Resume with: ${program} ${commands.resume}${storeFlag}`;
  const lines: string[] = [];
  switch (status) {
    case 'completed':
      break;
    case 'interrupted': {
      if (error !== undefined) lines.push(`${red(bold('lost'))}: ${bold(harmlessLine(error.message))}`);
      if (error?.hint !== undefined)
        lines.push(`  ${cyan('→')} ${asTyped(harmlessLine(error.hint), io, storeFlag)}`);
      const names = running.map(({ what, startedAt }) => {
        const since = startedAt === undefined ? '' : ` (${spanText(clock.now() - startedAt)})`;
        return `${harmlessLine(what)}${since}`;
      });
      if (interrupted !== undefined)
        lines.push(
          `${yellow('interrupted')}${interrupted}${names.length === 0 ? '' : ` while running: ${names.join(', ')}`}`,
        );
      lines.push(...(shared === undefined ? [] : [shared]), resume);
      break;
    }
    case 'cancelled':
      lines.push(`${yellow('cancelled')}: ${bold(harmlessLine(cancelled))}`, see);
      break;
    case 'waiting': {
      const [what = '', ...how] = waiting();
      lines.push(`${yellow('waiting')}: ${bold(what)}`, ...how, resume);
      break;
    }
    case 'failed':
    case 'stalled':
      lines.push(...failureLines({ status, error, rootCause, about, see }, look));
      break;
  }
  await tell(lines.filter((line) => line !== ''));
  return code;
}

/** What a run waits for: a person, a time or an event. A guided session waits for whatever its run waits for. */
export function waitsFor(run: Pick<RunState, 'waiting'> | undefined): string {
  if (run?.waiting === undefined) return 'a person';
  const { waiting } = run;
  const isReview = waiting.for.startsWith('review ');
  return harmlessLine(waitingText(isReview ? { ...waiting, for: 'a person' } : waiting));
}

/** Whether it was released because its log could not be written. Nobody asked for that, so it is a failure. */
export const isLost = ({
  status,
  error,
}: Pick<SessionResult, 'status'> & { readonly error?: ErrorJson | undefined }): boolean =>
  status === 'interrupted' && error !== undefined;

/** A session or run whose output could not be written, after it was released. */
export interface Unshown {
  readonly kind: 'session' | 'run';
  readonly result: Promise<{ readonly status: string; readonly error?: ErrorJson }>;
  /** Complete commands for it. Undefined if it is gone when this process ends. */
  readonly commands: { readonly show: string; readonly resume: string } | undefined;
}

/**
 * The error of a command that threw. Where the output could not be written, it also says what became of the session or run
 * and how to continue it. Any other error stays as it is.
 */
export async function outputLost(
  thrown: unknown,
  { stdout }: Pick<Io, 'stdout'>,
  unshown: Unshown | undefined,
): Promise<unknown> {
  const { failure } = stdout;
  if (failure === undefined || unshown === undefined) return thrown;
  // The store is closed by now, so there is a result or an error.
  const result = await unshown.result.catch(() => undefined);
  if (result === undefined) return thrown;
  return new RuntimeError(failure.code, failure.message, {
    hint: [failure.hint, ...howToContinue(result, unshown)].filter((part) => part !== undefined).join(' '),
    cause: failure.cause,
  });
}

function howToContinue(
  { status, error }: Awaited<Unshown['result']>,
  { kind, commands }: Unshown,
): readonly (string | undefined)[] {
  const isReleased = status === 'interrupted';
  const became = isReleased
    ? `The ${kind} was released`
    : status === 'waiting'
      ? `The ${kind} waits`
      : `The ${kind} has ended (${status})`;
  const log =
    isReleased && error !== undefined
      ? `: its log could not be written either (${error.message})`
      : ', and its log is complete';
  if (commands === undefined) return [`${became}; its store was in memory, so it is lost.`];
  return [
    `${became}${log}.`,
    isReleased ? `Resume with: ${commands.resume}` : `See it with: ${commands.show}`,
  ];
}
