import { type RefObject, useEffect, useId, useState } from 'react';
import { rowFacts } from '../model/row-facts.ts';
import { useSessionView } from '../session-view.ts';
import { DependencyLines } from './dependency-lines.tsx';
import { GapMarks } from './gap-marks.tsx';
import { END_ROOM, isEventOf } from './layout.ts';
import { PlayHead } from './play-head.tsx';
import { tagNear } from './tag-marks.tsx';
import { useAutoPan } from './use-auto-pan.ts';
import { useFollow } from './use-follow.ts';
import { useRowKeys } from './use-row-keys.ts';
import { useRowWindow } from './use-row-window.ts';
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
  const view = useRowWindow(scroller, waterfall.turns, count);
  useFollow(scroller, view.scrollTo, count, !isLive || waterfall.turns.at(-1)?.end === undefined);
  useAutoPan({ scroller, indexAt: view.indexAt, rows: waterfall.rows, axis, gutter });
  const keys = useRowKeys({ count, view, zoom, onOpen: (index) => select(waterfall.rows[index]?.seq) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was pointed at lies elsewhere then.
  useEffect(() => setPointed(undefined), [moment.seq, axis.pxPerMs]);
  const { shown, height, left } = view;
  const pointedRow = pointed === undefined ? undefined : waterfall.rows[pointed.index];
  const onPoint = (event: React.PointerEvent | React.MouseEvent): Pointed | undefined => {
    const element = (event.target as Element).closest<HTMLElement>('[data-index]');
    if (element === null || scroller.current === null) return undefined;
    const { left: edge } = scroller.current.getBoundingClientRect();
    const place = event.clientX - edge - gutter + scroller.current.scrollLeft;
    return { index: Number(element.dataset.index), x: event.clientX, y: event.clientY, place };
  };
  const pointedTag =
    pointed !== undefined && pointedRow?.kind === 'turn'
      ? tagNear(pointedRow.tags, axis, moment, pointed.place)
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
        <GapMarks axis={axis} gutter={gutter} height={height} />
        <PlayHead x={gutter + axis.x(moment.at)} height={height} />
      </div>
      {pointed === undefined || pointedRow === undefined ? null : (
        <WaterfallTip
          facts={rowFacts(pointedRow, { moment, start: waterfall.start, actionOf: waterfall.action })}
          tag={pointedTag}
          x={pointed.x}
          y={pointed.y}
        />
      )}
    </div>
  );
}
