import type { ErrorJson } from '../../kernel/runtime-error.ts';
import type { Palette } from '../../manifest/palette.ts';
import type { Io } from '../io.ts';
import { asTyped } from '../session/naming-store.ts';
import { harmlessLine } from './harmless.ts';
import { remedyLines } from './remedy-lines.ts';
import type { RootCause } from './root-cause.ts';

interface Look {
  readonly paint: Palette;
  readonly io: Pick<Io, 'program'>;
  readonly storeFlag: string | undefined;
}

export interface Failure {
  readonly status: string;
  readonly error: ErrorJson | undefined;
  readonly rootCause: RootCause | undefined;
  /** Which session or run failed. */
  readonly about: string;
  /** The command that shows more; empty where its store is gone. */
  readonly see: string;
}

/** The last lines of what failed. The root cause comes first, and what to do about it last. */
export function failureLines(
  { status, error, rootCause, about, see }: Failure,
  { paint, io, storeFlag }: Look,
): readonly string[] {
  const { bold, cyan, dim, red } = paint;
  const label = red(bold(status));
  const end = error ?? { message: 'No reason was given.' };
  const hint = asTyped(harmlessLine(rootCause?.hint ?? ''), io, storeFlag);
  const todo = (lines: readonly string[]) => lines.map((line) => `  ${cyan('→')} ${line}`);
  if (rootCause?.where === undefined)
    return [errorLine(label, end, paint), dim(`  ${about}`), ...todo(remedyLines(hint, see))];
  return [
    errorLine(label, rootCause, paint),
    dim(`  ${harmlessLine(rootCause.where)}`),
    `  ${errorLine('It ended with', end, paint)}`,
    dim(`  ${about}`),
    ...todo([see, hint].filter((line) => line !== '')),
  ];
}

/** The last lines of what came to its end although something failed. */
export function toFixLines(cause: RootCause, { paint, io, storeFlag }: Look): readonly string[] {
  const { where, hint } = cause;
  return [
    errorLine(paint.yellow(paint.bold('to fix')), cause, paint),
    ...(where === undefined ? [] : [paint.dim(`  ${harmlessLine(where)}`)]),
    ...(hint === undefined ? [] : [`  ${paint.cyan('→')} ${asTyped(harmlessLine(hint), io, storeFlag)}`]),
  ];
}

const errorLine = (
  label: string,
  { message, code }: { readonly message: string; readonly code?: string },
  { bold, dim }: Palette,
): string =>
  `${label}: ${bold(harmlessLine(message))}${code === undefined ? '' : dim(` [${harmlessLine(code)}]`)}`;
