import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { createGraphBuilder } from './graph-builder.ts';
import { drawStates } from './state-graph.ts';
import { drawSteps } from './step-graph.ts';
import type { WorkflowGraph } from './workflow-graph.ts';

/** The graph of a checked workflow. Pure; the same manifest gives the same graph. */
export function graphOf(workflow: WorkflowManifest): WorkflowGraph {
  const builder = createGraphBuilder();
  if (workflow.states === undefined) {
    const start = builder.node('start', '', [], undefined);
    const { entries, exits } = drawSteps(workflow.steps ?? [], builder, undefined);
    const end = builder.node('end', '', [], undefined);
    for (const entry of entries) builder.edge({ from: start }, entry);
    for (const exit of exits) builder.edge(exit, end);
    if (entries.length === 0) builder.edge({ from: start }, end);
  } else drawStates(workflow, builder);
  const { nodes, groups, edges } = builder;
  return {
    workflow: workflow.name,
    ...(workflow.description === undefined ? {} : { description: workflow.description }),
    nodes,
    groups,
    edges,
  };
}
