import { useState } from 'react';
import { visibleText } from '../../../telltale/src/lib/text.ts';
import { formatWhole } from '../format/format-number.ts';
import { cx } from './class-names.ts';

/** How many characters are shown at first. */
const FIRST = 4_000;
/** How many more are shown per click, because megabytes of text would freeze the page. */
const STEP = 100_000;

export interface CodeProps {
  readonly text: string;
  readonly className?: string;
}

/** Plain text in a box, with invisible characters made visible. It is always a text node, never markup. */
export function Code({ text, className }: CodeProps) {
  const [shown, setShown] = useState(FIRST);
  const rest = text.length - shown;
  return (
    <div className={cx('rounded-md bg-sunken', className)}>
      <pre className="overflow-x-auto p-2.5 font-mono text-small break-words whitespace-pre-wrap text-ink">
        {visibleText(rest > 0 ? text.slice(0, shown) : text)}
      </pre>
      {rest > 0 ? (
        <button
          type="button"
          className="px-2.5 pb-2 text-small font-medium text-accent hover:underline"
          onClick={() => setShown(shown + STEP)}
        >
          Show {formatWhole(Math.min(rest, STEP))} more of {formatWhole(rest)} characters
        </button>
      ) : null}
    </div>
  );
}
