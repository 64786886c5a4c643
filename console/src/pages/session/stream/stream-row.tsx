import type { ReactNode } from 'react';
import { visibleText } from '../../../../../telltale/src/kernel/visible-text.ts';
import { Markdown } from '../../../ui/markdown.tsx';
import type { StreamItem } from '../model/stream-items.ts';
import { ActionItem } from './action-item.tsx';
import { ItemFrame } from './item-frame.tsx';
import { MessageItem } from './message-item.tsx';
import { MetadataItem } from './metadata-item.tsx';
import { NoteItem } from './note-item.tsx';
import { ResponseItem } from './response-item.tsx';
import { RunItem } from './run-item.tsx';
import { ThoughtItem } from './thought-item.tsx';
import { TurnItem } from './turn-item.tsx';

/** One thing of the conversation. */
export function StreamRow({ item }: { readonly item: StreamItem }): ReactNode {
  switch (item.kind) {
    case 'message':
      return <MessageItem seq={item.seq} from={item.from} text={item.text} />;
    case 'turn':
      return <TurnItem row={item.row} />;
    case 'thought':
      return <ThoughtItem seq={item.seq} depth={item.depth} text={item.text} open={item.open === true} />;
    case 'text':
      return (
        <ItemFrame seq={item.seq} label="Text beside the tags">
          <Markdown text={item.text.trim()} className="text-body text-ink-faint" />
        </ItemFrame>
      );
    case 'response':
      return <ResponseItem seq={item.seq} text={item.text} final={item.final} speaker={item.speaker} />;
    case 'action':
      return <ActionItem row={item.row} depth={item.depth} />;
    case 'metadata':
      return <MetadataItem seq={item.seq} changes={item.changes} by={item.by} />;
    case 'rejected':
      return (
        <NoteItem
          seq={item.seq}
          tone="warn"
          text={`Metadata refused: ${item.errors.map(({ field, message }) => `${field}: ${message}`).join('; ')}`}
        />
      );
    case 'fault':
      return <NoteItem seq={item.seq} tone="warn" text={`Soft error ${item.code}: ${item.message}`} />;
    case 'run':
      return <RunItem seq={item.seq} row={item.row} isEnd={false} />;
    case 'run-end':
      return <RunItem seq={item.seq} row={item.row} isEnd />;
    case 'review':
      return <NoteItem seq={item.seq} tone="wait" text={visibleText(`Waiting for approval: ${item.what}`)} />;
    case 'note':
    case 'end':
      return (
        <NoteItem
          seq={item.seq}
          tone={item.tone}
          text={item.text}
          error={item.error}
          isEnd={item.kind === 'end'}
        />
      );
  }
}
