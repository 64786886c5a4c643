import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { thrownPlace } from '../../kernel/thrown-place.ts';

const MAX_MESSAGE = 2_000;

/** What somebody's code threw, in words; never throws itself, whatever the value does when it is looked at. */
export function thrownMessage(thrown: unknown): string {
  try {
    const { message } = toRuntimeError(thrown);
    const text = typeof thrown === 'string' ? thrown : String(message);
    return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
  } catch {
    return 'something that cannot be read was thrown';
  }
}

/** What was thrown, as the cause of an error that will be written to a log; undefined if it cannot be written. */
function safeCause(thrown: unknown): unknown {
  try {
    JSON.stringify(new RuntimeError('internal', '', { cause: thrown }));
    return thrown;
  } catch {
    return undefined;
  }
}

/** `safeCause`, with the place as its hint: for whoever reads the log. The model is told of the outermost error only. */
export function placedCause(thrown: unknown): unknown {
  const found = safeCause(thrown);
  const place = thrownPlace(found);
  if (place === undefined || found instanceof RuntimeError) return found;
  const { message, cause } = toRuntimeError(found);
  return new RuntimeError('internal', message, { hint: `Thrown at ${place}.`, cause });
}
