import { readRun } from '../../engine/read-run.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { OpenReview } from '../../session/reviews/review-table.ts';
import type { Store } from '../../store/store.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Output } from '../io.ts';
import { timeText } from '../view/figures.ts';
import { spelledOut } from '../view/harmless.ts';
import { jsonText } from '../view/json-line.ts';
import { findOpenReview } from './find-open-review.ts';
import { storeFlag } from './store-location.ts';
import { streamToResume } from './stream-to-resume.ts';
import { withStoredSessions } from './with-runtime.ts';

export interface AnswerOptions {
  readonly store?: string;
  readonly json?: true;
  readonly note?: string;
  readonly by?: string;
  /** Which of the options that a workflow's step gives. */
  readonly choice?: string;
}

/** `telltale reviews approve|reject`. */
export async function answer(
  asked: string,
  decision: 'approve' | 'reject',
  options: AnswerOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, env } = context.io;
  return withStoredSessions(context, options, async (runtime) => {
    const { review, session } = await findOpenReview(runtime, asked);
    const approved = decision === 'approve';
    const { outcome, pid } = await runtime.answer(review, {
      approved,
      by: options.by ?? env.USER ?? 'user',
      ...(options.choice === undefined ? {} : { choice: options.choice }),
      ...(options.note === undefined ? {} : { note: options.note }),
    });
    const word = approved ? 'approved' : 'rejected';
    const info = await runtime.store.info(session);
    const resume =
      info === undefined ? `telltale resume ${session}` : await streamToResume(runtime.store, info);
    const json = { review, session, answer: word, outcome, pid: pid ?? null };
    const text =
      pid === undefined
        ? `${review} is ${word}. Nobody works on ${session} now; ${info?.kind === 'run' ? 'a process that stays with it (--wait) goes on by itself, else:' : 'go on with:'}\n  ${resume}${storeFlag(options.store)}\n`
        : outcome === 'resolved'
          ? `${review} is ${word}: process ${pid} goes on with ${session}.\n`
          : `Delivered to process ${pid}, which works on ${session}: ${review} will be ${word}.\n`;
    await stdout.write(options.json === true ? jsonText(json, 2) : text);
    return EXIT.ok;
  });
}

/** `telltale reviews show`: everything that would be done, spelt out. */
export async function show(
  asked: string,
  options: AnswerOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout } = context.io;
  return withStoredSessions(context, options, async (runtime) => {
    const open = await findOpenReview(runtime, asked);
    if ((await runtime.store.info(open.session))?.kind === 'run')
      return showApproval(open, runtime.store, options, stdout);
    const { reviews } = await runtime.state(open.session);
    const found = reviews.find(({ review }) => review === open.review);
    if (found === undefined) throw closedMeanwhile(open.review);
    const { at, answer: _answer, by: _by, ...review } = found;
    const json = { ...review, session: open.session, agent: open.agent, asked: timeText(at) };
    const lines = [
      `review   ${open.review}`,
      `session  ${open.session} (${spelledOut(open.agent)})`,
      `action   ${spelledOut(found.action)}, ${spelledOut(found.target)}`,
      `asked    ${timeText(at)}, because of ${spelledOut(found.because)}`,
      '',
      spelledOut(found.what),
      '',
      spelledOut(JSON.stringify(found.input, null, 2)),
    ];
    await stdout.write(options.json === true ? jsonText(json, 2) : `${lines.join('\n')}\n`);
    return EXIT.ok;
  });
}

/** A question of a workflow's step. */
async function showApproval(
  open: OpenReview,
  store: Store,
  options: AnswerOptions,
  stdout: Output,
): Promise<ExitCode> {
  const { reviews } = await readRun(store, open.session);
  const found = reviews.find(({ review }) => review === open.review);
  if (found === undefined) throw closedMeanwhile(open.review);
  const { at, choice: _choice, by: _by, due, ...review } = found;
  const times = { asked: timeText(at), ...(due === undefined ? {} : { due: timeText(due) }) };
  const json = { ...review, run: open.session, agent: open.agent, ...times };
  const lines = [
    `review   ${open.review}`,
    `run      ${open.session} (${spelledOut(open.agent)})`,
    `step     ${spelledOut(found.step)}`,
    `asked    ${timeText(at)}${due === undefined ? '' : `, until ${timeText(due)}`}`,
    ...(found.assignee === undefined ? [] : [`whom     ${spelledOut(found.assignee)}`]),
    `answers  ${found.options.map(spelledOut).join(', ')}`,
    '',
    spelledOut(found.prompt),
  ];
  await stdout.write(options.json === true ? jsonText(json, 2) : `${lines.join('\n')}\n`);
  return EXIT.ok;
}

const closedMeanwhile = (review: string) =>
  new RuntimeError('review_unknown', `The review ${review} was answered meanwhile.`, {
    hint: 'See what is open: telltale reviews',
  });
