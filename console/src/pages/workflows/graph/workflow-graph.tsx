import {
  BaseEdge,
  EdgeLabelRenderer,
  type EdgeProps,
  getViewportForBounds,
  type NodeProps,
  Panel,
  ReactFlow,
  useReactFlow,
  useStore,
} from '@xyflow/react';
import { useCallback, useEffect, useMemo } from 'react';
import type { ApiGraph } from '../../../../../telltale/src/client/api.ts';
import { plural } from '../../../format/format-number.ts';
import { cx } from '../../../ui/class-names.ts';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { drawnGraph, MAX_NODES } from './drawn-graph.ts';
import { firstView, MIN_ZOOM, PADDING } from './first-view.ts';
import { GraphNode } from './graph-node.tsx';
import { type GraphLayout, layoutGraph } from './layout-graph.ts';
import type { Size } from './layout-level.ts';
import { MARK_LOOKS } from './mark-looks.ts';
import type { RunPosition } from './run-position.ts';
import { labelText } from './text-size.ts';
import { type DrawnEdge, type DrawnGroup, type GraphNodeInfo, toFlow } from './to-flow.ts';
import '@xyflow/react/dist/base.css';
import './workflow-graph.css';

export interface WorkflowGraphProps {
  readonly graph: ApiGraph;
  readonly position?: RunPosition | undefined;
  /** The name of the selected step or state. */
  readonly chosen?: string | undefined;
  readonly onChoose?: (node: GraphNodeInfo) => void;
}

const NODE_TYPES = { box: GraphNode, 'group-box': GroupBox };
const EDGE_TYPES = { way: GraphEdge };
const ignore = () => undefined;

/** Where the run is. What is running takes precedence over what failed. */
function focusOf({ nodes }: GraphLayout, position: RunPosition | undefined) {
  const isIn = (...wanted: readonly string[]) =>
    nodes.find(({ id }) => wanted.includes(position?.marks.get(id)?.status ?? ''));
  const node = isIn('running', 'waiting') ?? isIn('failed');
  return node === undefined ? undefined : { x: node.x + node.width / 2, y: node.y + node.height / 2 };
}

/**
 * A workflow as its manifest defines it, with the position of a run. It can be panned and zoomed. Scrolling scrolls the
 * page.
 */
export function WorkflowGraph({ graph: whole, position, chosen, onChoose }: WorkflowGraphProps) {
  const { graph, note } = useMemo(() => drawnGraph(whole), [whole]);
  const isDrawn = graph.nodes.length <= MAX_NODES;
  const layout = useMemo(() => (isDrawn ? layoutGraph(graph) : undefined), [graph, isDrawn]);
  const flow = useMemo(
    () => (layout === undefined ? undefined : toFlow(graph, layout, { position, chosen, onChoose })),
    [graph, layout, position, chosen, onChoose],
  );
  if (flow === undefined || layout === undefined)
    return (
      <EmptyState icon="workflows" title="This graph is too large to draw.">
        It has {plural(graph.nodes.length, 'box', 'boxes')}; {MAX_NODES} are drawn at the most.
      </EmptyState>
    );
  return (
    <div className="workflow-graph relative size-full">
      <GraphMarkers />
      <ReactFlow
        aria-label={`Graph of ${graph.workflow}: ${plural(graph.nodes.length, 'box', 'boxes')}`}
        nodes={[...flow.nodes]}
        edges={[...flow.edges]}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={ignore}
        minZoom={0.1}
        maxZoom={1.75}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        preventScrolling={false}
        proOptions={{ hideAttribution: true }}
      >
        <GraphControls width={layout.width} height={layout.height} focus={focusOf(layout, position)} />
      </ReactFlow>
      {note === undefined ? null : (
        <p className="absolute bottom-2 left-3 text-small text-ink-faint">{note}</p>
      )}
    </div>
  );
}
const ARROWS = [
  ['plain', 'var(--line-strong)'],
  ['error', 'var(--fail)'],
  ['taken', 'var(--done)'],
] as const;

/** The arrowheads, by the kind of edge. */
const GraphMarkers = () => (
  <svg aria-hidden="true" className="absolute size-0">
    <defs>
      {ARROWS.map(([name, color]) => (
        <marker
          key={name}
          id={`arrow-${name}`}
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          markerUnits="userSpaceOnUse"
          orient="auto-start-reverse"
        >
          <path d="M0 0.5 7.5 4 0 7.5z" fill={color} />
        </marker>
      ))}
    </defs>
  </svg>
);

/** A step that contains steps. */
function GroupBox({ data: { name, type, mark } }: NodeProps<DrawnGroup>) {
  const look = mark === undefined ? undefined : MARK_LOOKS[mark.status];
  return (
    <div
      className={cx(
        'size-full rounded-lg border border-dashed bg-sunken/60 px-3 py-1.5',
        look === undefined ? 'border-line-strong' : look.border,
      )}
    >
      <p className="flex items-center gap-1.5 text-small text-ink-soft">
        <span className="truncate font-semibold text-ink">{name}</span>
        <span>{type}</span>
        {look === undefined ? null : (
          <span className={cx('ml-auto', look.ink)}>
            <Icon name={look.icon} size={14} className={mark?.status === 'running' ? 'animate-turn' : ''} />
            <span className="sr-only">{look.label}</span>
          </span>
        )}
      </p>
    </div>
  );
}

const DASHES: Readonly<Record<NonNullable<DrawnEdge['data']>['kind'], string | undefined>> = {
  next: undefined,
  back: undefined,
  error: '6 4',
  open: '2 4',
};

/** An edge: dashed after a failure, dotted if an artifact may choose it, bold if the run took it. */
function GraphEdge({ data }: EdgeProps<DrawnEdge>) {
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

interface GraphControlsProps extends Size {
  /** The point to keep in view if the whole graph does not fit. */
  readonly focus: { readonly x: number; readonly y: number } | undefined;
}

/**
 * Zooms in, zooms out, or shows everything, including edges and labels. The point of interest stays in view when the
 * viewport or the run changes.
 */
function GraphControls({ width, height, focus }: GraphControlsProps) {
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
      <IconButton icon="fit" label="Fit the graph" onClick={showAll} />
    </Panel>
  );
}
