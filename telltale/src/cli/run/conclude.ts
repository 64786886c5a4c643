import type { RunState } from '../../events/run-state.ts';
import type { SessionResult } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { asTyped } from '../session/naming-store.ts';
import { waitingText } from '../view/describe-run-event.ts';
import { spanText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { failureLines, toFixLines } from '../view/root-cause-lines.ts';
import { askedLines, waitingLines } from '../workflow/waiting-lines.ts';
import type { Followed } from './follow-session.ts';
import { isLost } from './is-lost.ts';
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
  /** ` --store X` where commands about this session need it; undefined where the session is gone with this process. */
  readonly storeFlag: string | undefined;
  /** Whether others work on the same store: a worker takes up what this process lets go of. */
  readonly isShared?: boolean;
  /** The run that leads the session, where one does and waits. */
  readonly lead?: RunState | undefined;
  /** The command that goes on with the session, up to its id: `resume`. */
  readonly resumeWith?: string;
}

/** Says on stderr what a person has to know of a run that did not come to its good end, and gives the exit code. */
export async function conclude(
  { result, turn, cutOff, unread, idle, cancelled, rootCause }: Followed,
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
    // It went on without what failed. A person may not have seen that.
    if (rootCause !== undefined && mode !== 'quiet')
      await stderr.write(`${toFixLines(rootCause, look).join('\n')}\n`);
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

/** A session that is led waits for whatever its run waits for: a person, a time, an event. */
const waitsFor = (lead: RunState | undefined): string =>
  lead?.waiting === undefined ? 'a person' : harmlessLine(waitingText(lead.waiting));

const inTurn = (turn: number): string => (turn === 0 ? ' before its first turn' : ` in turn ${turn}`);
