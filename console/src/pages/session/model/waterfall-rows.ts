import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import type { Json, JsonObject } from '../../../../../telltale/src/lib/json.ts';
import type { ActionStatus, DeclaredAction } from '../../../../../telltale/src/log/action.ts';
import type { Usage } from '../../../../../telltale/src/log/session-events.ts';

/** A position on the log: an event and its time. */
export interface Mark {
  readonly seq: number;
  readonly at: number;
}

export type TagKind = 'thought' | 'action' | 'metadata' | 'response' | 'fault';

/** Where something closed in the model's stream. `at` is when it was said, which may be before its event. */
export interface Tag extends Mark {
  readonly kind: TagKind;
  readonly label: string;
}

/** The model's stream of one turn. */
export interface TurnRow extends Mark {
  readonly kind: 'turn';
  readonly turn: number;
  /** Its index among the rows. */
  readonly index: number;
  readonly tokens: number;
  readonly tags: Tag[];
  /** The actions that it declared. */
  readonly actions: ActionRow[];
  /** The last part of its text that is on the log. */
  lastOutput?: Mark;
  end?: Mark & {
    /** When the model itself had ended. That is before `at` if its words waited for an action. */
    readonly spokeUntil: number;
    readonly firstTokenMs?: number;
    readonly usage?: Usage;
    readonly cost?: number;
    /** `interrupted`: its process ended, or a person stopped it. Nothing failed. */
    readonly finish: 'stop' | 'length' | 'cut' | 'failed' | 'interrupted';
    readonly error?: ErrorJson;
    readonly retryInMs?: number;
  };
}

export interface Attempt extends Mark {
  readonly attempt: number;
  readonly input: JsonObject;
  end?: Mark & { readonly error?: ErrorJson; readonly pauseMs?: number };
}

export interface AskedReview extends Mark {
  readonly review: string;
  end?: Mark & { readonly answer: string; readonly by: string };
}

export interface ActionEnd extends Mark {
  readonly status: Exclude<ActionStatus, 'waiting' | 'running' | 'compensated'>;
  readonly ms?: number;
  readonly output?: Json;
  readonly error?: ErrorJson;
  readonly reason?: string;
}

/** An action from its declaration to its end. */
export interface ActionRow extends Mark {
  readonly kind: 'action';
  readonly turn: number;
  readonly action: DeclaredAction;
  /** The ids of the actions that it waits for, because of `depends_on` or a `$name` in its parameters. */
  readonly needs: readonly string[];
  readonly attempts: Attempt[];
  readonly reviews: AskedReview[];
  /** For a sub-agent: its session, and when its turns and actions ended. */
  child?: string;
  readonly childMarks: (Mark & { readonly what: 'turn' | 'action' | 'metadata' | 'response' })[];
  end?: ActionEnd;
  undone?: Mark & { readonly by: string };
}

/** A workflow run that a trigger started. */
export interface RunRow extends Mark {
  readonly kind: 'run';
  readonly turn: number;
  readonly run: string;
  readonly workflow: string;
  readonly trigger: string;
  end?: Mark & {
    readonly status: 'completed' | 'failed' | 'cancelled';
    readonly output?: Json;
    readonly error?: ErrorJson;
    readonly reason?: string;
  };
}

export type WaterfallRow = TurnRow | ActionRow | RunRow;
