import { RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import { thrownPlace } from '../kernel/thrown-place.ts';

/** What was thrown where nobody could catch it: in a timer, or in a promise that nobody waits for. */
export function strayError(thrown: unknown): RuntimeError {
  const place = thrownPlace(thrown);
  return new RuntimeError(
    'stray_error',
    `Code that nothing awaits failed${place === undefined ? '' : ` at ${place}`}: ${saidBy(thrown)}`,
    {
      hint: 'A tool returned before its work was done: wait for it with "await", or catch what it throws.',
      cause: thrown,
    },
  );
}

function saidBy(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } catch {
    return toRuntimeError(thrown).message; // something that throws when it is looked at
  }
}
