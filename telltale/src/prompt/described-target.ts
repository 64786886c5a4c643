import type { JsonObject } from '../kernel/json.ts';

/** Something an action can call, as the model is told of it. */
export interface DescribedTarget {
  readonly kind: string;
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: JsonObject;
}
