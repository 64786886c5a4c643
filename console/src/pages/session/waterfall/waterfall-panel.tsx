import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react';
import { timeSavedText } from '../../../../../telltale/src/log/time-saved.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { Kbd } from '../../../ui/kbd.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { useMedia } from '../../../ui/use-media.ts';
import { useSessionView } from '../session-view.ts';
import { END_ROOM, rowsUntil } from './layout.ts';
import { useZoom } from './use-zoom.ts';
import { WaterfallRows } from './waterfall-rows.tsx';

const WIDE_GUTTER = 212;
const NARROW_GUTTER = 116;
const STEP = 1.5;

/** The waterfall: each turn is a bar of what the model said, with its actions below it, from declaration to end. */
export function WaterfallPanel({ className }: { readonly className?: string }) {
  const { model, moment, isLive } = useSessionView();
  const { waterfall } = model;
  const gutter = useMedia('(min-width: 40rem)') ? WIDE_GUTTER : NARROW_GUTTER;
  const scroller = useRef<HTMLDivElement>(null);
  // Rows look up the element in which they scroll when they mount, so it must exist first.
  const [isReady, setReady] = useState(false);
  const attach = useCallback((element: HTMLDivElement | null) => {
    scroller.current = element;
    setReady(element !== null);
  }, []);
  const { width } = useSize(scroller);
  const span = {
    start: waterfall.start,
    end: Math.max(isLive ? moment.at : waterfall.end, waterfall.start + 1),
    gaps: waterfall.gaps,
  };
  const zoom = useZoom(span, { scroller, gutter, width: Math.max(60, width - gutter - END_ROOM) });
  const count = rowsUntil(waterfall.rows, moment.seq);
  return (
    <Panel
      title="Waterfall"
      actions={
        <>
          <SavingLine />
          <Legend />
          <IconButton icon="minus" label="Zoom out (-)" onClick={() => zoom.by(1 / STEP)} />
          <IconButton icon="plus" label="Zoom in (+)" onClick={() => zoom.by(STEP)} />
          <IconButton icon="fit" label="Fit everything (0)" pressed={zoom.isFit} onClick={zoom.fit} />
        </>
      }
      bodyClassName="relative flex min-h-0"
      {...(className === undefined ? {} : { className })}
    >
      <div ref={attach} className="min-h-0 flex-1 overflow-auto rounded-b-lg" tabIndex={-1}>
        {count === 0 ? <EmptyState icon="activity" title="No turn has started." /> : null}
        {count === 0 || !isReady ? null : (
          <WaterfallRows scroller={scroller} count={count} gutter={gutter} zoom={zoom} width={width} />
        )}
      </div>
    </Panel>
  );
}

/** The inner size of an element, kept up to date. */
function useSize(element: RefObject<HTMLElement | null>): {
  readonly width: number;
  readonly height: number;
} {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    const measure = () => setSize({ width: current.clientWidth, height: current.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

/** The time saved by starting actions early. Nothing if none was saved. */
function SavingLine() {
  const { model, moment } = useSessionView();
  const text = timeSavedText(model.timeSaved.at(moment.seq));
  if (text === undefined) return null;
  return (
    <p
      title={text}
      className="mr-1 hidden min-w-0 flex-[5_1_0] items-center justify-end gap-1.5 text-small text-ink-soft sm:flex"
    >
      <Icon name="bolt" size={13} className="text-accent" />
      <span className="truncate">{text}</span>
    </p>
  );
}

const BARS: readonly (readonly [look: string, what: string])[] = [
  ['h-4 wf-speech rounded-sm', 'The model writes its response'],
  ['h-2.5 wf-held', 'The response waits for an action'],
  ['h-4 wf-while wf-while-over', 'Actions that start here did not wait for the response to end'],
  ['h-3 rounded-[3px] wf-done', 'An action ran and completed'],
  ['h-3 rounded-[3px] wf-running', 'An action runs'],
  ['h-3 rounded-[3px] wf-failed', 'An attempt failed'],
  ['h-3 wf-wait wf-wait-dependency', 'Waits for another action'],
  ['h-3 wf-wait wf-wait-queue', 'Waits for a free slot'],
  ['h-3 wf-wait-review', 'Waits for a person'],
  ['h-3 wf-wait wf-wait-retry', 'Pauses before the next attempt'],
  ['h-3 rounded-full wf-run', 'A workflow run'],
  ['h-4 wf-gap', 'Idle time, left out'],
];
const TAGS: readonly (readonly [kind: string, shape: string, what: string])[] = [
  ['thought', 'M8 8m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0', 'A thought'],
  ['action', 'M8 8m-4.2 -3.4h8.4l-4.2 7.6z', 'The model asked for an action'],
  ['metadata', 'M8 8m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z', 'The agent declared a state'],
  ['response', 'M8 8m-3.4 -3.4h6.8v6.8h-6.8z', 'A response'],
  ['fault', 'M8 8m-3.4 -3.4l6.8 6.8m0 -6.8l-6.8 6.8', 'A soft error'],
];

/** The meaning of the shapes, and the keys. */
function Legend() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="info" label="What the shapes mean" onClick={() => setOpen(true)} />
      <Dialog title="The waterfall" open={open} onClose={() => setOpen(false)}>
        <ul className="flex flex-col gap-2 text-small">
          {TAGS.map(([kind, shape, what]) => (
            <li key={kind} className="flex items-center gap-3">
              <svg aria-hidden="true" width={64} height={16} className="shrink-0">
                <rect x={0} y={2} width={64} height={12} rx={2} fill="var(--accent)" opacity={0.85} />
                <path d={shape} transform="translate(24 0)" className={`wf-tag wf-tag-${kind}`} />
              </svg>
              {what}
            </li>
          ))}
          {BARS.map(([look, what]) => (
            <li key={what} className="flex items-center gap-3">
              <span className={`w-16 shrink-0 ${look}`} />
              {what}
            </li>
          ))}
        </ul>
        <p className="mt-4 text-small text-ink-soft">
          <Kbd>↑</Kbd> <Kbd>↓</Kbd> rows, <Kbd>←</Kbd> <Kbd>→</Kbd> time, <Kbd>+</Kbd> <Kbd>-</Kbd> or Ctrl
          and the wheel zoom, <Kbd>0</Kbd> all of it, <Kbd>Enter</Kbd> opens the event.
        </p>
      </Dialog>
    </>
  );
}
