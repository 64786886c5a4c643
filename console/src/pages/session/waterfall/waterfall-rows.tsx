import { type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { formatDuration } from '../../../format/format-duration.ts';
import { cx } from '../../../ui/class-names.ts';
import type { Moment } from '../model/action-phases.ts';
import { rowFacts } from '../model/row-facts.ts';
import { GAP_PX, type TimeAxis } from '../model/time-axis.ts';
import type { Waterfall } from '../model/waterfall.ts';
import { useSessionView } from '../session-view.ts';
import { AXIS_HEIGHT, END_ROOM, isEventOf, ROW_HEIGHT } from './layout.ts';
import { tagNear } from './tag-marks.tsx';
import { useAutoPan } from './use-auto-pan.ts';
import { useRowKeys } from './use-row-keys.ts';
import { type ShownRow, useRowWindow } from './use-row-window.ts';
import type { Zoom } from './use-zoom.ts';
import { gapText, WaterfallAxis } from './waterfall-axis.tsx';
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
  // Between two turns the session is still running.
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

/** The tooltip of a focused row is below its label. */
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

/** The shown moment. Nothing has happened after it yet. */
function PlayHead({ x, height }: { readonly x: number; readonly height: number }) {
  const { isLive, model } = useSessionView();
  const isOver = isLive && model.stateAt(model.events.length).status !== 'running';
  if (isOver) return null;
  return (
    <span
      aria-hidden="true"
      className={cx(
        'pointer-events-none absolute top-0 z-[6] w-px',
        isLive ? 'bg-accent/50' : 'bg-ink shadow-[0_0_0_1px_var(--surface)]',
      )}
      style={{ left: x, height }}
    />
  );
}

interface GapMarksProps {
  readonly axis: TimeAxis;
  readonly gutter: number;
  readonly height: number;
  /** The visible part of the axis. */
  readonly from: number;
  readonly to: number;
}

/** A torn strip over the whole height where time was cut out of the axis. */
const GapMarks = ({ axis, gutter, height, from, to }: GapMarksProps) =>
  axis.gaps
    .filter(({ x }) => x + GAP_PX >= from && x <= to)
    .map((gap) => (
      <div
        key={gap.seq}
        aria-hidden="true"
        title={gapText(gap)}
        className="pointer-events-none absolute top-0 z-[5] flex justify-center wf-gap"
        style={{ left: gutter + gap.x, width: GAP_PX, height }}
      >
        <span className="sticky top-9 mt-2 h-fit rounded bg-surface py-1 text-micro text-ink-faint tabular-nums [writing-mode:vertical-rl]">
          {formatDuration(gap.to - gap.from)}
        </span>
      </div>
    ));

/** Within this distance of the end, somebody counts as looking at it. */
const NEAR_PX = 60;

/**
 * Whether the view should follow the end of a list: until somebody scrolls away from it. `isMoving` means that things
 * are happening at the end, so it goes there at once.
 */
function useFollow(scroller: RefObject<HTMLElement | null>, count: number, isMoving: boolean): boolean {
  const isAtEnd = useRef(isMoving);
  const before = useRef(count);
  const isPinned = isAtEnd.current || count < before.current;
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    let top = element.scrollTop;
    const onScroll = () => {
      // If everything is in view, horizontal scrolling has not gone to the end.
      if (element.scrollTop === top) return;
      top = element.scrollTop;
      isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_PX;
    };
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, [scroller]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with the number of rows.
  useLayoutEffect(() => {
    before.current = count;
    const element = scroller.current;
    if (!isPinned || element === null) return;
    isAtEnd.current = true;
    element.scrollTop = element.scrollHeight;
  }, [scroller, count]);
  return isPinned;
}

interface DependencyLinesProps {
  readonly waterfall: Waterfall;
  readonly axis: TimeAxis;
  readonly gutter: number;
  readonly moment: Moment;
  readonly height: number;
  readonly shown: readonly ShownRow[];
}

/** Lines from the end of an action to the actions that waited for it, between visible rows only. */
function DependencyLines({ waterfall, axis, gutter, moment, height, shown }: DependencyLinesProps) {
  const tops = new Map<string, number>();
  let path = '';
  for (const { index, top: start } of shown) {
    const row = waterfall.rows[index];
    if (row?.kind !== 'action') continue;
    tops.set(row.action.id, start);
    const began = row.attempts[0];
    for (const id of row.needs) {
      const top = tops.get(id);
      const end = waterfall.action(id)?.end;
      if (top === undefined || end === undefined || end.seq > moment.seq || end.at < row.at) continue;
      const x = gutter + axis.x(end.at);
      const to = began === undefined || began.seq > moment.seq ? x : gutter + axis.x(began.at);
      path += `M${x.toFixed(1)} ${top + ROW_HEIGHT - 7}V${start + ROW_HEIGHT / 2}H${to.toFixed(1)}`;
    }
  }
  return path === '' ? null : (
    <svg
      aria-hidden="true"
      className="pointer-events-none absolute top-0 left-0 z-[4] w-full overflow-visible"
      style={{ height }}
    >
      <path d={path} fill="none" stroke="var(--ink-faint)" strokeWidth={1} />
    </svg>
  );
}
