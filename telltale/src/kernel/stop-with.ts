import type { RuntimeError } from './runtime-error.ts';

/** Stands on the reasons themselves, so that nothing has to be kept of them. Nobody else can make one. */
const STOPPED_WITH = Symbol('the runtime has stopped something with this');

/**
 * Aborts what hangs on the controller. The reason is known from then on as one of the runtime's own: code of others may
 * throw that very object at us, or something that it caused. Whatever reaches their code is stopped by this.
 */
export function stopWith(controller: AbortController, reason: RuntimeError): void {
  if (controller.signal.aborted) return;
  // First: listeners are called by the abort, and may throw it.
  Object.defineProperty(reason, STOPPED_WITH, { value: true, configurable: true });
  controller.abort(reason);
}

/** Whether the runtime has aborted something with this very object. */
export const isStopReason = (thrown: unknown): boolean =>
  typeof thrown === 'object' && thrown !== null && Object.hasOwn(thrown, STOPPED_WITH);
