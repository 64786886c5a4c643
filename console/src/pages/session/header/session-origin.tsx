import { Link } from 'wouter';
import { useSessionView } from '../session-view.ts';

/** Where a session came from, if it was forked or called. */
export function SessionOrigin() {
  const { model } = useSessionView();
  const first = model.events[0];
  if (first?.type !== 'session.started') return null;
  const { forked, parent } = first;
  const from = forked?.session ?? parent?.session;
  if (from === undefined) return null;
  const at = forked === undefined ? '' : `?at=${forked.seq}`;
  return (
    <>
      {' · '}
      <Link href={`/sessions/${encodeURIComponent(from)}${at}`} className="text-accent hover:underline">
        {forked === undefined
          ? `called as ${parent?.action ?? 'a sub-agent'}`
          : `forked at event ${forked.seq}`}
      </Link>
    </>
  );
}
