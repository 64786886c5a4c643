import type { MessageFrom } from '../../../../../telltale/src/events/event.ts';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';
import { ItemFrame } from './item-frame.tsx';
import { LongText } from './long-text.tsx';

const SENDERS: Readonly<Record<MessageFrom, readonly [icon: IconName, name: string]>> = {
  user: ['person', 'You'],
  steer: ['person', 'Steered'],
  parent: ['agents', 'The calling agent'],
  workflow: ['workflows', 'A workflow'],
  runtime: ['info', 'Note to the model'],
  verifier: ['eye', 'The verifier'],
};

/** Messages that a model or a manifest wrote; people's words are shown as they typed them. */
const WRITTEN: ReadonlySet<MessageFrom> = new Set(['parent', 'workflow', 'verifier']);

export interface MessageItemProps {
  readonly seq: number;
  readonly from: MessageFrom;
  readonly text: string;
}

export function MessageItem({ seq, from, text }: MessageItemProps) {
  const [icon, name] = SENDERS[from];
  return (
    <ItemFrame seq={seq} label="Message">
      <div className="rounded-lg bg-accent-soft px-3 py-2">
        <p className="mb-0.5 flex items-center gap-1.5 text-small font-semibold text-accent">
          <Icon name={icon} size={13} />
          {name}
        </p>
        <LongText text={text} markdown={WRITTEN.has(from)} />
      </div>
    </ItemFrame>
  );
}
