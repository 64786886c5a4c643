import { type ErrorJson, RuntimeError } from '../../kernel/runtime-error.ts';
import type { Io } from '../io.ts';

/** What was worked on while its output could not be written, as it is once it was let go of. */
export interface Unshown {
  readonly kind: 'session' | 'run';
  readonly result: Promise<{ readonly status: string; readonly error?: ErrorJson }>;
  /** The commands about it, whole; undefined where it is gone with this process. */
  readonly commands: { readonly show: string; readonly resume: string } | undefined;
}

/**
 * What there is to tell where a command threw: that its output could not be written is no more than half of it for whoever
 * has to go on. Anything else is passed on as it is.
 */
export async function outputLost(
  thrown: unknown,
  { stdout }: Pick<Io, 'stdout'>,
  unshown: Unshown | undefined,
): Promise<unknown> {
  const { failure } = stdout;
  if (failure === undefined || unshown === undefined) return thrown;
  // The store is closed by now, so that it has a result in any case; one that has none is an error of its own.
  const result = await unshown.result.catch(() => undefined);
  if (result === undefined) return thrown;
  return new RuntimeError(failure.code, failure.message, {
    hint: [failure.hint, ...wayOn(result, unshown)].filter((part) => part !== undefined).join(' '),
    cause: failure.cause,
  });
}

function wayOn(
  { status, error }: Awaited<Unshown['result']>,
  { kind, commands }: Unshown,
): readonly (string | undefined)[] {
  const isLetGo = status === 'interrupted';
  const became = isLetGo
    ? `The ${kind} was released`
    : status === 'waiting'
      ? `The ${kind} waits`
      : `The ${kind} has ended (${status})`;
  const log =
    isLetGo && error !== undefined
      ? `: its log could not be written either (${error.message})`
      : ', and its log is complete';
  if (commands === undefined) return [`${became}; its store was in memory, so it is lost.`];
  return [`${became}${log}.`, isLetGo ? `Resume with: ${commands.resume}` : `See it with: ${commands.show}`];
}
