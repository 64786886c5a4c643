import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { outputTooLarge } from '../output/output.ts';

type SandboxFailure = Exclude<SandboxOutcome, { readonly kind: 'value' }>;

/** The error for a script that returned no value. */
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
    `The script of ${what} imports ${message.replace(IMPORTS, '')}, but scripts cannot import anything.`,
    { hint: 'Include everything it needs in its own source.' },
  );

const scriptSyntax = (
  what: string,
  source: string,
  message: string,
  place: ScriptPosition | undefined,
  isModule: boolean,
) =>
  new RuntimeError('script_error', `The script of ${what} is not valid JavaScript: ${message}${at(place)}.`, {
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
          ? 'Scripts have no access to files, the network or timers. Use "module" for that.'
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
    { hint: 'Give it less data at a time. A "module" has no such limit.' },
  );

const scriptStack = (what: string) =>
  new RuntimeError('script_error', `The script of ${what} nested its function calls too deep.`, {
    hint: 'Check for endless recursion, or rewrite it as a loop.',
  });

const notJson = (what: string, { path, found, hint }: Extract<SandboxFailure, { kind: 'not_json' }>) =>
  new RuntimeError(
    'bad_output',
    `What the script of ${what} returned is not JSON: ${path === '' ? 'it' : `"${clip(path, 200)}"`} is ${found}.`,
    { hint },
  );

export const sandboxBusy = (waiting: number) =>
  new RuntimeError('sandbox_busy', `${waiting} scripts are already waiting to run.`, {
    hint: 'Run fewer at the same time.',
    retryable: true,
  });

export const noThread = (what: string, waitMs: number) =>
  new RuntimeError('sandbox_busy', `The script of ${what} did not start within ${waitMs / 1000} s.`, {
    hint: 'Other scripts are using all threads. Look for one that runs until its timeout.',
    retryable: true,
  });

export const sandboxClosed = (what: string) =>
  new RuntimeError('cancelled', `The script of ${what} was stopped because the runtime is closing.`);

export const sandboxEnded = (what: string, cause: unknown) =>
  new RuntimeError('script_error', `The thread that ran the script of ${what} ended.`, {
    hint: 'See the cause.',
    retryable: true,
    cause,
  });

const at = (place: ScriptPosition | undefined): string =>
  place === undefined ? '' : ` (line ${place.line}, column ${place.column})`;

/** One run of a script. */
export interface SandboxJob {
  /** For messages: `tool "price"`. */
  readonly what: string;
  /** JavaScript. The result is its last value, or the value of a `return` outside of functions. */
  readonly source: string;
  /** An ES module that is evaluated before the script, in the same context. It cannot import anything. */
  readonly module?: string;
  /** The global variables of the script. */
  readonly globals: JsonObject;
  /** The globals that it cannot change, at any depth. */
  readonly frozen?: readonly string[];
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
  /** How long it waits for a free thread. Unlimited by default. */
  readonly waitMs?: number;
  /** Receives each line of `console.log` as it is written. Without it, output is dropped. */
  readonly onLog?: ((text: string) => void) | undefined;
  /** Receives how much of its time limit it used. On a busy machine this is less than the time that passed. */
  readonly onTime?: (ms: number) => void;
  /** The fixed time of its clock, in milliseconds since 1970. The real time by default. */
  readonly now?: number;
  /** The same seed gives the same `Math.random()`. Random by default. */
  readonly seed?: number;
}

export interface SandboxLimits {
  readonly timeMs: number;
  readonly memoryBytes: number;
  /** The size of the result as JSON. */
  readonly outputBytes: number;
}

/**
 * Runs JavaScript that can only access what it is given: no files, no network, no timers, no modules. Each run is
 * isolated, so no script can see what another did.
 */
export interface Sandbox {
  /**
   * Resolves with the result as JSON text. Rejects with `script_error`, `script_timeout`, `script_memory`,
   * `bad_output`, `output_too_large`, `sandbox_busy`, or the signal's reason.
   */
  run(job: SandboxJob): Promise<string>;
  /** Starts the first thread in advance, which takes 0.1 s or more, so that the first script does not wait for it. */
  warm(): void;
  /** Ends its threads and rejects running jobs. */
  close(): Promise<void>;
}

export const DEFAULT_SCRIPT_MS = 1_000;

export const DEFAULT_SCRIPT_MEMORY = 16 * 1024 * 1024;

/** A position in the script, counted from 1. */
export interface ScriptPosition {
  readonly line: number;
  readonly column: number;
}

/** How a script ended. */
export type SandboxOutcome =
  | { readonly kind: 'value'; readonly json: string }
  | { readonly kind: 'syntax'; readonly message: string; readonly place?: ScriptPosition | undefined }
  | {
      readonly kind: 'threw';
      /** The error's name, such as `TypeError`. Empty for a value that is not an Error. */
      readonly name: string;
      readonly message: string;
      readonly place?: ScriptPosition | undefined;
    }
  /** Stopped by its time limit, or on request. */
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'memory' }
  | { readonly kind: 'stack' }
  | { readonly kind: 'large' }
  | { readonly kind: 'not_json'; readonly path: string; readonly found: string; readonly hint: string };
