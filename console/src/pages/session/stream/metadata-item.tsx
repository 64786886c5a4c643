import type { Json } from '../../../../../telltale/src/kernel/json.ts';
import { StateChip } from '../../../ui/state-chip.tsx';
import { brief } from '../model/brief-value.ts';
import { useSessionView } from '../session-view.ts';
import { ItemFrame } from './item-frame.tsx';

export interface MetadataItemProps {
  readonly seq: number;
  readonly changes: Readonly<Record<string, { readonly from: Json; readonly to: Json }>>;
  readonly by: string;
}

/** What the agent says of itself. */
export function MetadataItem({ seq, changes, by }: MetadataItemProps) {
  const { model } = useSessionView();
  const { states } = model.history;
  return (
    <ItemFrame seq={seq} label="Metadata">
      <div className="flex gap-2 text-small">
        <span aria-hidden="true" className="text-done">
          ◆
        </span>
        <p className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          {Object.entries(changes).map(([field, { from, to }]) => (
            <span key={field} className="inline-flex max-w-full min-w-0 items-center gap-1.5">
              <span className="text-ink-faint">{field}</span>
              {states.includes(field) ? (
                <StateChip field={field} value={to} />
              ) : (
                <span
                  className="min-w-0 font-mono text-micro break-words"
                  title={`before: ${brief(from, 200)}`}
                >
                  {brief(to, 80)}
                </span>
              )}
            </span>
          ))}
          {by === 'model' ? null : <span className="text-ink-faint">by {by}</span>}
        </p>
      </div>
    </ItemFrame>
  );
}
