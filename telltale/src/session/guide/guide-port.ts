import type { Cause } from '../../events/event.ts';
import type { Json } from '../../kernel/json.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';

/** How a led session ends with its run; `cause` is where the run's own end stands. */
export type LedEnd =
  | { readonly kind: 'completed'; readonly result: Json; readonly cause?: Cause | undefined }
  | { readonly kind: 'failed'; readonly error: RuntimeError; readonly cause?: Cause | undefined }
  | { readonly kind: 'stopped' };

/** What leads a session from task to task. */
export interface Guide {
  /** Before a turn: waits for the run where there is nothing to do. Undefined where there is: a turn may begin. */
  before(): Promise<LedEnd | undefined> | undefined;
  /** After a turn whose actions were waited for: notices that the agent does not come further. */
  after(): void;
}
