import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import { cx } from '../../../ui/class-names.ts';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';
import type { NoteTone } from '../model/stream-items.ts';
import { ItemFrame } from './item-frame.tsx';

const LOOKS: Readonly<Record<NoteTone, readonly [icon: IconName, ink: string]>> = {
  plain: ['dot', 'text-ink-faint'],
  wait: ['pause', 'text-wait'],
  warn: ['alert', 'text-wait'],
  fail: ['cross', 'text-fail'],
  done: ['check', 'text-done'],
};

export interface NoteItemProps {
  readonly seq: number;
  readonly tone: NoteTone;
  readonly text: string;
  readonly error?: ErrorJson | undefined;
  readonly isEnd?: boolean;
  /** What the model was told about it. */
  readonly toModel?: string;
}

/** Something that happened apart from what was said. */
export function NoteItem({ seq, tone, text, error, isEnd = false, toModel }: NoteItemProps) {
  const [icon, ink] = LOOKS[tone];
  return (
    <ItemFrame seq={seq} label="Note">
      <div className={cx('flex gap-1.5 text-small', isEnd ? 'font-semibold' : 'text-ink-soft')}>
        <Icon name={icon} size={13} className={cx('mt-0.5', ink)} />
        <div className="min-w-0">
          <p className="line-clamp-6 break-words">{text}</p>
          {toModel === undefined ? null : (
            <details>
              <summary>What the model was told</summary>
              <p className="break-words whitespace-pre-wrap">{toModel}</p>
            </details>
          )}
          {error === undefined || !isEnd ? null : (
            <p className="font-normal break-words text-ink">{error.message}</p>
          )}
          {error?.hint === undefined ? null : (
            <p className="font-normal break-words text-ink-soft">{error.hint}</p>
          )}
        </div>
      </div>
    </ItemFrame>
  );
}
