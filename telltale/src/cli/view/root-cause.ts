import type { ErrorJson } from '../../lib/errors.ts';
import type { ObservedEvent } from '../../log/event.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { Io } from '../io.ts';
import { asTyped } from '../session/store-options.ts';
import { errorText, remedy } from './describe-event.ts';
import { harmlessLine } from './harmless.ts';
import { wrap } from './text-width.ts';

interface RootCauseLook {
  readonly paint: Palette;
  readonly io: Pick<Io, 'program'>;
  readonly storeFlag: string | undefined;
}

export interface Failure {
  readonly status: string;
  readonly error: ErrorJson | undefined;
  readonly rootCause: RootCause | undefined;
  /** The session or run that failed. */
  readonly about: string;
  /** The command that shows more. Empty if the store is gone. */
  readonly see: string;
}

/** The last lines of a failure. The root cause comes first, the remedy last. */
export function failureLines(
  { status, error, rootCause, about, see }: Failure,
  { paint, io, storeFlag }: RootCauseLook,
): readonly string[] {
  const { bold, cyan, dim, red } = paint;
  const label = red(bold(status));
  const end = error ?? { message: 'No reason was given.' };
  const hint = asTyped(harmlessLine(rootCause?.hint ?? ''), io, storeFlag);
  const todo = (lines: readonly string[]) => lines.map((line) => `  ${cyan('→')} ${line}`);
  if (rootCause?.where === undefined)
    return [
      errorLine(label, end, paint),
      dim(`  ${about}`),
      ...todo([see, hint].filter((line) => line !== '')),
    ];
  return [
    errorLine(label, rootCause, paint),
    dim(`  ${harmlessLine(rootCause.where)}`),
    `  ${errorLine('It ended with', end, paint)}`,
    dim(`  ${about}`),
    ...todo([see, hint].filter((line) => line !== '')),
  ];
}

/** The last lines of something that ended well although something failed. */
export function failureToFixLines(
  cause: RootCause,
  { paint, io, storeFlag }: RootCauseLook,
): readonly string[] {
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

/** What somebody must fix so that a session or run can succeed. */
export interface RootCause {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  /** What failed: `action s (search), turn 1`. Undefined if the session or run itself did. */
  readonly where?: string;
}

/** Failures that no model can fix: somebody must change a tool, a manifest or the machine. */
const TO_FIX: ReadonlySet<string> = new Set([
  'module_failed',
  'tool_failed',
  'script_error',
  'bad_output',
  'tool_gone',
  'command_missing',
  'model_missing',
  'bad_template',
  'bad_artifact',
  'schema_failed',
]);

export const isToFix = ({ code }: Pick<ErrorJson, 'code'>): boolean => TO_FIX.has(code);

/** Ends that only follow from an earlier failure. */
const isConsequence = (code: string): boolean =>
  code === SCRIPT_ENDED || code === 'stalled' || code.startsWith('limit_');

const SCRIPT_ENDED = 'script_ended';

/**
 * Mistakes of the caller. A model learns of them and corrects itself; a script must be fixed. The same goes for faults.
 */
const CALLER_MISTAKES: ReadonlySet<string> = new Set(['target_unknown', 'bad_parameters']);

interface RootCauseEnded {
  readonly status: string;
  readonly error?: ErrorJson;
}

/** Finds the failure that explains the others. A call that succeeded later needs no fix. */
export interface RootCauseFold {
  take(event: ObservedEvent | RunEvent): void;
  of(ended: RootCauseEnded): RootCause | undefined;
}

export function createRootCauseFold(): RootCauseFold {
  const names = new Map<string, string>();
  const failures = new Map<string, RootCause>();
  let slip: RootCause | undefined;
  const fail = (what: string, error: ErrorJson, where: string) => {
    if (isToFix(error)) {
      if (!failures.has(what)) failures.set(what, causeOf(error, where));
    } else if (CALLER_MISTAKES.has(error.code) && failures.size === 0) slip ??= causeOf(error, where);
  };
  const take = (event: ObservedEvent | RunEvent) => {
    switch (event.type) {
      case 'action.declared':
        names.set(event.action.id, event.action.name);
        break;
      case 'action.completed':
        failures.delete(names.get(event.id) ?? event.id);
        break;
      case 'action.failed': {
        const name = names.get(event.id) ?? event.id;
        fail(name, event.error, `action ${event.id} (${name}), turn ${event.turn}`);
        break;
      }
      case 'child.action.failed':
        fail(event.action, event.event.error, `an action of ${names.get(event.action) ?? event.action}`);
        break;
      case 'step.completed':
        failures.delete(event.step);
        break;
      case 'step.failed':
        fail(event.step, event.error, `step ${event.step}`);
        break;
      case 'workflow.completed':
        if ('workflow' in event) failures.delete(`workflow ${event.workflow}`);
        break;
      case 'workflow.failed':
        if ('workflow' in event) {
          const what = `workflow ${event.workflow}`;
          fail(what, event.error, what);
        }
        break;
      case 'fault':
        if (failures.size === 0)
          slip ??= { code: event.code, message: event.message, where: `turn ${event.turn}` };
        break;
    }
  };
  return {
    take,
    of({ status, error }) {
      const [failure] = failures.values();
      if (status === 'completed') return failure;
      if (status !== 'failed' && status !== 'stalled') return undefined;
      if (error === undefined) return failure;
      if (!isConsequence(error.code)) return causeOf(error);
      return (error.code === SCRIPT_ENDED ? slip : undefined) ?? failure ?? causeOf(error);
    },
  };
}

/** A result as `--json` prints it. */
export const withRootCause = <Result>(result: Result, rootCause: RootCause | undefined) =>
  rootCause === undefined ? result : { ...result, root_cause: rootCause };

/** The full error, if somebody must fix it. A live view shows it below the row of what failed. */
export const toFixRows = (error: ErrorJson, columns: number): readonly string[] =>
  isToFix(error)
    ? [errorText(error), remedy(error).trim()].flatMap((text) => (text === '' ? [] : wrap(text, columns)))
    : [];

/** A tool's own error has its source position in its cause. */
function causeOf({ code, message, hint, cause }: ErrorJson, where?: string): RootCause {
  const remedy = hint ?? cause?.hint;
  return {
    code,
    message,
    ...(remedy === undefined ? {} : { hint: remedy }),
    ...(where === undefined ? {} : { where }),
  };
}
