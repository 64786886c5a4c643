import type { VerifyRecord } from '../../../events/run-event.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import type { StepOf } from '../../steps/leaf-edges.ts';
import type { WorkedAction } from '../task.ts';

/** Who judges, as a step's `verify` says. */
export type Verifier = NonNullable<StepOf<'task'>['verify']>;
export type ModelVerifier = Extract<Verifier, { readonly instructions: string }>;
export type ArtifactVerifier = Extract<Verifier, { readonly invoke: string }>;
export type CommandVerifier = Extract<Verifier, { readonly command: readonly string[] }>;

/** What is judged. */
export interface JudgedWork {
  /** Whether it is said to be done, or a turn of it is over. */
  readonly when: Verifier['when'];
  /** What was asked for. */
  readonly prompt: string;
  readonly notes?: string;
  readonly context_updates?: JsonObject;
  readonly artifacts?: readonly Json[];
  /** Ids of actions that are named as proof. */
  readonly evidence?: readonly string[];
  readonly turns: number;
  readonly actions: readonly WorkedAction[];
}

/** What a verifier says. `fallback`: why it counts although it did not say so. */
export type Verdict = Omit<VerifyRecord, 'step' | 'attempt' | 'nth' | 'ms'>;

/** Of what is put on the log and told to the agent. */
const MAX_SAID = 4_000;

export const said = (text: string): string => {
  const trimmed = text.trim();
  return trimmed.length > MAX_SAID ? `${trimmed.slice(0, MAX_SAID)}…` : trimmed;
};

/** Nobody has judged it: a person has to. */
export const unjudged = (by: string, why: string): Verdict => ({
  by,
  assessment: 'escalate',
  reasoning: 'It was not judged.',
  fallback: said(why),
});

/** What is judged, as JSON for programs and artifacts. */
export const judgedJson = ({ actions, artifacts, evidence, ...rest }: JudgedWork): JsonObject => ({
  ...rest,
  ...(artifacts === undefined ? {} : { artifacts: [...artifacts] }),
  ...(evidence === undefined ? {} : { evidence: [...evidence] }),
  actions: actions.map((action) => ({ ...action })),
});
