import type { Cause } from '../../events/event.ts';
import type { HookRecord } from '../../events/hook-record.ts';
import type { InvokeRecord } from '../../kernel/invoke-record.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { ErrorJson, RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';

export type HookKind = HookRecord['hook'];

/** `hooks` of an agent, of a workflow or of a step: all have the same shape. */
export type HookLists = AgentManifest['hooks'];

/** One entry of a list: an invocation or a command. */
export type Hook = HookLists['before_action'][number];

/** A hook, and whose it is. */
export interface PlacedHook {
  readonly hook: Hook;
  readonly of: string;
  readonly index: number;
}

/** A call that hooks are asked about: an action of a session, or a step of a run. */
export interface HookedCall {
  /** The action's id, or the step's address. */
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly parameters: JsonObject;
  readonly cause?: Cause | undefined;
  readonly signal: AbortSignal;
}

/** What a hook is told of its surroundings, beside the call. */
export interface HookSurroundings {
  readonly agent: string;
  readonly session?: string;
  readonly run?: string;
  readonly turn?: number;
  readonly metadata: JsonObject;
  readonly variables: JsonObject;
}

/** What a hook is asked about. */
export interface HookMatter {
  /** The turn that is to begin, where it is that. */
  readonly turn?: number;
  readonly action?: Pick<HookedCall, 'id' | 'kind' | 'name' | 'parameters'>;
  readonly result?: Json;
  readonly error?: ErrorJson;
}

/** What hooks put on the log of a session or of a run. */
export type HookEvent =
  | ({ readonly type: 'hook.ran' } & HookRecord)
  | ({ readonly type: 'invoke' } & InvokeRecord)
  | {
      readonly type: 'budget.charged';
      readonly what: 'artifact';
      readonly amount: number;
      readonly balance: number;
    };

/** What is wrong with parameters, by the target's own schema. */
export type CheckParameters = (parameters: JsonObject) => RuntimeError | undefined;

export function hasHooks(lists: HookLists | undefined): boolean {
  for (const kind in lists) if ((lists[kind as keyof HookLists]?.length ?? 0) > 0) return true;
  return false;
}
