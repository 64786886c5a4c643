import type { OpenReview } from '../../events/open-review.ts';
import { YES_OR_NO } from '../../session/reviews/read-reply.ts';
import { shellWord } from '../usage.ts';
import { harmlessLine } from '../view/harmless.ts';

/** Options that are named in commands: a step may have any number. */
const MAX_NAMED = 10;

/** The commands that answer a review, indented, each with what it says. */
export function answerCommands(
  { review, kind, options = YES_OR_NO, always }: Pick<OpenReview, 'review' | 'kind' | 'options' | 'always'>,
  { flag, program }: { readonly flag: string; readonly program: string },
): readonly string[] {
  const command = (what: string) => `  ${program} reviews ${what}${flag}`;
  if (kind === 'escalation' && options.includes('retry'))
    return [
      command(`answer ${review} 'what the agent is to do'`),
      ...options
        .filter((option) => option !== 'retry')
        .slice(0, MAX_NAMED)
        .map((option) => command(`answer ${review} --choice ${wordOf(option)}`)),
    ];
  if (YES_OR_NO.every((option) => options.includes(option)) && options.length === YES_OR_NO.length)
    return [
      command(`approve ${review}`),
      ...(always === undefined ? [] : [command(`approve ${review} --always`)]),
      command(`reject ${review} --note 'why'`),
    ];
  return options.slice(0, MAX_NAMED).map((option) => command(`answer ${review} --choice ${wordOf(option)}`));
}

const wordOf = (option: string): string => shellWord(harmlessLine(option));
