import { getViewportForBounds, Panel, useReactFlow, useStore } from '@xyflow/react';
import { useCallback, useEffect } from 'react';
import { IconButton } from '../../../ui/icon-button.tsx';
import type { Size } from './layout-level.ts';

const MIN_ZOOM = 0.1;
const PADDING = 0.05;

/** Nearer, further, all of it: edges and their labels, too. All of it is also what is shown when the room changes. */
export function GraphControls({ width, height }: Size) {
  const { zoomIn, zoomOut, setViewport } = useReactFlow();
  const across = useStore((state) => state.width);
  const down = useStore((state) => state.height);
  const showAll = useCallback(() => {
    if (across === 0 || down === 0) return;
    const bounds = { x: 0, y: 0, width, height };
    void setViewport(getViewportForBounds(bounds, across, down, MIN_ZOOM, 1, PADDING));
  }, [across, down, width, height, setViewport]);
  useEffect(showAll, [showAll]);
  return (
    <Panel position="top-right" className="m-2! flex rounded-md border border-line bg-surface">
      <IconButton icon="plus" label="Zoom in" onClick={() => void zoomIn()} />
      <IconButton icon="minus" label="Zoom out" onClick={() => void zoomOut()} />
      <IconButton icon="fit" label="Show all of it" onClick={showAll} />
    </Panel>
  );
}
