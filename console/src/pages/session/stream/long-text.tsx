import { useState } from 'react';
import { cx } from '../../../ui/class-names.ts';
import { Markdown } from '../../../ui/markdown.tsx';

/** The default number of characters that are shown at first. */
const FIRST = 1_600;

export interface LongTextProps {
  readonly text: string;
  /** How many characters are shown at first. */
  readonly first?: number;
  /** Renders Markdown, for text that a model wrote for people. Otherwise the text is shown as typed. */
  readonly markdown?: boolean;
  readonly className?: string;
}

/** Text of a person or a model. It is never parsed as HTML. */
export function LongText({ text, first = FIRST, markdown = false, className }: LongTextProps) {
  const [isWhole, setWhole] = useState(false);
  const said = text.trim();
  const isLong = said.length > first;
  const shown = isLong && !isWhole ? `${said.slice(0, first)}…` : said;
  return (
    <div className={cx('text-body break-words', !markdown && 'whitespace-pre-wrap', className)}>
      {markdown ? <Markdown text={shown} /> : shown}
      {isLong ? (
        <button
          type="button"
          onClick={() => setWhole(!isWhole)}
          className="ml-1 text-small font-medium text-accent hover:underline"
        >
          {isWhole ? 'Less' : `All ${said.length.toLocaleString('en')} characters`}
        </button>
      ) : null}
    </div>
  );
}
