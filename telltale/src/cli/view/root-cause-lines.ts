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

/** The last lines of what failed. What has to be fixed comes last. */
export function failureLines(
  { status, error, rootCause, about, see }: Failure,
  look: Look,
): readonly string[] {
  const { bold, cyan, dim, red } = look.paint;
  const isExplained = rootCause?.where !== undefined;
  const hint = isExplained ? '' : asTyped(harmlessLine(rootCause?.hint ?? ''), look.io, look.storeFlag);
  return [
    errorLine(red(bold(status)), error ?? { message: 'No reason was given.' }, look.paint),
    dim(`  ${about}`),
    ...remedyLines(hint, see).map((line) => `  ${cyan('→')} ${line}`),
    ...(isExplained ? rootCauseLines(rootCause, red(bold('root cause')), look) : []),
  ];
}

/** The last lines of what came to its end although something failed. */
export const toFixLines = (rootCause: RootCause, look: Look): readonly string[] =>
  rootCauseLines(rootCause, look.paint.yellow(look.paint.bold('to fix')), look);

function rootCauseLines(cause: RootCause, label: string, { paint, io, storeFlag }: Look): readonly string[] {
  const { where, hint } = cause;
  return [
    errorLine(label, cause, paint),
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
