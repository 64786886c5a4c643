import type { ApprovalRequest } from '../../events/run-event.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { ReviewEnd } from './leaf-edges.ts';

/** What a person said: yes or no, or one of the options by name. */
export type PersonSaid = { readonly answer: 'approved' | 'rejected' } | { readonly choice: string };

/**
 * Which option an answer stands for: the one it names, `approve` or `reject` where it is only yes or no. A no counts for
 * every question; a yes only where there is an option `approve`, or no other than one. Throws `choice_unknown`.
 */
export function reviewChoice(
  { review, options }: Pick<ApprovalRequest, 'review' | 'options'>,
  said: PersonSaid,
): Pick<ReviewEnd, 'answer' | 'choice'> {
  if ('choice' in said) {
    const choice = optionNamed(options, said.choice);
    if (choice === undefined) throw choiceUnknown(review, said.choice, options);
    return { answer: choice === 'reject' ? 'rejected' : 'approved', choice };
  }
  if (said.answer === 'rejected')
    return { answer: 'rejected', choice: optionNamed(options, 'reject') ?? 'reject' };
  const choice = optionNamed(options, 'approve') ?? (options.length === 1 ? options[0] : undefined);
  if (choice === undefined) throw choiceUnknown(review, 'approve', options);
  return { answer: 'approved', choice };
}

const optionNamed = (options: readonly string[], name: string): string | undefined =>
  options.find((option) => option === name) ??
  options.find((option) => option.toLowerCase() === name.trim().toLowerCase());

const choiceUnknown = (review: string, choice: string, options: readonly string[]) =>
  new RuntimeError('choice_unknown', `"${choice}" is none of the options of the review ${review}.`, {
    hint: suggest(choice, options, 'Options'),
  });
