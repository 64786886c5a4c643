import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { outputTooLarge } from '../output/output-limits.ts';
import type { Outcome, Place } from './messages.ts';
import type { SandboxJob } from './sandbox.ts';

type Failure = Exclude<Outcome, { readonly kind: 'value' }>;

/** What a script that gave no value is reported as. */
export function scriptFailure({ what, source, module, limits }: SandboxJob, failure: Failure): RuntimeError {
  switch (failure.kind) {
    case 'syntax':
      return IMPORTS.test(failure.message)
        ? scriptImports(what, failure.message)
        : scriptSyntax(what, module ?? source, failure.message, failure.place, module !== undefined);
    case 'threw':
      return scriptThrew(what, failure);
    case 'interrupted':
      return scriptTimeout(what, limits.timeMs);
    case 'memory':
      return scriptMemory(what, limits.memoryBytes);
    case 'stack':
      return scriptStack(what);
    case 'large':
      return outputTooLarge(what, limits.outputBytes);
    case 'not_json':
      return notJson(what, failure);
  }
}

const IMPORTS = /^could not load module /;

const scriptImports = (what: string, message: string) =>
  new RuntimeError(
    'script_error',
    `The script of ${what} imports ${message.replace(IMPORTS, '')}: there is nothing to import.`,
    { hint: 'Put what it needs into its own source.' },
  );

const scriptSyntax = (
  what: string,
  source: string,
  message: string,
  place: Place | undefined,
  isModule: boolean,
) =>
  new RuntimeError('script_error', `The script of ${what} is no JavaScript: ${message}${at(place)}.`, {
    hint: /\bawait\b/.test(source)
      ? 'Scripts are synchronous, so they cannot use await.'
      : isModule
        ? 'It is read as an ES module: export function NAME(argument, context) { … }'
        : 'It is read as a strict program whose last value is the result, or as the body of a function if it has a "return".',
  });

const scriptThrew = (what: string, { name, message, place }: Extract<Failure, { kind: 'threw' }>) =>
  new RuntimeError(
    'script_error',
    `The script of ${what} failed: ${name === '' ? '' : `${name}: `}${message}${at(place)}`,
    {
      hint:
        name === 'ReferenceError' && /^(?:require|process|fetch|setTimeout|setInterval|Buffer) /.test(message)
          ? 'Scripts reach nothing outside: no files, no network, no timers. Use "module" for that.'
          : undefined,
    },
  );

const scriptTimeout = (what: string, timeMs: number) =>
  new RuntimeError('script_timeout', `The script of ${what} took more than ${timeMs / 1000} s.`, {
    hint: 'Give it less to do, or set "timeout" of the tool.',
  });

export const scriptMemory = (what: string, memoryBytes: number) =>
  new RuntimeError(
    'script_memory',
    `The script of ${what} needed more than ${Math.round(memoryBytes / 1024 / 1024)} MiB of memory.`,
    { hint: 'Give it less at once; a "module" has no such limit.' },
  );

const scriptStack = (what: string) =>
  new RuntimeError('script_error', `The script of ${what} called functions too deep inside one another.`, {
    hint: 'It may call itself without end; otherwise write it as a loop.',
  });

const notJson = (what: string, { path, found, hint }: Extract<Failure, { kind: 'not_json' }>) =>
  new RuntimeError(
    'bad_output',
    `What the script of ${what} returned is no JSON: ${path === '' ? 'it' : `"${clip(path, 200)}"`} is ${found}.`,
    { hint },
  );

export const sandboxBusy = (waiting: number) =>
  new RuntimeError('sandbox_busy', `${waiting} scripts are waiting to be run already.`, {
    hint: 'Run fewer at once.',
    retryable: true,
  });

export const noThread = (what: string, waitMs: number) =>
  new RuntimeError('sandbox_busy', `The script of ${what} was not begun within ${waitMs / 1000} s.`, {
    hint: 'Other scripts hold all threads: look for one that takes its whole time.',
    retryable: true,
  });

export const sandboxClosed = (what: string) =>
  new RuntimeError('cancelled', `The script of ${what} was stopped: the runtime is being closed.`);

export const sandboxEnded = (what: string, cause: unknown) =>
  new RuntimeError('script_error', `The thread that ran the script of ${what} ended.`, {
    hint: 'The cause says why.',
    retryable: true,
    cause,
  });

const at = (place: Place | undefined): string =>
  place === undefined ? '' : ` (line ${place.line}, column ${place.column})`;
