import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { InvisibleWarning } from '../../ui/invisible-warning.tsx';
import { useSourceLines } from '../../ui/source-code.tsx';

/** Lines that are shown before somebody asks for more. */
const FIRST = 500;
const STEP = 2_000;

/** A source with its lines' numbers. Text nodes only. */
export function NumberedSource({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(FIRST);
  const lines = useSourceLines(text.replace(/\n$/, ''), 'javascript');
  return (
    <section
      aria-label="Source"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than the window is scrolled to by keyboard, too.
      tabIndex={0}
      className="overflow-x-auto py-2 font-mono text-small -outline-offset-2"
    >
      <InvisibleWarning of={text} />
      {lines.slice(0, shown).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are known by their place.
        <div key={at} className="flex min-w-max hover:bg-hover">
          <span className="w-12 shrink-0 pr-3 text-right text-ink-faint tabular-nums select-none">
            {at + 1}
          </span>
          <code className="pr-4 whitespace-pre">{line === '' ? ' ' : line}</code>
        </div>
      ))}
      {lines.length > shown ? (
        <Button size="small" kind="quiet" className="m-2" onClick={() => setShown(shown + STEP)}>
          {(lines.length - shown).toLocaleString('en')} more lines
        </Button>
      ) : null}
    </section>
  );
}
