import type { ManifestProblem } from '../../../../telltale/src/client/api.ts';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';

export interface ProblemNoteProps {
  readonly problem: ManifestProblem;
  /** Says in which file and line, where that is not seen. */
  readonly placed?: boolean;
}

export function ProblemNote({ problem, placed = false }: ProblemNoteProps) {
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
