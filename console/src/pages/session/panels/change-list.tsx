import type { Json } from '../../../../../telltale/src/kernel/json.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { JsonView } from '../../../ui/json-view.tsx';
import { brief } from '../model/brief-value.ts';
import type { Change } from '../model/field-history.ts';
import { useSessionView } from '../session-view.ts';

/** Changes that are listed, the newest ones. */
const MAX_LISTED = 50;

/** A value in full, and how it came to be. */
export function ChangeList({
  value,
  changes,
}: {
  readonly value: Json;
  readonly changes: readonly Change[];
}) {
  const { model, select } = useSessionView();
  const older = changes.length - MAX_LISTED;
  return (
    <div className="flex flex-col gap-2 px-3 pb-3">
      <JsonView value={value} label="Value" className="max-h-60 overflow-y-auto" />
      <ol className="flex flex-col gap-1 text-small">
        {changes
          .slice(-MAX_LISTED)
          .toReversed()
          .map(({ seq, at, to, by }) => (
            <li key={seq} className="flex min-w-0 items-baseline gap-2">
              <button
                type="button"
                onClick={() => select(seq)}
                className="shrink-0 font-mono text-micro text-accent hover:underline"
              >
                event {seq}
              </button>
              <span className="shrink-0 text-micro text-ink-faint tabular-nums">
                +{formatDuration(at - model.waterfall.start)}
              </span>
              <span className="min-w-0 flex-1 truncate font-mono">{brief(to, 100)}</span>
              <span className="shrink-0 text-micro text-ink-faint">by {by}</span>
            </li>
          ))}
      </ol>
      {older > 0 ? <p className="text-micro text-ink-faint">and {older} before that</p> : null}
    </div>
  );
}
