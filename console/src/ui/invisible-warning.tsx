import { invisibleWarning, textsIn } from '../../../telltale/src/lib/text.ts';
import { Icon } from './icon.tsx';

/**
 * Warns that a text contains invisible characters, next to whatever a person decides about. Otherwise it renders
 * nothing.
 */
export function InvisibleWarning({ of }: { readonly of: unknown }) {
  const warning = invisibleWarning(...textsIn(of));
  if (warning === undefined) return null;
  return (
    <p role="note" className="flex gap-2 rounded-md bg-wait-soft px-3 py-2">
      <Icon name="alert" className="mt-0.5 text-wait" />
      <span>{warning}</span>
    </p>
  );
}
