export type { Clock } from './kernel/clock.ts';
export { createSystemClock, sleep } from './kernel/clock.ts';
export { type ErrorJson, RuntimeError } from './kernel/runtime-error.ts';
