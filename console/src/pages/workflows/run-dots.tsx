import { Link } from 'wouter';
import type { RunSummary } from '../../../../telltale/src/events/run-summary.ts';
import { formatDateTime } from '../../format/format-time.ts';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { STATUS_LOOKS } from '../../ui/status-look.ts';
import { runPath } from './paths.ts';

/** Runs that are shown of each workflow. */
const SHOWN = 6;

/** The last runs of a workflow, newest first: a mark each, and when the last one began. */
export function RunDots({ runs }: { readonly runs: readonly RunSummary[] }) {
  const [last] = runs;
  if (last === undefined) return <p className="text-small text-ink-faint">has not run yet</p>;
  return (
    <div className="flex items-center gap-2 text-small text-ink-faint">
      <ul aria-label="Last runs" className="flex gap-1">
        {runs.slice(0, SHOWN).map(({ id, status, startedAt }) => (
          <li key={id} className="flex">
            <Link
              href={runPath(id)}
              aria-label={`${STATUS_LOOKS[status].label}, ${formatDateTime(startedAt)}`}
              className="rounded-full"
            >
              <StatusBadge status={status} bare />
            </Link>
          </li>
        ))}
      </ul>
      <RelativeTime at={last.startedAt} />
    </div>
  );
}
