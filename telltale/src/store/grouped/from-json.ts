import { type ErrorJson, RuntimeError } from '../../kernel/runtime-error.ts';

/** An error that came from the thread, with its chain of causes. */
export function fromJson({ code, message, hint, retryable, cause }: ErrorJson): RuntimeError {
  return new RuntimeError(code, message, {
    hint,
    retryable,
    ...(cause === undefined ? {} : { cause: fromJson(cause) }),
  });
}
