import type { SessionSummary } from '../../../../telltale/src/events/session-summary.ts';
import { useNow } from '../../data/use-now.ts';
import { StateChip } from '../../ui/state-chip.tsx';
import { StateStrip } from '../../ui/state-strip.tsx';
import { statusField } from './status-field.ts';

/** What the agent says it is doing, and what it said before, over the session's time. */
export function SessionState({ session }: { readonly session: SessionSummary }) {
  const now = useNow();
  const declared = statusField(session);
  if (declared === undefined) return <span className="hidden text-small text-ink-faint lg:inline">–</span>;
  const { field, spans } = declared;
  const to = session.status === 'running' ? Math.max(now, session.updatedAt) : session.updatedAt;
  return (
    <div className="flex flex-col gap-1.5">
      <StateChip field={field} value={spans.at(-1)?.value ?? null} />
      <StateStrip field={field} spans={spans} from={session.startedAt} to={to} />
    </div>
  );
}
