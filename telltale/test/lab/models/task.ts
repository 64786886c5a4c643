import type { AgentDefinition } from '../../../src/agent/define/define-agent.ts';
import type { DefinedWorkflow } from '../../../src/agent/define/definitions.ts';
import type { Move } from './move.ts';
import type { View } from './view.ts';

export type AgentSections = Omit<AgentDefinition<undefined>, 'name' | 'model' | 'dialect'>;

/** What somebody says while the session is at work. */
export interface Conversation {
  /** The request before whose answer the user interrupts, and with what. */
  readonly steer: { readonly atRequest: number; readonly text: string };
  /** Said once the first answer is complete. */
  readonly next: string;
}

/** One task, with the facts that this run of it has. */
export interface Task {
  readonly input: string;
  readonly agent: AgentSections;
  readonly workflow?: DefinedWorkflow<unknown>;
  readonly files: Readonly<Record<string, string>>;
  readonly conversation?: Conversation;
  /** What a faultless model does next. Knows the task, and of this run only what the view shows. */
  readonly policy: (view: View) => Move;
  /** Requests that a faultless model needs. */
  readonly turns: number;
  /** The answer, or one answer for each exchange of a conversation. */
  readonly answers: readonly string[];
  /** Files that are not as they were, at the end. */
  readonly changed: Readonly<Record<string, string>>;
  /** What a model would guess that has not seen anything. */
  readonly guess: string;
  /** What a page asks the model to say, where the task has such a page. */
  readonly bait?: { readonly seen: RegExp; readonly command: string };
}

/** Makes words that occur nowhere else: of a name always the same in one run, and another in each run. */
export type Nonce = (name: string) => string;

export interface TaskKind {
  readonly name: string;
  readonly make: (nonce: Nonce) => Task;
}
