import type { Cause } from '../events/event.ts';
import type { JsonObject } from '../kernel/json.ts';

/** Checks an update and puts what counts, and what does not, on the log. */
export type ApplyMetadata = (update: JsonObject, by: string, cause?: Cause) => void;
