import type { ProviderPart } from '../lib/calls.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';

/** Tokens of one or more requests. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  /** Input tokens that the provider had in its cache. */
  readonly cached?: number;
  /** Output tokens that were reasoning. */
  readonly reasoning?: number;
  /** true where the provider gave no figures and they were counted here. */
  readonly estimated?: true;
}

/** What stands before and beside the messages of a prompt, as hashes. */
export interface PromptFrame {
  /** Of all three: the hash of a prompt begins with it. */
  readonly hash: string;
  /** Of each part, shorter: only to see which one differs. */
  readonly system: string;
  readonly tools: string;
  readonly options: string;
}

/** What a model was asked, what it said, and what was wrong with that. */
export type TurnEventBody =
  | {
      readonly type: 'turn.started';
      readonly prompt: {
        readonly tokens: number;
        readonly reused_prefix: number;
        /** Of what was sent: messages, tools and options. Absent on logs of earlier versions. */
        readonly hash?: string;
        /** Absent where it is that of the turn before, and on logs of earlier versions. */
        readonly frame?: PromptFrame;
      };
      /** Actions that the turn before stopped waiting for: nobody waits for them any more. Absent where there is none. */
      readonly background?: readonly string[];
      /** The fallback model that is asked. Absent where it is the session's own. */
      readonly model?: string;
    }
  | {
      readonly type: 'turn.completed';
      readonly usage: Usage;
      readonly cost_usd: number;
      readonly ms: number;
      readonly first_token_ms: number;
      /** Why the stream ended: by itself, at its longest, or cut by the runtime. */
      readonly finish: 'stop' | 'length' | 'cut';
    }
  | {
      readonly type: 'turn.failed';
      readonly error: ErrorJson;
      /** Milliseconds until the next turn begins; absent where none will. */
      readonly retry_in?: number;
      /** It failed before its first character: the same request is made again, as the same turn. */
      readonly again?: true;
      /** The fallback model that the request is made to next. */
      readonly fallback?: string;
      /** The prompt did not fit: the tokens that the model can read, and what the prompt came to at the least. */
      readonly exceeded?: { readonly window: number; readonly tokens: number };
      /** Only in logs of earlier versions: how many characters of what it said the model was shown, where not all. */
      readonly kept?: number;
      /** The `<parallel>`s that it broke off in: they do not succeed. */
      readonly groups?: readonly string[];
      readonly usage?: Usage;
      readonly cost_usd?: number;
    }
  | {
      readonly type: 'model.output';
      readonly offset: number;
      readonly text: string;
      /** What the provider wants back with this text: signed reasoning, signatures. Absent where it wants nothing. */
      readonly parts?: readonly ProviderPart[];
    }
  | { readonly type: 'thought'; readonly text: string; readonly depth: number }
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'response';
      readonly text: string;
      readonly final: boolean;
      /**
       * Of a final response that does not count yet: the actions of its turn whose results the model had not seen. An
       * empty final response confirms it.
       */
      readonly held?: readonly string[];
    }
  | {
      readonly type: 'fault';
      readonly code: string;
      readonly message: string;
      /** The `<parallel>`s in which it kept something from acting: they do not succeed. */
      readonly groups?: readonly string[];
    }
  | { readonly type: 'if.decided'; readonly test: string; readonly held: boolean; readonly problem?: string }
  | {
      readonly type: 'prompt.compacted';
      /** The last turn that the summary stands for. */
      readonly through: number;
      readonly summary: string;
      readonly usage?: Usage;
      readonly cost_usd?: number;
      /** Tokens of feeds' values that are shown again behind the summary at the most; all of them if absent. */
      readonly feed_tokens?: number;
    };

/** A field of metadata that did not count, as the model hears of it. */
export interface FieldError {
  readonly field: string;
  readonly code: string;
  /** What was sent, cut to a bounded size. */
  readonly sent: Json;
  readonly message: string;
  readonly allowed: string;
}

export type VariableClass = 'defined' | 'runtime' | 'derived';

/** What metadata and variables have become. */
export type ValueEventBody =
  | {
      readonly type: 'metadata.changed';
      /** Empty where an update said what was so already, and somebody has to hear of it. */
      readonly changes: Readonly<Record<string, { readonly from: Json; readonly to: Json }>>;
      readonly by: string;
      /** The workflow run that asked for it. */
      readonly run?: string;
    }
  | { readonly type: 'metadata.rejected'; readonly errors: readonly FieldError[]; readonly by: string }
  | {
      readonly type: 'variable.changed';
      readonly name: string;
      readonly class: VariableClass;
      readonly from: Json;
      readonly to: Json;
      readonly by: string;
      /** The workflow run that asked for it. */
      readonly run?: string;
    };

/** What a run gives an agent to do. */
export interface GivenTask {
  /** Of the run, unique. No prompt ever holds it. */
  readonly task: string;
  readonly prompt: string;
  readonly requires?: Readonly<Record<string, JsonObject>>;
  readonly accepts?: Readonly<Record<string, JsonObject>>;
  readonly evidence?: readonly string[];
  readonly max_turns?: number;
  readonly judged?: true;
  /** Whether a verifier or a person decides on its completion. */
  readonly checked?: true;
}

/** How a session stands with the task that its run has given it. */
export type TaskEventBody =
  | ({ readonly type: 'task.given' } & GivenTask)
  /** The agent says that the task is done: `action` is its `complete_step`. */
  | {
      readonly type: 'task.claimed';
      readonly task: string;
      /** Counts the reports of a task from 1 on: what is answered is one of them. */
      readonly nth: number;
      readonly action: string;
      readonly notes: string;
      readonly context_updates?: JsonObject;
      readonly artifacts?: readonly Json[];
      readonly evidence?: readonly string[];
    }
  /** It repeats itself or changes nothing. Told once to the agent; the second time it is reported as `nth`. */
  | { readonly type: 'task.stuck'; readonly task: string; readonly nth?: number; readonly why: string }
  /** A turn was reported, where each is judged. */
  | { readonly type: 'task.turn'; readonly task: string; readonly nth: number }
  /** The answer to the report `nth`; with `text` the agent goes on with it. */
  | {
      readonly type: 'task.answered';
      readonly task: string;
      readonly nth: number;
      readonly text?: string;
      readonly by: string;
    }
  /** The step has ended: another task follows, or none. */
  | { readonly type: 'task.over'; readonly task: string };
