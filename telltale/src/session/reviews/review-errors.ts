import type { Review } from '../../events/state.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { OpenReview } from './review-table.ts';

/** What the model hears. */
export const refusedBy = ({ target, because, by, note }: Review) =>
  new RuntimeError('not_permitted', `A person refused the call of ${target}${said(by, note)}.`, {
    hint: `Do without it, or ask for something else. It is asked because of "${because}".`,
  });

const said = (by: string | undefined, note: string | undefined): string =>
  `${by === undefined ? '' : ` (${by})`}${note === undefined ? '' : `: ${note.replace(/\.+$/, '')}`}`;

export const withdrawnReview = (target: string) =>
  new RuntimeError('cancelled', `The call of ${target} was cancelled before anybody approved it.`);

export const reviewUnknown = (review: string, open: readonly string[]) =>
  new RuntimeError('review_unknown', `No open review is named "${review}".`, {
    hint:
      open.length === 0
        ? 'Nothing waits for a person.'
        : `${suggest(review, open.slice(0, 20), 'Open ones')} "telltale reviews" lists them.`,
  });

export const reviewAnswered = (review: string, how: string) =>
  new RuntimeError('review_answered', `The review ${review} has been answered already: ${how}.`, {
    hint: "A decision counts once; see the session's log: telltale logs SESSION --type review",
  });

/** Throws where a choice is none of those that the question gives. */
export function mustBeOption({ review, options }: OpenReview, choice: string | undefined): void {
  if (choice === undefined || options?.includes(choice) === true) return;
  throw new RuntimeError(
    'bad_option',
    options === undefined
      ? `The review ${review} is answered by yes or no.`
      : `"${choice}" is no answer to the review ${review}.`,
    {
      hint:
        options === undefined
          ? `telltale reviews approve ${review}, or: telltale reviews reject ${review}`
          : suggest(choice, options, 'Its answers'),
    },
  );
}
