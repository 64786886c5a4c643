import type { Json } from './json.ts';

/** Stands on the reasons themselves, so that nothing has to be kept of them. Nobody else can make one. */
const STOPPED_WITH = Symbol('the runtime has stopped something with this');

/**
 * Aborts what hangs on the controller. The reason is known from then on as one of the runtime's own: code of others may
 * throw that very object at us, or something that it caused. Whatever reaches their code is stopped by this.
 */
export function stopWith(controller: AbortController, reason: RuntimeError): void {
  if (controller.signal.aborted) return;
  // First: listeners are called by the abort, and may throw it.
  Object.defineProperty(reason, STOPPED_WITH, { value: true, configurable: true });
  controller.abort(reason);
}

/** Whether the runtime has aborted something with this very object. */
export const isStopReason = (thrown: unknown): boolean =>
  typeof thrown === 'object' && thrown !== null && Object.hasOwn(thrown, STOPPED_WITH);

/** The JSON form of an error: the same shape in the log, the API, the CLI and the console. */
export interface ErrorJson {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly retryable: boolean;
  /** What there is to see although it failed: what a command printed, and its exit code. */
  readonly output?: Json;
  readonly cause?: ErrorJson;
}

export interface RuntimeErrorOptions {
  /** What to do about it, in one sentence. */
  readonly hint?: string | undefined;
  /** Whether the same call may succeed if it is made again. */
  readonly retryable?: boolean;
  /** What there is to see although it failed. Not part of it as the cause of another error. */
  readonly output?: Json;
  readonly cause?: unknown;
}

const MAX_CAUSES = 8;

/**
 * The one error class. `message` says what was found, `hint` what to do; `code` is a literal that callers
 * may switch on. Make one with a named maker beside the code that fails, not inline.
 */
export class RuntimeError<Code extends string = string> extends Error {
  override readonly name = 'RuntimeError';
  readonly code: Code;
  readonly hint: string | undefined;
  readonly retryable: boolean;
  readonly output: Json | undefined;

  constructor(code: Code, message: string, options: RuntimeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.retryable = options.retryable ?? false;
    this.output = options.output;
  }

  toJSON(): ErrorJson {
    return errorJson(this, []);
  }
}

/** `above` are the errors this one is a cause of; a cause that is one of them (a cycle) is left out. */
function errorJson(thrown: unknown, above: readonly unknown[]): ErrorJson {
  const error = toRuntimeError(thrown);
  const chain = [...above, thrown];
  const { cause } = error;
  const last = cause === undefined || chain.length > MAX_CAUSES || chain.includes(cause);
  return {
    code: error.code,
    message: error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    retryable: error.retryable,
    ...(error.output === undefined || above.length > 0 ? {} : { output: error.output }),
    ...(last ? {} : { cause: errorJson(cause, chain) }),
  };
}

/**
 * Whatever was thrown, as a RuntimeError: itself if it is one, else code `internal` with the original's message. Never
 * throws itself: tools and models are other people's code, and throw what they like.
 */
export function toRuntimeError(thrown: unknown): RuntimeError {
  try {
    if (thrown instanceof RuntimeError) return thrown;
    if (thrown instanceof Error) return foreignError(thrown);
  } catch {
    return new RuntimeError('internal', 'Something that cannot be read was thrown.');
  }
  return new RuntimeError('internal', `Something that is no Error was thrown: ${describe(thrown)}.`);
}

function foreignError(thrown: Error): RuntimeError {
  const { cause, stack } = thrown;
  const error = new RuntimeError('internal', thrown.message || messageOfAll(thrown) || thrown.name);
  if (cause !== undefined) error.cause = cause;
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** Where a host has several addresses and none answers, Node throws an AggregateError with no message of its own. */
function messageOfAll(thrown: Error): string {
  if (!(thrown instanceof AggregateError)) return '';
  const messages = thrown.errors
    .slice(0, MAX_CAUSES)
    .flatMap((each) => (each instanceof Error ? each.message : []));
  return [...new Set(messages)].filter((message) => message !== '').join('; ');
}

const MAX_DESCRIBED = 200;

function describe(value: unknown): string {
  try {
    const text =
      typeof value === 'object' || typeof value === 'string' ? JSON.stringify(value) : String(value);
    return text.length > MAX_DESCRIBED ? `${text.slice(0, MAX_DESCRIBED)}…` : text;
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** How a line of a stack trace ends. Node's own files (`node:fs:1:2`) are nobody's mistake, and are passed over. */
const FRAME = /(?:file:\/\/|\(|at )((?:\/|[A-Za-z]:[\\/])[^\n()]*?:\d+:\d+)\)?$/m;
/** The frames stand at the end, behind a message of any length. */
const MAX_READ = 8_192;

/** Where somebody's code threw, as far as its stack trace knows: `/bot/search.js:3:7`. */
export function thrownPlace(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error ? FRAME.exec(String(thrown.stack).slice(-MAX_READ))?.[1] : undefined;
  } catch {
    return undefined; // an error that throws when it is looked at
  }
}

/** Tells every listener. One that throws is a mistake of the program around: it surfaces there, and the rest still hear. */
export function tellAll<Event>(listeners: Iterable<(event: Event) => void>, event: Event): void {
  for (const listener of listeners) tellOne(listener, event);
}

export function tellOne<Event>(listener: (event: Event) => void, event: Event): void {
  try {
    listener(event);
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}

/** What a system says when an address cannot be listened on. */
interface ListenFailure {
  readonly code?: string | undefined;
  readonly message: string;
}

export const cannotListen = (host: string, port: number, cause: ListenFailure) =>
  new RuntimeError(
    'cannot_listen',
    `Nothing can be served at ${host}:${port} (${cause.code ?? cause.message}).`,
    {
      hint:
        cause.code === 'EADDRINUSE'
          ? 'Something else is there: name another port, or 0 for a free one.'
          : 'Name another --host or port.',
      cause,
    },
  );

/** The outcome of reading something a user, a model or a network wrote: such mistakes are data, not throws. */
export type Result<T, E = RuntimeError> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value });
export const err = <E>(error: E): { readonly ok: false; readonly error: E } => ({ ok: false, error });
