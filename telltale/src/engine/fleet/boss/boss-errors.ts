import { RuntimeError } from '../../../kernel/runtime-error.ts';

/** The queue could not be opened, or could not do what was asked. */
export const queueFailed = (schema: string, cause: unknown) =>
  new RuntimeError(
    'work_queue_failed',
    `The fleet's queue in schema "${schema}" failed: ${messageOf(cause)}`,
    {
      hint: 'Look whether the database answers, and whether its user may make schemas and tables in it. Nothing is lost: what waits is on the log.',
      retryable: true,
      cause,
    },
  );

/** Something that an operator had better look at. */
export const queueWarned = (schema: string, message: string) =>
  new RuntimeError('work_queue_warning', `The fleet's queue in schema "${schema}": ${message}`, {
    hint: 'See docs/operations.md, and the page of pg-boss on this warning.',
    retryable: true,
  });

/** pg-boss tells of some errors by objects that only look like one. */
const messageOf = (cause: unknown): string =>
  typeof cause === 'object' && cause !== null && 'message' in cause ? String(cause.message) : String(cause);
