import { type RefObject, useEffect, useId, useState } from 'react';
import { rowFacts } from '../model/row-facts.ts';
import { useSessionView } from '../session-view.ts';
import { DependencyLines } from './dependency-lines.tsx';
import { GapMarks } from './gap-marks.tsx';
import { AXIS_HEIGHT, END_ROOM, isEventOf } from './layout.ts';
import { PlayHead } from './play-head.tsx';
import { tagNear } from './tag-marks.tsx';
import { useAutoPan } from './use-auto-pan.ts';
import { useFollow } from './use-follow.ts';
import { useRowKeys } from './use-row-keys.ts';
import { type ShownRow, useRowWindow } from './use-row-window.ts';
import type { Zoom } from './use-zoom.ts';
import { WaterfallAxis } from './waterfall-axis.tsx';
import { WaterfallRow } from './waterfall-row.tsx';
import { WaterfallTip } from './waterfall-tip.tsx';

export interface WaterfallRowsProps {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly count: number;
  readonly gutter: number;
  readonly zoom: Zoom;
  readonly width: number;
}

interface Pointed {
  readonly index: number;
  readonly x: number;
  readonly y: number;
  /** On the axis. */
  readonly place: number;
}

export function WaterfallRows({ scroller, count, gutter, zoom, width }: WaterfallRowsProps) {
  const { model, moment, isLive, selected, select } = useSessionView();
  const { waterfall } = model;
  const { axis } = zoom;
  const base = useId();
  const [pointed, setPointed] = useState<Pointed>();
  // A turn may have ended whose actions run, and the next one is about to begin.
  const { status } = model.stateAt(model.events.length);
  const isMoving = !isLive || status === 'running' || status === 'waiting';
  const isPinned = useFollow(scroller, count, isMoving);
  const view = useRowWindow(scroller, waterfall.turns, count, isPinned);
  const followed = isPinned || !isLive ? axis.x(moment.at) : undefined;
  useAutoPan({ scroller, indexAt: view.indexAt, rows: waterfall.rows, axis, gutter, followed });
  const keys = useRowKeys({ count, view, zoom, onOpen: (index) => select(waterfall.rows[index]?.seq) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was pointed at lies elsewhere then.
  useEffect(() => setPointed(undefined), [moment.seq, axis.pxPerMs]);
  const { shown, height, left } = view;
  const onPoint = (event: React.PointerEvent | React.MouseEvent): Pointed | undefined => {
    const element = (event.target as Element).closest<HTMLElement>('[data-index]');
    if (element === null || scroller.current === null) return undefined;
    const { left: edge } = scroller.current.getBoundingClientRect();
    const place = event.clientX - edge - gutter + scroller.current.scrollLeft;
    return { index: Number(element.dataset.index), x: event.clientX, y: event.clientY, place };
  };
  const focused = keys.isTold ? shown.find(({ index }) => index === keys.active) : undefined;
  const told = pointed ?? placeOf(focused, scroller.current, gutter);
  const toldRow = told === undefined ? undefined : waterfall.rows[told.index];
  const pointedTag =
    told !== undefined && toldRow?.kind === 'turn'
      ? tagNear(toldRow.tags, axis, moment, told.place)
      : undefined;
  return (
    <div className="relative" style={{ width: Math.max(width, gutter + axis.width + END_ROOM) }}>
      <WaterfallAxis
        axis={axis}
        gutter={gutter}
        width={axis.width + END_ROOM}
        from={left}
        to={left + width}
      />
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: onKeyDown is among `keys.props`. */}
      <div
        role="listbox"
        aria-label="Turns, actions and workflow runs over time"
        tabIndex={0}
        {...keys.props}
        aria-activedescendant={keys.active === undefined ? undefined : `${base}-${keys.active}`}
        className="relative -outline-offset-2"
        style={{ height }}
        onPointerMove={(event) => setPointed(onPoint(event))}
        onPointerLeave={() => setPointed(undefined)}
        onClick={(event) => {
          const at = onPoint(event);
          const row = at === undefined ? undefined : waterfall.rows[at.index];
          if (at === undefined || row === undefined) return;
          keys.setActive(at.index);
          const tag = row.kind === 'turn' ? tagNear(row.tags, axis, moment, at.place) : undefined;
          const own = (event.target as Element).closest<HTMLElement>('[data-seq]')?.dataset.seq;
          select(Math.min(moment.seq, tag?.seq ?? Number(own ?? row.seq)));
        }}
      >
        {shown.map(({ index, top, height: size }, slot) => {
          const row = waterfall.rows[index];
          return row === undefined ? null : (
            <WaterfallRow
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no state; elements that stay are cheaper than new ones.
              key={slot}
              id={`${base}-${index}`}
              {...{ row, index, count, axis, moment, waterfall, gutter }}
              turn={view.turnOf(index)}
              isActive={keys.isFocused && keys.active === index}
              isSelected={selected !== undefined && isEventOf(row, selected)}
              style={{ top, height: size }}
            />
          );
        })}
        <DependencyLines {...{ waterfall, axis, gutter, moment, height, shown }} />
        <GapMarks {...{ axis, gutter, height }} from={left} to={left + width} />
        <PlayHead x={gutter + axis.x(moment.at)} height={height} />
      </div>
      {told === undefined || toldRow === undefined ? null : (
        <WaterfallTip
          facts={rowFacts(toldRow, { moment, start: waterfall.start, actionOf: waterfall.action })}
          tag={pointedTag}
          x={told.x}
          y={told.y}
        />
      )}
    </div>
  );
}

/** Where the tip of a row that has the focus stands: under its label. */
function placeOf(
  row: ShownRow | undefined,
  element: HTMLElement | null,
  gutter: number,
): Pointed | undefined {
  if (row === undefined || element === null) return undefined;
  const { left, top } = element.getBoundingClientRect();
  const y = top + AXIS_HEIGHT + row.top + row.height - element.scrollTop;
  return { index: row.index, x: left + gutter, y, place: Number.NaN };
}
