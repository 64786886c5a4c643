import type { Json } from '../kernel/json.ts';

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
