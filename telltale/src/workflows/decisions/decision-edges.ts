import type { RunJournal } from '../../engine/run-journal.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Artifacts, DecisionContext } from '../../targets/artifacts/artifacts.ts';
import type { Invocation, Invoke, Wanted } from '../../targets/artifacts/invoker.ts';
import type { Locals, Scope } from '../scope.ts';

export type Component = AgentManifest['components'][number];

export interface DecisionDeps {
  readonly journal: Pick<RunJournal, 'state' | 'append'>;
  readonly scope: Scope;
  readonly invoke: Invoke;
  readonly artifacts: Pick<Artifacts, 'read'>;
  /** The agent's, then the workflow's. */
  readonly components?: readonly Component[];
  /** What an artifact is given where a step is decided on; null: between steps. */
  readonly context: (step: string | null) => DecisionContext | Promise<DecisionContext>;
  /** Aborted once the walk has ended. */
  readonly hasEnded: () => AbortSignal;
}

/** Who asks an artifact, and about what. */
export interface Asker {
  /** For the log, and once in a run. */
  readonly where: string;
  /** The step that is decided on; null: between steps. */
  readonly step: string | null;
  /** What the `${…}` of the arguments see: items of loops, and the steps in reach of this address. */
  readonly locals: Locals;
  readonly at: string;
}

/** Asks an artifact about a place of the run, or its log, where it was asked before. */
export type Ask = <Answer>(asker: Asker, invocation: Invocation<Answer>, wanted: Wanted) => Promise<Answer>;

/** What is asked, for the log: `gate.should_continue`. */
export const nameOf = ({ invoke, method }: Pick<Invocation, 'invoke' | 'method'>): string =>
  `${invoke}.${method}`;
