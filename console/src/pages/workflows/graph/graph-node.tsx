import { Handle, type NodeProps, Position, useReactFlow } from '@xyflow/react';
import type { FocusEvent } from 'react';
import { cx } from '../../../ui/class-names.ts';
import { Icon } from '../../../ui/icon.tsx';
import { MARK_LOOKS } from './mark-looks.ts';
import type { DrawnNode } from './to-flow.ts';

/** A step, a state, a branch, the start or the end. It is a button if it can be selected. */
export function GraphNode({
  data,
  positionAbsoluteX,
  positionAbsoluteY,
  width,
  height,
}: NodeProps<DrawnNode>) {
  const { setCenter, getZoom } = useReactFlow();
  /** Scrolls a node into view when it gets the focus. */
  const showItself = (event: FocusEvent) => {
    if (!event.target.matches(':focus-visible')) return;
    const [x, y] = [positionAbsoluteX + (width ?? 0) / 2, positionAbsoluteY + (height ?? 0) / 2];
    void setCenter(x, y, { zoom: getZoom() });
  };
  const { node, lines, mark, onChoose, isChosen } = data;
  const look = mark === undefined ? undefined : MARK_LOOKS[mark.status];
  const handles = (
    <>
      <Handle type="target" position={Position.Top} isConnectable={false} className="invisible" />
      <Handle type="source" position={Position.Bottom} isConnectable={false} className="invisible" />
    </>
  );
  if (node.kind === 'start' || node.kind === 'end')
    return (
      <div
        title={node.kind === 'start' ? 'The run begins' : 'The run ends'}
        className={cx(
          'size-full rounded-full',
          node.kind === 'start'
            ? mark === undefined
              ? 'bg-ink-soft'
              : 'bg-done'
            : cx('border-4 border-double bg-surface', mark === undefined ? 'border-ink-soft' : 'border-done'),
        )}
      >
        <span className="sr-only">{node.kind === 'start' ? 'Start' : 'End'}</span>
        {handles}
      </div>
    );
  const times = mark !== undefined && mark.times > 1 ? `×${mark.times}` : '';
  const title = node.kind === 'split' ? (lines[0] ?? node.name) : node.name;
  const rest = node.kind === 'split' ? lines.slice(1) : lines;
  const body = (
    <>
      <span className="flex min-w-0 items-center gap-1.5">
        <span
          className={cx('min-w-0 flex-1 truncate', node.kind === 'split' ? 'text-small' : 'font-semibold')}
        >
          {title}
        </span>
        {times === '' ? null : <span className="text-micro text-ink-faint tabular-nums">{times}</span>}
        {look === undefined ? null : (
          <span className={look.ink}>
            <Icon name={look.icon} size={14} className={mark?.status === 'running' ? 'animate-turn' : ''} />
            <span className="sr-only">{look.label}</span>
          </span>
        )}
      </span>
      {rest.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two lines may be the same.
        <span key={at} className="block truncate text-micro leading-[17px] text-ink-soft">
          {line}
        </span>
      ))}
    </>
  );
  const frame = cx(
    'block size-full border bg-surface px-2.5 py-1.5 text-left text-body text-ink',
    node.kind === 'state' || node.kind === 'final' ? 'rounded-2xl' : 'rounded-md',
    node.kind === 'final' && 'border-double [border-width:4px] px-2 py-1',
    node.kind === 'split' && 'border-dashed bg-sunken',
    look === undefined ? 'border-line-strong' : cx(look.border, look.ground),
    isChosen && 'ring-2 ring-accent ring-offset-1 ring-offset-canvas',
  );
  const tip = [node.name, ...node.lines].join('\n');
  return (
    <>
      {onChoose === undefined || node.kind === 'split' ? (
        <div title={tip} className={frame}>
          {body}
        </div>
      ) : (
        <button
          type="button"
          title={tip}
          aria-pressed={isChosen}
          className={cx(frame, 'nodrag nopan hover:border-accent')}
          onFocus={showItself}
          onClick={() => onChoose(node)}
        >
          {body}
        </button>
      )}
      {handles}
    </>
  );
}
