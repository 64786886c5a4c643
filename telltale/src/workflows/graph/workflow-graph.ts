/** What a workflow looks like, as data: for Mermaid, for SVG, for a page that draws it. */
export interface WorkflowGraph {
  readonly workflow: string;
  readonly description?: string;
  readonly nodes: readonly GraphNode[];
  readonly groups: readonly GraphGroup[];
  readonly edges: readonly GraphEdge[];
}

/**
 * `start` and `end` are where a run begins and ends. A `split` is the place at which a step with steps inside begins to
 * work: its group bears the step's name.
 */
export type NodeKind = 'start' | 'end' | 'state' | 'final' | 'step' | 'split';

export interface GraphNode {
  /** Letters and digits only, unique in the graph; the same for the same manifest. */
  readonly id: string;
  readonly kind: NodeKind;
  /** The step's or state's name, as the manifest has it; empty for the start and the end. */
  readonly name: string;
  /** What else is to be known of it, a line each. */
  readonly lines: readonly string[];
  /** The group that it stands in. */
  readonly group?: string;
}

/** A step that has steps inside. */
export interface GraphGroup {
  readonly id: string;
  readonly name: string;
  /** The type of the step. */
  readonly type: string;
  readonly group?: string;
}

/** `error`: taken when something fails. `open`: may be taken, an artifact decides. `back`: to what came before. */
export type EdgeKind = 'next' | 'error' | 'open' | 'back';

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: EdgeKind;
  readonly label?: string;
}
