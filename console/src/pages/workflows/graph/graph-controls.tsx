import { getViewportForBounds, Panel, useReactFlow, useStore } from '@xyflow/react';
import { useCallback, useEffect } from 'react';
import { IconButton } from '../../../ui/icon-button.tsx';
import { firstView, MIN_ZOOM, PADDING } from './first-view.ts';
import type { Size } from './layout-level.ts';

export interface GraphControlsProps extends Size {
  /** What is of most interest now: in view, where not all of it is. */
  readonly focus: { readonly x: number; readonly y: number } | undefined;
}

/** Nearer, further, all of it: edges and their labels, too. What is of interest stays in view when room or run change. */
export function GraphControls({ width, height, focus }: GraphControlsProps) {
  const { zoomIn, zoomOut, setViewport } = useReactFlow();
  const across = useStore((state) => state.width);
  const down = useStore((state) => state.height);
  const showAll = useCallback(() => {
    if (across === 0 || down === 0) return;
    const bounds = { x: 0, y: 0, width, height };
    void setViewport(getViewportForBounds(bounds, across, down, MIN_ZOOM, 1, PADDING));
  }, [across, down, width, height, setViewport]);
  const { x, y } = focus ?? { x: width / 2, y: 0 };
  useEffect(() => {
    if (across === 0 || down === 0) return;
    void setViewport(firstView({ width, height }, { width: across, height: down }, { x, y }));
  }, [across, down, width, height, x, y, setViewport]);
  return (
    <Panel position="top-right" className="m-2! flex rounded-md border border-line bg-surface">
      <IconButton icon="plus" label="Zoom in" onClick={() => void zoomIn()} />
      <IconButton icon="minus" label="Zoom out" onClick={() => void zoomOut()} />
      <IconButton icon="fit" label="Show all of it" onClick={showAll} />
    </Panel>
  );
}
