import { BaseEdge, EdgeLabelRenderer, type EdgeProps } from '@xyflow/react';
import { cx } from '../../../ui/class-names.ts';
import { labelText } from './text-size.ts';
import type { DrawnEdge } from './to-flow.ts';

const DASHES: Readonly<Record<NonNullable<DrawnEdge['data']>['kind'], string | undefined>> = {
  next: undefined,
  back: undefined,
  error: '6 4',
  open: '2 4',
};

/** A way from box to box: dashed where something failed, dotted where an artifact may choose it, bold where a run went. */
export function GraphEdge({ data }: EdgeProps<DrawnEdge>) {
  if (data === undefined) return null;
  const { path, kind, isTaken, text, label } = data;
  const stroke = isTaken ? 'var(--done)' : kind === 'error' ? 'var(--fail)' : 'var(--line-strong)';
  return (
    <>
      <BaseEdge
        path={path}
        interactionWidth={0}
        markerEnd={`url(#arrow-${isTaken ? 'taken' : kind === 'error' ? 'error' : 'plain'})`}
        style={{ stroke, strokeWidth: isTaken ? 2.25 : 1.25, strokeDasharray: DASHES[kind] }}
      />
      {text === undefined || label === undefined ? null : (
        <EdgeLabelRenderer>
          <div
            title={text}
            className={cx(
              'pointer-events-auto absolute rounded bg-canvas px-1 text-micro whitespace-nowrap',
              isTaken ? 'font-medium text-done' : 'text-ink-soft',
            )}
            style={{ transform: `translate(-50%, -50%) translate(${label.x}px, ${label.y}px)` }}
          >
            {labelText(text)}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
}
