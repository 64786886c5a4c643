import { useCallback, useRef, useState } from 'react';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { useMedia } from '../../../ui/use-media.ts';
import { useSessionView } from '../session-view.ts';
import { END_ROOM, rowsUntil } from './layout.ts';
import { Legend } from './legend.tsx';
import { SavingLine } from './saving-line.tsx';
import { useSize } from './use-size.ts';
import { useZoom } from './use-zoom.ts';
import { WaterfallRows } from './waterfall-rows.tsx';

const WIDE_GUTTER = 212;
const NARROW_GUTTER = 116;
const STEP = 1.5;

/** The signature: what the model said as one bar for each turn, and under it every action from its declaration to its end. */
export function WaterfallPanel({ className }: { readonly className?: string }) {
  const { model, moment, isLive } = useSessionView();
  const { waterfall } = model;
  const gutter = useMedia('(min-width: 40rem)') ? WIDE_GUTTER : NARROW_GUTTER;
  const scroller = useRef<HTMLDivElement>(null);
  // Rows look at what they scroll in as soon as they are there: it has to be there first.
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
          <IconButton icon="fit" label="Fit all of it (0)" pressed={zoom.isFit} onClick={zoom.fit} />
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
