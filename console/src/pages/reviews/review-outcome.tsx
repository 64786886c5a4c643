import { identityText } from '../../../../telltale/src/kernel/identity.ts';
import type { Resolution } from '../../data/review-inbox.ts';
import { formatDateTime } from '../../format/format-time.ts';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icon-shapes.ts';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { resolutionWords } from './review-words.ts';

const LOOKS: Readonly<Record<string, readonly [IconName, string]>> = {
  approved: ['check', 'bg-done-soft text-done'],
  rejected: ['cross', 'bg-fail-soft text-fail'],
  withdrawn: ['slash', 'bg-off-soft text-off'],
};

/** Who answered what, and when. */
export function ReviewOutcome({ resolution }: { readonly resolution: Resolution }) {
  const [icon, look] = LOOKS[resolution.answer] ?? (['check', 'bg-done-soft text-done'] as const);
  return (
    <div role="status" className={cx('flex shrink-0 gap-2.5 border-t border-line px-4 py-3', look)}>
      <Icon name={icon} size={18} className="mt-0.5" />
      <div className="min-w-0 text-ink">
        <p className="font-semibold">
          {resolutionWords(resolution)} by {identityText(resolution.by)}, <RelativeTime at={resolution.at} />
        </p>
        {resolution.note === undefined ? null : (
          <p className="mt-0.5 break-words whitespace-pre-wrap">{resolution.note}</p>
        )}
        <p className="text-small text-ink-soft">{formatDateTime(resolution.at)}. The decision is final.</p>
      </div>
    </div>
  );
}
