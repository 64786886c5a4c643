import { Link } from 'wouter';
import type { ErrorJson } from '../../../telltale/src/lib/errors.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export interface ErrorStateProps {
  /** What failed: "The sessions could not be read". */
  readonly title: string;
  readonly error: ErrorJson;
  readonly onRetry?: (() => void) | undefined;
  /** Where to go if the thing does not exist and retrying would not help. */
  readonly list?: { readonly href: string; readonly label: string };
}

export function ErrorState({ title, error, onRetry, list }: ErrorStateProps) {
  const instead = error.code.endsWith('_unknown') ? list : undefined;
  return (
    <div role="alert" className="flex gap-3 rounded-lg border border-fail/40 bg-fail-soft p-4 text-body">
      <Icon name="alert" size={18} className="mt-0.5 text-fail" />
      <div className="min-w-0 flex-1">
        <p className="font-semibold">{title}</p>
        <p className="mt-1 break-words">{error.message}</p>
        {error.hint === undefined || instead !== undefined ? null : (
          <p className="mt-1 break-words text-ink-soft">{error.hint}</p>
        )}
        <div className="mt-2 flex flex-wrap items-center gap-3">
          {instead === undefined ? null : (
            <Link href={instead.href} className="text-accent underline">
              {instead.label}
            </Link>
          )}
          {onRetry === undefined || instead !== undefined ? null : (
            <Button size="small" icon="refresh" onClick={onRetry}>
              Try again
            </Button>
          )}
          <code className="text-small text-ink-soft">{error.code}</code>
        </div>
      </div>
    </div>
  );
}
