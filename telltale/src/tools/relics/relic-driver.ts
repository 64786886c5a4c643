import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { parseDuration } from '../../lib/quantity.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { Store } from '../../store/store.ts';
import { abortError, withTimeout } from '../abort.ts';
import type { Operation } from '../operations.ts';
import type { TargetDeps } from '../target-deps.ts';

/** A service that takes longer to report its health counts as unhealthy. */
const HEALTH_SECONDS = 10;

export interface HealthCheck {
  readonly what: string;
  readonly driver: string;
  /** The address of the service, without credentials. */
  readonly where: string;
  readonly clock: Clock;
  /** Sends the service a small request. The returned values are shown. */
  ask(signal: AbortSignal): Promise<JsonObject>;
}

/**
 * The health operation of every driver. An unreachable service is an answer, not a failure: `ok` is false and `error`
 * explains it.
 */
export const relicHealth = ({ what, driver, where, clock, ask }: HealthCheck): Operation => ({
  description: 'checks whether it works',
  parameters: {},
  idempotent: true,
  async run(_, { signal }) {
    const started = clock.monotonic();
    const report = (ok: boolean, more: JsonObject): JsonObject => ({
      ok,
      driver,
      where,
      latency_ms: Math.round(clock.monotonic() - started),
      ...more,
    });
    try {
      return report(true, await withTimeout(signal, HEALTH_SECONDS, what, clock, ask));
    } catch (thrown) {
      if (signal.aborted) throw abortError(what, signal);
      const { code, message, hint, retryable } = toRuntimeError(thrown);
      return report(false, { error: { code, message, ...(hint === undefined ? {} : { hint }), retryable } });
    }
  },
});

/** What a driver knows about the relic it serves. */
export interface RelicContext {
  readonly name: string;
  /** For messages: `relic "notes"`. */
  readonly what: string;
  /** The manifest's file. */
  readonly file: string;
  readonly connection: string | JsonObject | undefined;
  readonly store: RelicStore;
  readonly deps: TargetDeps;
}

/** What a driver offers. It connects at the first call, not when it is created. */
export interface RelicDriver {
  readonly operations: Readonly<Record<string, Operation>>;
  /** The operation of a call that names none. */
  readonly byDefault: string;
  /** Returns such a call with the operation that its parameters imply, if that is not the default. */
  implyOperation?(input: JsonObject): JsonObject;
  /** Closes whatever outlives a call. */
  close?(): Promise<void>;
}

/** The error of a service that cannot be reached. Nothing was executed. `where` must not contain credentials. */
export const relicUnavailable = (what: string, where: string, why: string, retryable = true) =>
  new RuntimeError('relic_unavailable', `The ${what} at ${where} cannot be reached: ${why}`, {
    hint: retryable
      ? 'Check that the service is running and that the address in "connection" is right. Calls work again once it is back.'
      : 'Fix the address or the credentials in "connection".',
    retryable,
  });

/** The error of a connection that broke, or was silent, after the call had been sent. */
export const relicBrokeOff = (what: string, where: string, why: string, mayRepeat: boolean) =>
  new RuntimeError('relic_unavailable', `The ${what} at ${where} broke off: ${why}`, {
    hint: mayRepeat
      ? 'The call is safe to repeat.'
      : 'It is unknown whether the call was executed. Check before you repeat it.',
    retryable: mayRepeat,
  });

export const relicClosed = (what: string) =>
  new RuntimeError('relic_unavailable', `The ${what} was closed with its runtime.`, {
    hint: 'No more calls are possible.',
  });

/** The parts of the runtime's store that drivers use. */
export type RelicStore = Pick<Store, 'tables' | 'location'>;

const MAX_VALUE_BYTES = 1024 * 1024;

/** Limits the size of one value, so that it does not fill the store. `what` names the value. */
export function checkSize(value: Json, what: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= MAX_VALUE_BYTES) return;
  throw new RuntimeError(
    'bad_parameters',
    `The value of ${what} has ${bytes} bytes. The limit is ${MAX_VALUE_BYTES}.`,
    {
      hint: 'Store it in a file, and its path here.',
    },
  );
}

/** A call without an operation is `get`, the default, unless it has a value to set. */
export const getOrSet = (input: JsonObject): JsonObject =>
  Object.hasOwn(input, 'value') ? { operation: 'set', ...input } : input;

/** Anything beyond ten years must be a mistake. */
const MAX_TIME_MS = 3_653 * 86_400_000;

/** Reads a parameter like "10m" or 30 as milliseconds. `place` is its JSON pointer: `/ttl`. */
export function readTime(value: Json, place: string): number {
  const parsed = typeof value === 'string' || typeof value === 'number' ? parseDuration(value) : undefined;
  if (parsed?.ok && parsed.value > 0 && parsed.value <= MAX_TIME_MS) return parsed.value;
  throw new RuntimeError(
    'bad_parameters',
    `"${place}" is ${showValue(value)}, which is not a time between zero and ten years.`,
    {
      hint: 'Write it like "10m", "2h" or 30 (seconds).',
    },
  );
}

export interface Connection {
  readonly url: string;
  /** The options besides `url`. */
  readonly options: JsonObject;
}

/** Reads a URL alone, or `{ url, … }` with the driver's options. */
export function readConnection(
  { connection, what, file }: RelicContext,
  known: readonly string[],
): Connection {
  if (typeof connection === 'string') return { url: connection, options: {} };
  const { url, ...options } = connection ?? {};
  if (typeof url !== 'string' || url === '')
    throw badConnection(what, file, 'has no URL', 'Write "connection: URL", or set its "url".');
  const odd = Object.keys(options).find((name) => !known.includes(name));
  if (odd === undefined) return { url, options };
  throw badConnection(what, file, `has no option "${odd}"`, suggest(odd, ['url', ...known], 'Options'));
}

/** A whole number above zero. Defaults to `fallback`. */
export function wholeOption(
  { what, file }: RelicContext,
  { options }: Connection,
  name: string,
  fallback: number,
): number {
  const value = options[name] ?? fallback;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw badConnection(
    what,
    file,
    `has ${showValue(value)} as its "${name}"`,
    'Give a whole number above zero.',
  );
}

/** An address without user, password and query, so that it can be shown. */
export function shownAddress(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
  } catch {
    return `${/^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? ''}//…`;
  }
}

export const badConnection = (what: string, file: string, why: string, hint: string) =>
  new RuntimeError('bad_connection', `The connection of ${what} (${file}) ${why}.`, { hint });

const MIN_SECRET = 3;

/** Returns a function that removes the user and the password of a URL from a message, both as written and decoded. */
export function redactor(url: string): (text: string) => string {
  const { username, password } = new URL(url);
  const secrets = [password, decoded(password), username, decoded(username)]
    .filter((secret) => secret.length >= MIN_SECRET)
    .toSorted((a, b) => b.length - a.length);
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
