import { useState } from 'react';
import type { AgentDetails } from '../../../../telltale/src/client/api.ts';
import { plural } from '../../format/format-number.ts';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';
import { ProblemNote } from './problem-note.tsx';
import { problemsElsewhere, problemsOf } from './problems-of.ts';
import { SourceView } from './source-view.tsx';

/** The files of an agent as they are on the disk now; what is wrong stands where it is wrong. */
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
