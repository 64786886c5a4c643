import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { outputTooLarge } from '../output/output.ts';
import type { SandboxOutcome, SandboxPlace } from './outcome.ts';

type SandboxFailure = Exclude<SandboxOutcome, { readonly kind: 'value' }>;

/** What a script that gave no value is reported as. */
export function scriptFailure(
  { what, source, module, limits }: SandboxJob,
  failure: SandboxFailure,
): RuntimeError {
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
  place: SandboxPlace | undefined,
  isModule: boolean,
) =>
  new RuntimeError('script_error', `The script of ${what} is no JavaScript: ${message}${at(place)}.`, {
    hint: /\bawait\b/.test(source)
      ? 'Scripts are synchronous, so they cannot use await.'
      : isModule
        ? 'It is read as an ES module: export function NAME(argument, context) { … }'
        : 'It is read as a strict program whose last value is the result, or as the body of a function if it has a "return".',
  });

const scriptThrew = (what: string, { name, message, place }: Extract<SandboxFailure, { kind: 'threw' }>) =>
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

const notJson = (what: string, { path, found, hint }: Extract<SandboxFailure, { kind: 'not_json' }>) =>
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

const at = (place: SandboxPlace | undefined): string =>
  place === undefined ? '' : ` (line ${place.line}, column ${place.column})`;

/** One run of a script. */
export interface SandboxJob {
  /** For messages: `tool "price"`. */
  readonly what: string;
  /** JavaScript. Its last value is the result; where a `return` stands outside of functions, that one's is. */
  readonly source: string;
  /** An ES module that is evaluated before the script, in the same world. It can import nothing. */
  readonly module?: string;
  /** What the script sees as global variables. */
  readonly globals: JsonObject;
  /** Those of them that it cannot change, however deep. */
  readonly frozen?: readonly string[];
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
  /** How long it waits for a thread while others hold them all; as long as it takes if absent. */
  readonly waitMs?: number;
  /** What it writes by `console.log`, as it comes; thrown away where absent. */
  readonly onLog?: ((text: string) => void) | undefined;
  /** What of its time limit it used, once it has ended: on a busy machine less than the time that passed. */
  readonly onTime?: (ms: number) => void;
  /** What its clock shows all along, in milliseconds since 1970; the real time if absent. */
  readonly now?: number;
  /** The same seed gives the same `Math.random()`; another one each time if absent. */
  readonly seed?: number;
}

export interface SandboxLimits {
  readonly timeMs: number;
  readonly memoryBytes: number;
  /** Of the result as JSON. */
  readonly outputBytes: number;
}

/**
 * Runs JavaScript that can reach nothing but what it is given: no files, no network, no timers, no modules. Each run
 * has a world of its own: nothing that a script does is seen by the next.
 */
export interface Sandbox {
  /**
   * Resolves with the result as JSON text. Rejects with `script_error`, `script_timeout`, `script_memory`, `bad_output`,
   * `output_too_large`, `sandbox_busy`, or what the signal was aborted with.
   */
  run(job: SandboxJob): Promise<string>;
  /** Starts its first thread, so that the first script does not have to wait for it: that takes 0.1 s and more. */
  warm(): void;
  /** Ends its threads; what still runs is rejected. */
  close(): Promise<void>;
}

export const DEFAULT_SCRIPT_MS = 1_000;

export const DEFAULT_SCRIPT_MEMORY = 16 * 1024 * 1024;
