import type { Test } from '../decisions.ts';
import type { Locals } from '../scope.ts';
import type { Walk } from './walk.ts';

/** Whether a test holds: as the log has it, or as it comes out now. */
export function takeTest(
  { state, decisions }: Walk,
  at: string,
  test: Test,
  locals: Locals,
): boolean | Promise<boolean> {
  if (typeof test === 'boolean') return test;
  return state.decided.get(at) ?? decisions.test(at, test, locals);
}

/** A test as a reader of the log knows it. */
export const showTest = (test: Test): string =>
  typeof test === 'object' ? `${test.invoke}.${test.method}` : String(test);
