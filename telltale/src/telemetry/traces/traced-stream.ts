import type { ModelName } from '../model-name.ts';
import type { OpenSpan } from './open-span.ts';

/** What is open of a session. */
export interface TracedSession {
  readonly kind: 'session';
  size: number;
  readonly root: string;
  readonly traceId: string;
  readonly agent: string;
  readonly model: ModelName | undefined;
  /** The enum fields of its metadata. */
  readonly states: readonly string[];
  readonly span: OpenSpan;
  /** Whether it was taken up in the middle of its life: not all that is open in it has been seen. */
  resumed: boolean;
  turn: OpenSpan | undefined;
  /** What the model has said in the turn, where contents are told. */
  said: string;
  readonly actions: Map<string, TracedAction>;
  readonly used: { turns: number; input: number; output: number; cost: number };
}

export interface TracedAction {
  /** From its declaration on; its first start makes another of it. */
  span: OpenSpan;
  readonly declaredAt: number;
  attempts: number;
}

/** What is open of a run. */
export interface TracedRun {
  readonly kind: 'run';
  size: number;
  readonly root: string;
  readonly traceId: string;
  readonly workflow: string;
  readonly span: OpenSpan;
  resumed: boolean;
  readonly steps: Map<string, OpenSpan>;
}

export type TracedStream = TracedSession | TracedRun;
