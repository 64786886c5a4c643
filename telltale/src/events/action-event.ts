import type { Json, JsonObject } from '../kernel/json.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';
import type { DeclaredAction, SkipReason } from './action.ts';

/** What becomes of an action. */
export type ActionEventBody =
  | { readonly type: 'action.declared'; readonly action: DeclaredAction }
  | {
      readonly type: 'action.started';
      readonly id: string;
      readonly attempt: number;
      readonly input: JsonObject;
    }
  | {
      readonly type: 'action.completed';
      readonly id: string;
      readonly output: Json;
      readonly ms: number;
      readonly attempts: number;
    }
  | {
      readonly type: 'action.failed';
      readonly id: string;
      readonly error: ErrorJson;
      readonly ms: number;
      readonly attempts: number;
    }
  | {
      readonly type: 'action.skipped';
      readonly id: string;
      readonly reason: SkipReason;
      /** The dependency, or what is wrong with the test. */
      readonly because?: string;
    }
  | {
      readonly type: 'action.retrying';
      readonly id: string;
      readonly attempt: number;
      readonly error: ErrorJson;
      readonly delay_ms: number;
    }
  | { readonly type: 'action.cancelled'; readonly id: string; readonly reason: string }
  | { readonly type: 'action.interrupted'; readonly id: string; readonly attempt: number }
  | { readonly type: 'action.compensated'; readonly id: string; readonly by: string };
