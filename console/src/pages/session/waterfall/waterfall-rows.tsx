import { useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useId, useState } from 'react';
import { rowFacts } from '../model/row-facts.ts';
import { rowKey, type TurnRow } from '../model/waterfall-rows.ts';
import { useSessionView } from '../session-view.ts';
import { DependencyLines } from './dependency-lines.tsx';
import { GapMarks } from './gap-marks.tsx';
import { END_ROOM, rowHeight } from './layout.ts';
import { PlayHead } from './play-head.tsx';
import { tagNear } from './tag-marks.tsx';
import { isEventOf, turnOfRow } from './turn-of-row.ts';
import { useFollow } from './use-follow.ts';
import { useRowKeys } from './use-row-keys.ts';
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
  const { model, moment, selected, select } = useSessionView();
  const { waterfall } = model;
  const { axis } = zoom;
  const base = useId();
  const [pointed, setPointed] = useState<Pointed>();
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => rowHeight(waterfall.rows[index]),
    getItemKey: (index) => {
      const row = waterfall.rows[index];
      return row === undefined ? index : rowKey(row);
    },
    overscan: 6,
    paddingEnd: 12,
    scrollPaddingStart: 34,
  });
  useFollow(scroller, virtual, count);
  const keys = useRowKeys({ count, virtual, zoom, onOpen: (index) => select(waterfall.rows[index]?.seq) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was pointed at lies elsewhere then.
  useEffect(() => setPointed(undefined), [moment.seq, axis.pxPerMs]);
  const shown = virtual.getVirtualItems();
  const height = virtual.getTotalSize();
  const left = scroller.current?.scrollLeft ?? 0;
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
  let turn: TurnRow | undefined = turnOfRow(waterfall, shown[0]?.index ?? 0);
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
        {shown.map(({ index, start, size, key }) => {
          const row = waterfall.rows[index];
          if (row === undefined) return null;
          if (row.kind === 'turn') turn = row;
          return (
            <WaterfallRow
              key={String(key)}
              id={`${base}-${index}`}
              {...{ row, turn, index, count, axis, moment, waterfall, gutter }}
              isActive={keys.isFocused && keys.active === index}
              isSelected={selected !== undefined && isEventOf(row, selected)}
              style={{ top: start, height: size }}
            />
          );
        })}
        <DependencyLines {...{ waterfall, axis, gutter, moment, height, virtual }} />
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
