import type { JsonObject } from '../../../../telltale/src/lib/json.ts';
import { Icon } from '../../ui/icon.tsx';
import { NO_TRIGGER, triggerWords } from './trigger-words.ts';

/** The triggers of a workflow, one per line. */
export function TriggerList({ triggers }: { readonly triggers: readonly JsonObject[] }) {
  const all = triggers.length === 0 ? [NO_TRIGGER] : triggers.map(triggerWords);
  return (
    <ul aria-label="Triggers" className="flex flex-col gap-0.5">
      {all.map(({ icon, when, pace }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: triggers are known by their place.
        <li key={at} className="flex gap-2 text-small text-ink-soft">
          <Icon name={icon} size={14} className="mt-0.5 text-ink-faint" />
          <span className="min-w-0 break-words">
            {when}
            {pace.length === 0 ? null : <span className="text-ink-faint"> ({pace.join('; ')})</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}
