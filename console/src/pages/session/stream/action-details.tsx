import { Link } from 'wouter';
import { ErrorState } from '../../../ui/error-state.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import type { ActionRow } from '../model/waterfall-rows.ts';
import { useSessionView } from '../session-view.ts';

/** The whole of an action: parameters, tries, result or error, and where its own log is. */
export function ActionDetails({ row }: { readonly row: ActionRow }) {
  const { id, moment } = useSessionView();
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const input = row.attempts.findLast(({ seq }) => seq <= moment.seq)?.input ?? row.action.parameters;
  return (
    <div className="mt-1.5 flex flex-col gap-1.5 pl-5">
      <JsonView value={input} label="Parameters" />
      {end?.output === undefined ? null : <JsonView value={end.output} label="Result" />}
      {end?.error === undefined ? null : <ErrorState title="The action failed." error={end.error} />}
      {end?.reason === undefined ? null : <p className="text-small text-ink-soft">{end.reason}</p>}
      {row.child === undefined ? null : (
        <Link
          href={`/sessions/${encodeURIComponent(row.child)}`}
          className="text-small text-accent underline"
        >
          The sub-agent’s session
        </Link>
      )}
      {row.action.kind === 'workflow' && row.attempts.length > 0 ? (
        <Link
          href={`/runs/${encodeURIComponent(`${id}.${row.action.id}`)}`}
          className="text-small text-accent underline"
        >
          The workflow run
        </Link>
      ) : null}
    </div>
  );
}
