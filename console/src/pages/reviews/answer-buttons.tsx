import type { AnswerReview } from '../../../../telltale/src/client/api.ts';
import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { Button } from '../../ui/button.tsx';
import { type PossibleAnswer, withWords } from './answers-of.ts';

export interface AnswerButtonsProps {
  readonly answers: readonly PossibleAnswer[];
  readonly words: string;
  readonly busy: boolean;
  readonly blocked: string | undefined;
  readonly onAnswer: (answer: AnswerReview) => void;
}

export const AnswerButtons = ({ answers, words, busy, blocked, onAnswer }: AnswerButtonsProps) => (
  <fieldset className="flex flex-wrap gap-2">
    <legend className="sr-only">Answer</legend>
    {answers.map((one) => {
      const answer = withWords(one, words);
      const missing = answer === undefined ? 'Write first what it is to do.' : undefined;
      return (
        <Button
          key={one.label}
          kind={one.kind}
          {...(one.icon === undefined ? {} : { icon: one.icon })}
          {...(one.key === undefined ? {} : { 'aria-keyshortcuts': one.key })}
          busy={busy}
          blocked={blocked ?? missing}
          onClick={() => {
            if (answer !== undefined) onAnswer(answer);
          }}
        >
          {visibleText(one.label)}
        </Button>
      );
    })}
  </fieldset>
);
