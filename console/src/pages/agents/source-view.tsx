import { useState } from 'react';
import type { ManifestProblem } from '../../../../telltale/src/client/api.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { languageOf, useSourceLines } from '../../ui/source-code.tsx';
import { ProblemNote } from './problem-note.tsx';

/** Lines that are shown before somebody asks for more; as many as the last problem needs, at least. */
const FIRST_LINES = 600;
const MORE_LINES = 2_000;

export interface SourceViewProps {
  readonly file: { readonly path: string; readonly text: string };
  readonly problems: ReadonlyMap<number, readonly ManifestProblem[]>;
}

export function SourceView({ file, problems }: SourceViewProps) {
  const lines = useSourceLines(file.text.replace(/\n$/, ''), languageOf(file.path));
  const [wanted, setWanted] = useState(FIRST_LINES);
  const shown = Math.max(wanted, ...problems.keys());
  return (
    <section
      aria-label={file.path}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled to by keyboard, too.
      tabIndex={0}
      className="overflow-x-auto py-2 font-mono text-small -outline-offset-2"
    >
      {lines.slice(0, shown).map((line, at) => {
        const found = problems.get(at + 1);
        const worst = found?.some(({ severity }) => severity === 'error') ? 'error' : 'warning';
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its number.
          <div key={at}>
            <div
              className={cx(
                'flex min-w-max border-l-2 pr-4',
                found === undefined
                  ? 'border-transparent'
                  : worst === 'error'
                    ? 'border-fail bg-fail-soft'
                    : 'border-wait bg-wait-soft',
              )}
            >
              <span aria-hidden="true" className="w-12 shrink-0 pr-3 text-right text-ink-faint select-none">
                {at + 1}
              </span>
              <span className="whitespace-pre">{line === '' ? ' ' : line}</span>
            </div>
            {found?.map((problem) => (
              <div key={`${problem.column}:${problem.code}`} className="border-l-2 border-fail pl-9">
                <pre aria-hidden="true" className="h-3 pl-3 leading-3 text-fail">
                  {`${' '.repeat(Math.max(0, problem.column - 1))}^`}
                </pre>
                <ProblemNote problem={problem} />
              </div>
            ))}
          </div>
        );
      })}
      {shown < lines.length ? (
        <Button size="small" kind="quiet" onClick={() => setWanted(shown + MORE_LINES)}>
          {`Show ${lines.length - shown} more lines`}
        </Button>
      ) : null}
    </section>
  );
}
