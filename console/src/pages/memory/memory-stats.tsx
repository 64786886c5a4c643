import { isJsonObject, type JsonObject } from '../../../../telltale/src/kernel/json.ts';
import { RelativeTime } from '../../ui/relative-time.tsx';

const COUNTS = [
  ['files', 'Files'],
  ['symbols', 'Symbols'],
  ['imports', 'Imports'],
  ['calls', 'Calls'],
  ['facts', 'Facts'],
  ['staleFacts', 'of them stale'],
  ['sessions', 'Sessions'],
] as const;

/** What a graph holds, in one line. */
export function MemoryStats({ stats }: { readonly stats: JsonObject }) {
  const languages = isJsonObject(stats.languages) ? Object.entries(stats.languages) : [];
  const notes = isJsonObject(stats.notes) ? Object.entries(stats.notes) : [];
  return (
    <dl className="flex flex-wrap items-center gap-x-4 gap-y-1 text-small text-ink-soft [&_dd]:font-medium [&_dd]:text-ink [&_dd]:tabular-nums [&_div]:flex [&_div]:gap-1.5 [&_dt]:text-ink-faint">
      <div className="min-w-0">
        <dt>Folder</dt>
        <dd className="font-mono break-all">{String(stats.folder ?? '')}</dd>
      </div>
      {COUNTS.map(([key, label]) =>
        typeof stats[key] === 'number' && (key !== 'staleFacts' || stats[key] > 0) ? (
          <div key={key}>
            <dt>{label}</dt>
            <dd>{stats[key].toLocaleString('en')}</dd>
          </div>
        ) : null,
      )}
      {languages.length === 0 ? null : (
        <div>
          <dt>Languages</dt>
          <dd>{languages.map(([name, count]) => `${name} ${String(count)}`).join(', ')}</dd>
        </div>
      )}
      {notes.length === 0 ? null : (
        <div>
          <dt>Not read whole</dt>
          <dd>{notes.map(([why, count]) => `${String(count)} ${why.replaceAll('_', ' ')}`).join(', ')}</dd>
        </div>
      )}
      {typeof stats.walkedAtMs === 'number' ? (
        <div>
          <dt>Last looked at</dt>
          <dd>
            <RelativeTime at={stats.walkedAtMs} />
          </dd>
        </div>
      ) : null}
    </dl>
  );
}
