import { useState } from 'react';
import { cx } from '../../../ui/class-names.ts';

/** Characters that are shown where nobody says how many. */
const FIRST = 1_600;

export interface LongTextProps {
  readonly text: string;
  /** Characters that are shown at first. */
  readonly first?: number;
  readonly className?: string;
}

/** Text of a person or a model. A text node, always: nothing in it is read as markup. */
export function LongText({ text, first = FIRST, className }: LongTextProps) {
  const [isWhole, setWhole] = useState(false);
  const said = text.trim();
  const isLong = said.length > first;
  return (
    <div className={cx('text-body break-words whitespace-pre-wrap', className)}>
      {isLong && !isWhole ? `${said.slice(0, first)}…` : said}
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
