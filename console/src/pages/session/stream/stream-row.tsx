import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Json } from '../../../../../telltale/src/lib/json.ts';
import { visibleText } from '../../../../../telltale/src/lib/text.ts';
import type { MessageFrom } from '../../../../../telltale/src/log/event.ts';
import { faultForPeople } from '../../../../../telltale/src/log/for-people.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { formatCost, formatCount } from '../../../format/format-number.ts';
import { cx } from '../../../ui/class-names.ts';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';
import { Markdown } from '../../../ui/markdown.tsx';
import { StateChip } from '../../../ui/state-chip.tsx';
import { brief } from '../model/brief-value.ts';
import type { StreamItem } from '../model/stream-items.ts';
import type { RunRow, TurnRow } from '../model/waterfall-rows.ts';
import { useSessionView } from '../session-view.ts';
import { ActionItem } from './action-item.tsx';
import { ItemFrame } from './item-frame.tsx';
import { LongText } from './long-text.tsx';
import { NoteItem } from './note-item.tsx';

/** One item of the conversation. */
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
      return <NoteItem seq={item.seq} tone="warn" text={faultForPeople(item)} toModel={item.message} />;
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

interface ThoughtItemProps {
  readonly seq: number;
  readonly depth: number;
  readonly text: string;
  readonly open: boolean;
}

/** Indentation by depth. Deeper thoughts get the last one. */
const INDENTS = ['', 'ml-4', 'ml-8', 'ml-12'];

const ThoughtItem = ({ seq, depth, text, open }: ThoughtItemProps) => (
  <ItemFrame seq={seq} label="Thought">
    <div className={cx('border-l-2 border-line pl-2.5', INDENTS[Math.min(depth, INDENTS.length - 1)])}>
      <p className="text-micro font-medium text-ink-faint">
        Thought{open ? <span className="ml-1 animate-breathe text-accent">…</span> : null}
      </p>
      <LongText text={text} markdown className="text-ink-soft italic" />
    </div>
  </ItemFrame>
);

interface RunItemProps {
  readonly seq: number;
  readonly row: RunRow;
  readonly isEnd: boolean;
}

/** The start or the end of a triggered workflow. */
function RunItem({ seq, row, isEnd }: RunItemProps) {
  const { workflow, run, end, at } = row;
  const told =
    isEnd && end !== undefined ? `${end.status} after ${formatDuration(end.at - at)}` : 'triggered';
  return (
    <ItemFrame seq={seq} label={`Workflow ${workflow}`}>
      <p className="flex flex-wrap items-center gap-1.5 text-small">
        <Icon name="workflows" size={13} className="text-stall" />
        <Link href={`/runs/${encodeURIComponent(run)}`} className="font-semibold hover:underline">
          {workflow}
        </Link>
        <span className={isEnd && end?.status === 'failed' ? 'text-fail' : 'text-ink-soft'}>{told}</span>
        {isEnd && end?.error !== undefined ? (
          <span className="min-w-0 break-words text-ink-soft">{end.error.message}</span>
        ) : null}
      </p>
    </ItemFrame>
  );
}

const SENDERS: Readonly<Record<MessageFrom, readonly [icon: IconName, name: string]>> = {
  user: ['person', 'You'],
  steer: ['person', 'Steered'],
  parent: ['agents', 'The calling agent'],
  workflow: ['workflows', 'A workflow'],
  runtime: ['info', 'Note to the model'],
  verifier: ['eye', 'The verifier'],
};

/** Messages that a model or a manifest wrote. People's messages are shown as typed. */
const WRITTEN: ReadonlySet<MessageFrom> = new Set(['parent', 'workflow', 'verifier']);

interface MessageItemProps {
  readonly seq: number;
  readonly from: MessageFrom;
  readonly text: string;
}

function MessageItem({ seq, from, text }: MessageItemProps) {
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

interface ResponseItemProps {
  readonly seq: number;
  readonly text: string;
  readonly final: boolean | 'open';
  readonly speaker?: string | undefined;
}

const WORDS = { true: 'Answer', false: 'Meanwhile', open: 'Answering' } as const;

/** A response. While it streams, a `$name` in it stands for a result that is not there yet. */
function ResponseItem({ seq, text, final, speaker }: ResponseItemProps) {
  const awaited = final === 'open' ? [...new Set(text.match(/(?<!\$)\$[A-Za-z_]\w*/g) ?? [])] : [];
  return (
    <ItemFrame seq={seq} label="Response">
      <div
        className={
          final === true
            ? 'rounded-lg border border-done/50 bg-done-soft px-3 py-2'
            : 'rounded-lg border border-line bg-canvas px-3 py-2'
        }
      >
        <p className="mb-0.5 flex items-center gap-1.5 text-small font-semibold">
          <Icon
            name={final === true ? 'check' : 'message'}
            size={13}
            className={final === true ? 'text-done' : 'text-ink-faint'}
          />
          {WORDS[String(final) as keyof typeof WORDS]}
          {speaker === undefined ? null : <span className="text-ink-faint">{` by ${speaker}`}</span>}
          {final === 'open' ? <span className="animate-breathe text-accent">…</span> : null}
        </p>
        <LongText text={text} markdown />
        {awaited.length > 0 ? (
          <p className="mt-1 text-small text-wait">Waits for {awaited.join(', ')}</p>
        ) : null}
      </div>
    </ItemFrame>
  );
}

interface MetadataItemProps {
  readonly seq: number;
  readonly changes: Readonly<Record<string, { readonly from: Json; readonly to: Json }>>;
  readonly by: string;
}

/** Metadata that the agent declared. */
function MetadataItem({ seq, changes, by }: MetadataItemProps) {
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

/** The start of a turn, with its cost. */
function TurnItem({ row }: { readonly row: TurnRow }) {
  const { model, moment } = useSessionView();
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const isWaiting = end === undefined && model.stateAt(moment.seq).status === 'waiting';
  const figures: string[] = [];
  if (end?.usage !== undefined)
    figures.push(`${formatCount(end.usage.input)} + ${formatCount(end.usage.output)} tokens`);
  if (end?.firstTokenMs !== undefined) figures.push(`first after ${formatDuration(end.firstTokenMs)}`);
  if (end !== undefined) figures.push(formatDuration(end.spokeUntil - row.at));
  if (end?.cost !== undefined && end.cost > 0) figures.push(formatCost(end.cost));
  if (end?.finish === 'cut') figures.push('stopped by the runtime');
  if (end?.finish === 'interrupted') figures.push('interrupted');
  if (end?.finish === 'length') figures.push('reached its length limit');
  return (
    <ItemFrame seq={row.seq} label={`Turn ${row.turn}`} className="pt-3">
      <p className="flex items-center gap-2 text-small">
        <span className="shrink-0 font-semibold">Turn {row.turn}</span>
        <span aria-hidden="true" className="h-px min-w-3 flex-1 bg-line" />
        <span className="truncate text-micro text-ink-faint tabular-nums">
          {end === undefined
            ? isWaiting
              ? 'waiting for a person'
              : 'the model speaks…'
            : figures.join(' · ')}
        </span>
      </p>
    </ItemFrame>
  );
}
