import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Session } from '../../session/runtime-types.ts';

/** Tells of a session that could not begin, and of one whose log cannot be written: the log itself does not say so. */
export function hearOfLoss(
  { result }: Pick<Session<unknown>, 'result'>,
  onError: (thrown: unknown) => void,
): void {
  result.then(({ status, error }) => {
    if (status !== 'interrupted' || error === undefined || !error.code.startsWith('store_')) return;
    const { code, message, ...rest } = error;
    onError(new RuntimeError(code, message, rest));
  }, onError);
}
