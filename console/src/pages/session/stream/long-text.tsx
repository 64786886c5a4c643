import { useState } from 'react';
import { cx } from '../../../ui/class-names.ts';

/** Characters that are shown at first. */
const FIRST = 1_600;

/** Text of a person or a model. A text node, always: nothing in it is read as markup. */
export function LongText({ text, className }: { readonly text: string; readonly className?: string }) {
  const [isWhole, setWhole] = useState(false);
  const said = text.trim();
  const isLong = said.length > FIRST;
  return (
    <div className={cx('text-body break-words whitespace-pre-wrap', className)}>
      {isLong && !isWhole ? `${said.slice(0, FIRST)}…` : said}
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
