import type { Json, JsonObject } from '../kernel/json.ts';

/** Something an action can call, as the model is told of it. */
export interface DescribedTarget {
  readonly kind: string;
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: JsonObject;
  /** Where a parameter "operation" chooses what it does: what each operation takes. */
  readonly operations?: Readonly<Record<string, DescribedOperation>> | undefined;
  /** The operation of a call that names none. */
  readonly byDefault?: string | undefined;
  /** A call that only reads, what it could return, and what to make of that. */
  readonly example?:
    | { readonly input: JsonObject; readonly output: Json; readonly answer: string }
    | undefined;
  /** Whether a call may be repeated: such a call is a better example. */
  readonly idempotent?: boolean;
  /** Set where calls may need a person's approval. */
  readonly needs?: unknown;
  /** What a native call names it. */
  readonly native?: string | undefined;
}

export interface DescribedOperation {
  /** Empty where the name and the parameters say it all. */
  readonly description: string;
  /** JSON Schemas by name. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
  readonly idempotent?: boolean | ((input: JsonObject) => boolean);
}

/** All that can be called natively, in the order in which it gets its names. */
export const allTargets = (
  targets: readonly DescribedTarget[],
  internalActions: readonly Omit<DescribedTarget, 'kind'>[],
): readonly DescribedTarget[] => [
  ...targets,
  ...internalActions.map((action) => ({ ...action, kind: 'internal' })),
];
