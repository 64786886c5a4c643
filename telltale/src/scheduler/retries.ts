import type { DeclaredAction } from '../events/action.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;
/** Further tries of `on_error: retry` where `retry` is absent. */
const DEFAULT_RETRIES = 3;

/** A model may write any number. */
const MAX_RETRIES = 100;

/** Failures that are the same however often it is tried. */
const HOPELESS: ReadonlySet<string> = new Set([
  'not_permitted',
  'bad_parameters',
  'target_unknown',
  'depth_limit',
]);

/** Further tries after a failure. */
export const retriesOf = ({ retry, on_error }: DeclaredAction): number =>
  Math.min(retry ?? (on_error === 'retry' ? DEFAULT_RETRIES : 0), MAX_RETRIES);

/** Whether there is another try after this many failures. Who asks for retries gets them, also where it says that none would help. */
export const triesAgain = (action: DeclaredAction, failures: number, error: RuntimeError): boolean =>
  failures <= retriesOf(action) && !HOPELESS.has(error.code);

/** Exponential back-off with full jitter: `random` is 0 ≤ x < 1. */
export const delayAfter = (failures: number, random: number): number =>
  Math.round(random * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)));
