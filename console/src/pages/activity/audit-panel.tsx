import { Link } from 'wouter';
import type { AuditEntry } from '../../../../telltale/src/client/api.ts';
import { identityText } from '../../../../telltale/src/lib/ids.ts';
import { usePaged } from '../../data/use-paged.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { auditPath, auditWords } from './audit-words.ts';
import { PagedList } from './paged-list.tsx';

const PAGE = 100;

/** Everything that anybody did through the server, newest first. */
export function AuditPanel() {
  const list = usePaged('audit', (client, cursor, signal) =>
    client.audit({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }, { signal }),
  );
  return (
    <PagedList
      list={list}
      label="Who did what"
      failure="Who did what could not be read."
      empty={
        <EmptyState icon="activity" title="No activity yet.">
          Everything that somebody starts, answers, cancels or changes through this server appears here.
        </EmptyState>
      }
      idOf={({ n }) => String(n)}
      row={(entry) => <AuditRow entry={entry} />}
    />
  );
}

function AuditRow({ entry }: { readonly entry: AuditEntry }) {
  const { at, who, role, what, about, status } = entry;
  const isRefused = status >= 400;
  const path = auditPath(entry);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5 px-3 py-2">
      <Icon
        name={isRefused ? 'cross' : 'check'}
        size={14}
        className={isRefused ? 'text-fail' : 'text-done'}
      />
      <span className="font-medium">{identityText(who)}</span>
      <span className="min-w-0 break-words text-ink-soft" title={what}>
        {isRefused ? `was refused: ${what}` : auditWords(what)}
      </span>
      {about === undefined ? null : path === undefined ? (
        <code className="min-w-0 text-small break-all text-ink-soft">{about}</code>
      ) : (
        <Link href={path} className="min-w-0 font-mono text-small break-all text-accent hover:underline">
          {about}
        </Link>
      )}
      <span className="ml-auto flex items-center gap-3 text-small text-ink-faint">
        {isRefused ? <span className="font-medium text-fail">refused, {status}</span> : null}
        <span>{role}</span>
        <RelativeTime at={at} className="min-w-16 text-right" />
      </span>
    </div>
  );
}
