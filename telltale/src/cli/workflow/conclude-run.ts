import type { RunState } from '../../events/run-state.ts';
import type { RunResult } from '../../session/runs/run-types.ts';
import { paletteFor } from '../colour.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import type { RunMode } from '../run/run-mode.ts';
import { asTyped } from '../session/naming-store.ts';
import { waitingText } from '../view/describe-run-event.ts';
import { spanText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { failureLines, toFixLines } from '../view/root-cause-lines.ts';
import type { FollowedRun } from './follow-workflow.ts';
import { waitingLines } from './waiting-lines.ts';

const EXITS: Readonly<Record<RunResult['status'], ExitCode>> = {
  completed: EXIT.ok,
  failed: EXIT.failed,
  cancelled: EXIT.failed,
  waiting: EXIT.waiting,
  interrupted: EXIT.interrupted,
};

export interface ConcludeRunOptions {
  readonly mode: RunMode;
  /** ` --store X` where commands about this run need it; undefined where the run is gone with this process. */
  readonly storeFlag: string | undefined;
  /** The run as it is on the log. */
  readonly state: Pick<RunState, 'reviews' | 'steps'> | undefined;
}

/** Says on stderr what a person has to know of a run that did not come to its good end, and gives the exit code. */
export async function concludeRun(
  { result, cutOff, unread, rootCause }: FollowedRun,
  io: Pick<Io, 'stderr' | 'clock' | 'program'>,
  { mode, storeFlag, state }: ConcludeRunOptions,
): Promise<ExitCode> {
  const { stderr, clock } = io;
  const { run, status, error, waiting } = result;
  const isLost = status === 'interrupted' && error !== undefined;
  const code = isLost ? EXIT.failed : EXITS[status];
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
  const follow = (command: string, what: string) =>
    storeFlag === undefined ? '' : `${what}: ${io.program} workflow ${command} ${run}${storeFlag}`;
  const resume = follow('resume', 'Resume with') || 'Its store was in memory, so it cannot be resumed.';
  const lines: string[] = [];
  switch (status) {
    case 'completed':
      break;
    case 'interrupted': {
      if (error !== undefined) lines.push(`${red(bold('lost'))}: ${bold(harmlessLine(error.message))}`);
      if (error?.hint !== undefined)
        lines.push(`  ${cyan('→')} ${asTyped(harmlessLine(error.hint), io, storeFlag)}`);
      const running = cutOff.map(({ step, startedAt = clock.now() }) =>
        harmlessLine(`${step} (${spanText(clock.now() - startedAt)})`),
      );
      lines.push(
        `${yellow('interrupted')}${running.length === 0 ? '' : ` while running: ${running.join(', ')}`}`,
        resume,
      );
      break;
    }
    case 'cancelled':
      lines.push(
        `${yellow('cancelled')}: ${bold(`The run ${run} was cancelled: ${harmlessLine(error?.message ?? 'no reason was given')}`)}`,
        follow('show', 'See'),
      );
      break;
    case 'waiting': {
      const what = waiting === undefined ? 'something' : waitingText(waiting);
      lines.push(
        `${yellow('waiting')}: ${bold(`The run waits for ${harmlessLine(what)}.`)}`,
        ...(state === undefined ? [] : waitingLines(run, state, storeFlag, { cyan, yellow }, io)),
        resume,
      );
      break;
    }
    case 'failed':
      lines.push(
        ...failureLines({ status, error, rootCause, about: `run ${run}`, see: follow('show', 'See') }, look),
      );
      break;
  }
  await stderr.write(`${lines.filter((line) => line !== '').join('\n')}\n`);
  return code;
}
