import type { Json, JsonObject } from '../kernel/json.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';

/** Timers, triggers, and the workflow runs that they or actions begin. */
export type TriggerEventBody =
  /** One of the same id that has not fired is replaced. `data`: what is to be known when it fires. */
  | { readonly type: 'timer.set'; readonly id: string; readonly due: number; readonly data?: Json }
  | { readonly type: 'timer.fired'; readonly id: string }
  | {
      readonly type: 'trigger.fired';
      /** `WORKFLOW#0`: which of the workflow's triggers. */
      readonly trigger: string;
      readonly workflow: string;
      /** The run that it starts: its stream is made once this is on the log. */
      readonly run: string;
      /** What `${trigger.*}` shows: its type, what matched, from and to. */
      readonly seen: JsonObject;
      /** The workflows that led here by setting each other off, this one last. */
      readonly chain: readonly string[];
    }
  | {
      readonly type: 'trigger.suppressed';
      readonly trigger: string;
      readonly workflow: string;
      /** `test`: its test could not be evaluated, and counts as false; told once until that changes. */
      readonly reason: 'depth' | 'cooldown' | 'busy' | 'over' | 'test';
      readonly message: string;
      readonly chain?: readonly string[];
    }
  /** How a run that this session set off or called has ended; its own log says the rest. `told`: the model hears of it. */
  | {
      readonly type: 'workflow.completed';
      readonly run: string;
      readonly workflow: string;
      readonly output: Json;
      readonly told?: true;
    }
  | {
      readonly type: 'workflow.failed';
      readonly run: string;
      readonly workflow: string;
      readonly error: ErrorJson;
      readonly told?: true;
    }
  | {
      readonly type: 'workflow.cancelled';
      readonly run: string;
      readonly workflow: string;
      readonly reason: string;
      readonly told?: true;
    }
  /** What a run asked of the session, under a key of its own: what follows from it comes next on the log. */
  | {
      readonly type: 'workflow.asked';
      readonly run: string;
      readonly workflow: string;
      readonly key: string;
      readonly what: 'set_metadata' | 'set_variable' | 'notify' | 'emit' | 'charge';
    };
