import { useState } from 'react';
import type { AgentDetails, ManifestProblem } from '../../../../telltale/src/client/api.ts';
import { plural } from '../../format/format-number.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';
import { languageOf, useSourceLines } from '../../ui/source-code.tsx';
import { problemsElsewhere, problemsOf } from './problems-of.ts';

/** The files of an agent as they are on disk now, with each problem at its line. */
export function AgentFiles({ agent }: { readonly agent: AgentDetails }) {
  const { files, problems } = agent;
  const broken = files.find((file) => problemsOf(file, problems).size > 0);
  const [chosen, setChosen] = useState<string>();
  const shown = files.find(({ path }) => path === chosen) ?? broken ?? files[0];
  const elsewhere = problemsElsewhere(files, problems);
  return (
    <div className="flex flex-col md:flex-row">
      <ul
        aria-label="Files"
        className="flex shrink-0 gap-1 overflow-x-auto border-b border-line p-2 md:w-64 md:flex-col md:border-r md:border-b-0"
      >
        {files.map((file) => {
          const count = [...problemsOf(file, problems).values()].flat().length;
          return (
            <li key={file.path}>
              <button
                type="button"
                aria-current={file === shown ? 'true' : undefined}
                title={file.path}
                onClick={() => setChosen(file.path)}
                className={cx(
                  'flex h-7 w-full items-center gap-2 rounded-md px-2 text-small -outline-offset-2',
                  file === shown ? 'bg-accent-soft font-medium text-accent' : 'text-ink-soft hover:bg-hover',
                )}
              >
                <Icon name="file" size={14} />
                <span className="min-w-0 flex-1 truncate text-left">{nameOf(file.path)}</span>
                {count === 0 ? null : (
                  <span className="flex items-center gap-0.5 font-medium text-fail">
                    <Icon name="alert" size={12} />
                    {count}
                    <span className="sr-only"> {plural(count, 'problem')}</span>
                  </span>
                )}
              </button>
            </li>
          );
        })}
      </ul>
      <div className="min-w-0 flex-1">
        {elsewhere.length === 0 ? null : (
          <div className="border-b border-line py-2">
            {elsewhere.map((problem) => (
              <ProblemNote key={`${problem.file}:${problem.line}:${problem.code}`} problem={problem} placed />
            ))}
          </div>
        )}
        {shown === undefined ? (
          <p className="p-4 text-ink-soft">This agent is defined in code, so there are no files to show.</p>
        ) : (
          <SourceView key={shown.path} file={shown} problems={problemsOf(shown, problems)} />
        )}
      </div>
    </div>
  );
}

const nameOf = (path: string): string => path.split('/').slice(-2).join('/');

/** How many lines are shown at first. If a problem is further down, more are. */
const FIRST_LINES = 600;
const MORE_LINES = 2_000;

interface SourceViewProps {
  readonly file: { readonly path: string; readonly text: string };
  readonly problems: ReadonlyMap<number, readonly ManifestProblem[]>;
}

function SourceView({ file, problems }: SourceViewProps) {
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

interface ProblemNoteProps {
  readonly problem: ManifestProblem;
  /** Shows file and line, if the context does not. */
  readonly placed?: boolean;
}

function ProblemNote({ problem, placed = false }: ProblemNoteProps) {
  const { severity, message, hint, code, file, line, column } = problem;
  const ink = severity === 'error' ? 'text-fail' : 'text-wait';
  return (
    <div className="flex gap-2 px-3 py-1 font-sans text-body">
      <Icon name={severity === 'error' ? 'cross' : 'alert'} size={14} className={cx('mt-1', ink)} />
      <p className="min-w-0 break-words">
        <span className={cx('font-medium', ink)}>{message}</span>{' '}
        {hint === undefined ? null : <span className="text-ink-soft">{hint} </span>}
        <code className="text-small text-ink-faint">
          {code}
          {placed ? ` ${file}:${line}:${column}` : ''}
        </code>
      </p>
    </div>
  );
}
