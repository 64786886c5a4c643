import { ReactFlow } from '@xyflow/react';
import { useMemo } from 'react';
import type { ApiGraph } from '../../../../../telltale/src/client/api.ts';
import { plural } from '../../../format/format-number.ts';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { drawnGraph, MAX_NODES } from './drawn-graph.ts';
import { GraphControls } from './graph-controls.tsx';
import { GraphEdge } from './graph-edge.tsx';
import { GraphMarkers } from './graph-markers.tsx';
import { GraphNode } from './graph-node.tsx';
import { GroupBox } from './group-box.tsx';
import { type GraphLayout, layoutGraph } from './layout-graph.ts';
import type { RunPosition } from './run-position.ts';
import { type GraphNodeInfo, toFlow } from './to-flow.ts';
import '@xyflow/react/dist/base.css';
import './workflow-graph.css';

export interface WorkflowGraphProps {
  readonly graph: ApiGraph;
  readonly position?: RunPosition | undefined;
  /** The name of the step or state that is looked at. */
  readonly chosen?: string | undefined;
  readonly onChoose?: (node: GraphNodeInfo) => void;
}

const NODE_TYPES = { box: GraphNode, 'group-box': GroupBox };
const EDGE_TYPES = { way: GraphEdge };
const ignore = () => undefined;

/** Where the run is: what is under way before what failed. */
function focusOf({ nodes }: GraphLayout, position: RunPosition | undefined) {
  const isIn = (...wanted: readonly string[]) =>
    nodes.find(({ id }) => wanted.includes(position?.marks.get(id)?.status ?? ''));
  const node = isIn('running', 'waiting') ?? isIn('failed');
  return node === undefined ? undefined : { x: node.x + node.width / 2, y: node.y + node.height / 2 };
}

/** A workflow as its manifest has it, to pan and zoom, with where a run is. Scrolling scrolls the page. */
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
