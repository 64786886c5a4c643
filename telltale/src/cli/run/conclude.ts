import type { SessionResult } from '../../agent/runtime-types.ts';
import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { RunState } from '../../log/run-state.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { asTyped } from '../session/store-options.ts';
import { waitingText } from '../view/describe-run-event.ts';
import { spanText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { failureLines, failureToFixLines } from '../view/root-cause.ts';
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

/** Says on stderr what a person must know about a run that did not end well, and returns the exit code. */
export async function conclude(
  { result, turn, cutOff, unread, idle, cancelled, rootCause }: FollowedSession,
  io: Io,
  { mode, storeFlag, isShared = false, lead, resumeWith = 'resume' }: ConcludeOptions,
): Promise<ExitCode> {
  const { stderr, clock } = io;
  const code = isLost(result) ? EXIT.failed : EXITS[result.status];
  if (unread || mode === 'events' || mode === 'json') return code;
  const paint = paletteFor(stderr);
  const { bold, cyan, red, yellow } = paint;
  const look = { paint, io, storeFlag };
  if (code === EXIT.ok) {
    // The run continued after a failure, which a person may have missed.
    if (rootCause !== undefined && mode !== 'quiet')
      await stderr.write(`${failureToFixLines(rootCause, look).join('\n')}\n`);
    return code;
  }
  const running = cutOff.map(({ action, startedAt }) => {
    const since = startedAt === undefined ? '' : ` (${spanText(clock.now() - startedAt)})`;
    return `${harmlessLine(`${action.id} ${action.name}`)}${since}`;
  });
  const { error, session } = result;
  const follow = (command: string, what: string) =>
    storeFlag === undefined ? '' : `${what}: ${io.program} ${command} ${session}${storeFlag}`;
  const resume = follow(resumeWith, 'Resume with') || 'Its store was in memory, so it cannot be resumed.';
  const lines: string[] = [];
  switch (result.status) {
    case 'completed':
      break;
    case 'interrupted':
      if (error !== undefined) lines.push(`${red(bold('lost'))}: ${bold(harmlessLine(error.message))}`);
      if (error?.hint !== undefined)
        lines.push(`  ${cyan('→')} ${asTyped(harmlessLine(error.hint), io, storeFlag)}`);
      if (!idle)
        lines.push(
          `${yellow('interrupted')}${inTurn(turn)}${running.length === 0 ? '' : ` while running: ${running.join(', ')}`}`,
        );
      if (isShared && !idle)
        lines.push(
          `A worker of the fleet continues it if it has the manifest. ${follow('cancel', 'To end it')}`,
        );
      lines.push(resume);
      break;
    case 'cancelled':
      lines.push(
        `${yellow('cancelled')}: ${bold(`The session ${session} was cancelled${cancelled === undefined ? '.' : ` ${harmlessLine(cancelled)}`}`)}`,
        follow('logs', 'See'),
      );
      break;
    case 'waiting':
      lines.push(
        `${yellow('waiting')}: ${bold(`The session is waiting for ${waitsFor(lead)}.`)}`,
        ...(result.reviews ?? []).flatMap(({ review, target, what }) =>
          askedLines({ review, who: target, what }, storeFlag, paint, io),
        ),
        ...(lead === undefined ? [] : waitingLines(lead.id, lead, storeFlag, paint, io)),
        resume,
      );
      break;
    case 'failed':
    case 'stalled':
      lines.push(
        ...failureLines(
          {
            status: result.status,
            error,
            rootCause,
            about: `session ${session}${turn === 0 ? '' : `, turn ${turn}`}`,
            see: follow('logs', 'See'),
          },
          look,
        ),
      );
      break;
  }
  await stderr.write(`${lines.filter((line) => line !== '').join('\n')}\n`);
  return code;
}

/** A guided session waits for whatever its run waits for: a person, a time or an event. */
const waitsFor = (lead: RunState | undefined): string =>
  lead?.waiting === undefined ? 'a person' : harmlessLine(waitingText(lead.waiting));

const inTurn = (turn: number): string => (turn === 0 ? ' before its first turn' : ` in turn ${turn}`);

/** Whether the session was released because its log could not be written. Nobody asked for that, so it is a failure. */
export const isLost = ({ status, error }: SessionResult): boolean =>
  status === 'interrupted' && error !== undefined;

/** The state of a session whose output could not be written, after it was released. */
export interface Unshown {
  readonly kind: 'session' | 'run';
  readonly result: Promise<{ readonly status: string; readonly error?: ErrorJson }>;
  /** Complete commands for it. Undefined if it is gone when this process ends. */
  readonly commands: { readonly show: string; readonly resume: string } | undefined;
}

/**
 * The error to report after a command threw. If its output could not be written, the user also needs to know how to
 * continue. Other errors are passed on.
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
    hint: [failure.hint, ...wayOn(result, unshown)].filter((part) => part !== undefined).join(' '),
    cause: failure.cause,
  });
}

function wayOn(
  { status, error }: Awaited<Unshown['result']>,
  { kind, commands }: Unshown,
): readonly (string | undefined)[] {
  const isLetGo = status === 'interrupted';
  const became = isLetGo
    ? `The ${kind} was released`
    : status === 'waiting'
      ? `The ${kind} waits`
      : `The ${kind} has ended (${status})`;
  const log =
    isLetGo && error !== undefined
      ? `: its log could not be written either (${error.message})`
      : ', and its log is complete';
  if (commands === undefined) return [`${became}; its store was in memory, so it is lost.`];
  return [`${became}${log}.`, isLetGo ? `Resume with: ${commands.resume}` : `See it with: ${commands.show}`];
}
