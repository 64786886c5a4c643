import { Panel, useReactFlow, useStore } from '@xyflow/react';
import { useEffect } from 'react';
import { IconButton } from '../../../ui/icon-button.tsx';

const FIT = { padding: 0.06, maxZoom: 1 };

/** Nearer, further, all of it. All of it is also what is shown when the room changes. */
export function GraphControls() {
  const { zoomIn, zoomOut, fitView } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  useEffect(() => {
    if (width > 0 && height > 0) void fitView(FIT);
  }, [width, height, fitView]);
  return (
    <Panel position="top-right" className="m-2! flex rounded-md border border-line bg-surface">
      <IconButton icon="plus" label="Zoom in" onClick={() => void zoomIn()} />
      <IconButton icon="minus" label="Zoom out" onClick={() => void zoomOut()} />
      <IconButton icon="fit" label="Show all of it" onClick={() => void fitView(FIT)} />
    </Panel>
  );
}
