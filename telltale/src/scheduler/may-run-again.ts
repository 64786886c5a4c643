import type { JsonObject } from '../kernel/json.ts';
import type { TargetTraits } from './edges.ts';

/** Whether a call may be made twice: then it need not wait for its record, and is made again after a crash. */
export const mayRunAgain = (traits: TargetTraits, input: JsonObject): boolean =>
  traits.idempotentFor?.(input) ?? traits.idempotent;
