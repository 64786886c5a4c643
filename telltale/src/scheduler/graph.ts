import type { SkipReason } from '../events/action.ts';
import { NOTHING } from '../kernel/grow.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';

/** An action that has not ended. Ended ones live on in the folded state only. */
export interface ActionNode {
  readonly kind: 'action';
  readonly id: string;
  phase: 'waiting' | 'ready' | 'ended';
  /** How much it waits for: open dependencies, ids not seen yet, a name, the end of its turn. */
  waiting: number;
  /** What it waited for when it was bound; some of it may have ended since. */
  readonly waitsFor: Node[];
  readonly dependents: ActionNode[];
  /** The collections it belongs to. */
  readonly gates: readonly Gate[];
  /** Whether it makes the members of its gates and is none of them: a `<foreach>`. */
  readonly makesMembers: boolean;
}

/**
 * Several actions under one id: a `<parallel>`, or what a `<foreach>` made of one action. It succeeds when it is sealed
 * and all its members have succeeded; it fails with the first of them. Gates last as long as the session: later turns
 * may name them.
 */
export interface Gate {
  readonly kind: 'gate';
  readonly id: string;
  /** `outside`: what is still being loaded by somebody else, and has no members. */
  readonly of: 'parallel' | 'foreach' | 'outside';
  /** Ids of members, in the order in which they joined: actions, and gates of a `<foreach>` in a `<parallel>`. */
  readonly members: string[];
  readonly open: Set<Node>;
  /** Whether no further member can come. */
  sealed: boolean;
  /** The failure that made it fail. */
  failedBy: string | undefined;
  /** Of `outside`: why it could not be had. */
  error?: ErrorJson | undefined;
  readonly dependents: ActionNode[];
  readonly gates: readonly Gate[];
}

export type Node = ActionNode | Gate;

/** What is open in a session. Owned and changed in place by whoever holds it; `core.ts` has the transitions. */
export interface Graph {
  nodes: ReadonlyMap<string, ActionNode>;
  // Each of the others is made when it gets its first entry: most sessions need none of them, at 170 bytes each.
  gates: Map<string, Gate> | undefined;
  /** Ids that somebody waits for and nobody has declared. */
  unseen: Map<string, ActionNode[]> | undefined;
  /** Actions that wait for a name to stand for something, by that name: until their turn has ended at the latest. */
  unnamed: Map<string, ActionNode[]> | undefined;
  /** Actions that wait for the end of their turn. */
  held: Set<ActionNode> | undefined;
  /** The ids and names among those two, by who waits for them. */
  lacking: Map<ActionNode, Set<string>> | undefined;
  /** What is above another in it has no higher level; who is not in here has 0. See `cycles.ts`. */
  levels: Map<Node, number> | undefined;
  /** What was found out in this turn: the action above that waits for its end, or undefined for what is free. See `blocked.ts`. */
  roots: Map<Node, ActionNode | undefined> | undefined;
  /** Parallels that may still get members. */
  unsealed: Set<Gate> | undefined;
  /** What the stream waits for, or waited for last in this turn: a sync action, or a parallel that has closed. */
  holder: Node | undefined;
}

export const createGraph = (): Graph => ({
  // A copy: docs/decisions/copies.md
  nodes: NOTHING,
  gates: undefined,
  unseen: undefined,
  unnamed: undefined,
  held: undefined,
  lacking: undefined,
  levels: undefined,
  roots: undefined,
  unsealed: undefined,
  holder: undefined,
});

/** Why an action can never start. */
export type Deadlock =
  | { readonly kind: 'cycle'; readonly path: readonly string[] }
  /** Whoever waits for it holds up the stream that would have to bring `id`, or what has that name. */
  | { readonly kind: 'unseen'; readonly id: string }
  /** The same with `id`, an action that starts when the turn has ended. */
  | { readonly kind: 'turn_end'; readonly id: string };

/** What follows from a transition, in the order in which it belongs on the log. */
export type Change =
  | { readonly kind: 'ready'; readonly node: ActionNode }
  | {
      readonly kind: 'skip';
      readonly node: ActionNode;
      readonly reason: Exclude<SkipReason, 'if' | 'deadlock'>;
      readonly because?: string;
    }
  | { readonly kind: 'deadlock'; readonly node: ActionNode; readonly why: Deadlock }
  /** All members have ended. */
  | { readonly kind: 'closed'; readonly gate: Gate };

export const isClosed = (gate: Gate): boolean => gate.sealed && gate.open.size === 0;

/** Whether a dependency on `node` is still undecided. */
export const isPending = (node: Node): boolean =>
  node.kind === 'action' ? node.phase !== 'ended' : node.failedBy === undefined && !isClosed(node);
