import type { ReviewAnswer } from '../../events/review-event.ts';
import type { Review } from '../../events/state.ts';
import { identityText } from '../../kernel/identity.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { APPROVAL_VOID } from '../../scheduler/edges.ts';

/** What the model hears. */
export const refusedBy = ({ target, because, by, note }: Review) =>
  new RuntimeError('not_permitted', `A person refused the call of ${target}${said(by, note)}.`, {
    hint: `Do without it, or ask for something else. It is asked because of "${because}".`,
  });

const said = (by: string | undefined, note: string | undefined): string =>
  `${by === undefined ? '' : ` (${identityText(by)})`}${note === undefined ? '' : `: ${note.replace(/\.+$/, '')}`}`;

export const withdrawnReview = (target: string) =>
  new RuntimeError('cancelled', `The call of ${target} was cancelled before anybody approved it.`);

export const reviewUnknown = (review: string, open: readonly string[]) =>
  new RuntimeError('review_unknown', `No review is named "${review}".`, {
    hint:
      open.length === 0
        ? 'Nothing waits for a person.'
        : `${suggest(review, open.slice(0, 20), 'Open ones')} "telltale reviews" lists them.`,
  });

/** How a review was closed. */
export interface Closed {
  readonly answer: ReviewAnswer;
  readonly choice?: string;
  readonly by: string;
  readonly at: number;
  readonly note?: string;
}

/** Why a review cannot be answered any more. */
export const reviewClosed = (review: string, session: string, closed: Closed): RuntimeError =>
  closed.answer === 'withdrawn' ? withdrawn(review, session, closed) : answered(review, closed);

const answered = (review: string, { answer, choice, by, at }: Closed) =>
  new RuntimeError(
    'review_answered',
    `The review ${review} was ${answer}${choice === undefined || NAMED.has(choice) ? '' : ` ("${choice}")`} by ${identityText(by)} at ${timeOf(at)}.`,
    { hint: `It can be decided only once. To see the decision: telltale reviews show ${review}` },
  );

/** Choices that say no more than the answer. */
const NAMED: ReadonlySet<string> = new Set(['approve', 'reject']);

const withdrawn = (review: string, session: string, { by, at, note }: Closed) =>
  new RuntimeError(
    'review_withdrawn',
    `The review ${review} was withdrawn by ${identityText(by)} at ${timeOf(at)}${note === undefined ? '.' : `: ${note.replace(/\.+$/, '')}.`}`,
    { hint: `Nothing waits for an answer to it. To see what happened: telltale show ${session}` },
  );

/** Its session or run is over, or about to be. */
export const reviewOver = (review: string, session: string, how: string) =>
  new RuntimeError('review_withdrawn', `The review ${review} cannot be answered: ${session} ${how}.`, {
    hint: `Nothing waits for an answer to it. To see what happened: telltale show ${session}`,
  });

const timeOf = (at: number): string => new Date(at).toISOString();

/** The approval of an action is of something else than what would run: it is asked for anew. */
export const approvalVoid = (target: string, changed: readonly string[]) =>
  new RuntimeError(APPROVAL_VOID, `The approval of the call of ${target} is void: ${changed.join('; ')}.`, {
    hint: 'A person is asked again, about what would run now.',
  });

export const noSuchOption = (review: string, choice: string, options: readonly string[]) =>
  new RuntimeError('bad_option', `"${choice}" is no answer to the review ${review}.`, {
    hint: suggest(choice, options, 'Its answers'),
  });

export const notForSession = (review: string) =>
  new RuntimeError('bad_option', `The review ${review} cannot be approved for the whole session.`, {
    hint: `It needs approval each time. To approve this one: telltale reviews approve ${review}`,
  });

export const rejectedForSession = (review: string) =>
  new RuntimeError('bad_option', `"always" belongs to an approval, and ${review} would be rejected.`, {
    hint: 'Leave "always" out, or approve it.',
  });

export const contradiction = (review: string, approved: boolean, choice: string) =>
  new RuntimeError(
    'bad_option',
    `The review ${review} cannot be ${approved ? 'approved' : 'rejected'} with the choice "${choice}".`,
    {
      hint: `Use one of the two. To give only the choice: telltale reviews answer ${review} --choice ${choice}`,
    },
  );

export const noAnswer = (review: string, options: readonly string[]) =>
  new RuntimeError('bad_option', `That says nothing to the review ${review}.`, {
    hint: `Choose one of its answers: ${options.join(', ')}.`,
  });

export const needsChoice = (review: string, options: readonly string[]) =>
  new RuntimeError(
    'bad_option',
    `The review ${review} is answered by one of: ${options.join(', ')}; words alone do not say which.`,
    { hint: `Choose one: telltale reviews answer ${review} TEXT --choice ${options[0] ?? 'approve'}` },
  );

export const saidTooMuch = (review: string, what: string, length: number, most: number) =>
  new RuntimeError(
    'bad_option',
    `${what} for the review ${review} has ${length} characters; ${most} are the most.`,
    { hint: 'Say it shorter, or put it into a file and name that.' },
  );
