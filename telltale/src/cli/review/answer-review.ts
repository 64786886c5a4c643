import { leadRun } from '../../agent/guided/guidance.ts';
import type { Sessions } from '../../agent/open-sessions.ts';
import { closedIn, closedLike } from '../../agent/reviews/review-table.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { signerFor } from '../program.ts';
import { streamToResume } from '../session/find-session.ts';
import { storeFlag } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';

export interface AnswerOptions {
  readonly store?: string;
  readonly json?: true;
  readonly note?: string;
  readonly by?: string;
  /** Which of the options that a workflow step offers. */
  readonly choice?: string;
  /** Approves for the rest of the session. */
  readonly always?: true;
}

/** The answer: yes, no, or text. */
export type Word = { readonly approved: boolean } | { readonly text: string | undefined };

/** `telltale reviews approve|reject|answer`. */
export async function answer(
  asked: string,
  word: Word,
  options: AnswerOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, program } = context.io;
  const by = signerFor(options.by);
  return withStoredSessions(context, options, async (sessions) => {
    const id = await findToAnswer(sessions, asked);
    const said = 'approved' in word ? word : word.text === undefined ? {} : { text: word.text };
    const answered = await sessions.answer(id, {
      ...said,
      by,
      ...(options.choice === undefined ? {} : { choice: options.choice }),
      ...(options.note === undefined ? {} : { note: options.note }),
      ...(options.always === undefined ? {} : { always: options.always }),
    });
    const { review, answer: came, choice, outcome, pid } = answered;
    const { session, kind } = review;
    const info = await sessions.store.info(session);
    const resume =
      info === undefined
        ? `${program} resume ${session}`
        : await streamToResume(sessions.store, info, context.io);
    const json = { review: id, kind, session, answer: came, choice: choice ?? null, by, outcome };
    const scope = options.always === true ? ' for this session' : '';
    const became = choice === undefined ? `${came}${scope}` : `answered: ${harmlessLine(choice)}`;
    // A session with a guiding run continues through that run, which no process keeps open.
    const isLead = info?.parent !== undefined && info.stream === leadRun(info.parent);
    const stays =
      info?.kind === 'run' && !isLead
        ? 'A process that waits with --wait continues by itself. Otherwise, continue with:'
        : 'Continue with:';
    const text =
      pid === undefined
        ? `${id} is ${became}. No process is working on it now. ${stays}\n  ${resume}${storeFlag(options.store)}\n`
        : outcome === 'resolved'
          ? `${id} is ${became}: process ${pid} continues ${session}.\n`
          : `Sent to process ${pid}, which works on ${session}. ${id} will be ${became}.\n`;
    await stdout.write(options.json === true ? jsonText({ ...json, pid: pid ?? null }, 2) : text);
    return EXIT.ok;
  });
}

/**
 * The id of the review that an argument names: an id, its beginning or end, or `last` for the newest open one. Open
 * reviews take precedence, but answered ones are found too.
 */
export async function findReview(
  { reviews, store }: Pick<Sessions, 'reviews' | 'store'>,
  asked: string,
): Promise<string> {
  const open = (await reviews()).map(({ review }) => review);
  const newest = open.at(-1);
  if (asked === 'last' || asked === '') {
    if (asked === '' || newest === undefined) throw reviewUnknown(asked, open);
    return newest;
  }
  if (open.includes(asked) || (await closedIn(store, asked)) !== undefined) return asked;
  const parts = open.filter((id) => id.startsWith(asked) || id.endsWith(asked));
  const matching = parts.length > 0 ? parts : await closedLike(store, asked, MAX_NAMED + 1);
  const [only] = matching;
  if (only === undefined) throw reviewUnknown(asked, open);
  if (matching.length > 1) throw reviewAmbiguous(asked, matching);
  return only;
}

/**
 * The same for answering. If several reviews are open, `last` is refused, because it may not be the one that the user
 * has read.
 */
async function findToAnswer(sessions: Pick<Sessions, 'reviews' | 'store'>, asked: string): Promise<string> {
  const open = asked === 'last' ? (await sessions.reviews()).map(({ review }) => review) : [];
  if (open.length > 1) throw reviewAmbiguous(asked, open.toReversed());
  return findReview(sessions, asked);
}

const MAX_NAMED = 5;

const reviewUnknown = (asked: string, open: readonly string[]) =>
  open.length === 0
    ? new RuntimeError('review_unknown', `There is no review '${asked}': nothing waits for a person.`, {
        hint: 'To see what has run: telltale sessions, telltale workflow list',
      })
    : new RuntimeError('review_unknown', `There is no review '${asked}'.`, {
        hint: `${suggest(asked, open.slice(-MAX_NAMED), 'Open ones')} "telltale reviews" lists them.`,
      });

const reviewAmbiguous = (asked: string, matching: readonly string[]) => {
  const named = matching.slice(0, MAX_NAMED);
  const more = matching.length > named.length ? ' and more' : '';
  return new RuntimeError(
    'review_ambiguous',
    `'${asked}' is ambiguous: it matches ${matching.length} reviews.`,
    {
      hint: `Write the id: ${named.join(', ')}${more}.`,
    },
  );
};
