import type { ErrorJson } from '../../../kernel/runtime-error.ts';
import type { GraphStore } from '../../graph.ts';

/** What passes between a store's graphs and their thread. */

export type GraphOp = keyof GraphStore;
export type GraphArgs<Op extends GraphOp> = Parameters<GraphStore[Op]>;
export type GraphResult<Op extends GraphOp> = Awaited<ReturnType<GraphStore[Op]>>;

/** The same without promises: what the tables' own thread calls. */
export type GraphRows = { readonly [Op in GraphOp]: (...args: GraphArgs<Op>) => GraphResult<Op> };

export interface GraphRequest {
  readonly id: number;
  readonly op: GraphOp;
  readonly args: GraphArgs<GraphOp>;
}

export interface GraphSettings {
  /** The store's file; null in memory. */
  readonly path: string | null;
  readonly durability: 'power' | 'process';
  readonly lockTimeoutMs: number;
  readonly maxPages: number | null;
}

export type ToGraphThread =
  | { readonly kind: 'requests'; readonly requests: readonly GraphRequest[] }
  | { readonly kind: 'close' };

export type GraphReply =
  | { readonly id: number; readonly value: GraphResult<GraphOp> }
  | { readonly id: number; readonly error: ErrorJson };

export type FromGraphThread =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly error: ErrorJson }
  | { readonly kind: 'reply'; readonly reply: GraphReply };
