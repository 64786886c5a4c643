import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { parseDuration } from '../../lib/quantity.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { Store } from '../../store/store.ts';
import type { Operation } from '../operations.ts';
import { stopped, withTimeout } from '../stop-and-wait.ts';
import type { TargetDeps } from '../target-edges.ts';

/** A service that takes longer to say that it is well is not. */
const HEALTH_SECONDS = 10;

export interface HealthQuestion {
  readonly what: string;
  readonly driver: string;
  /** Where the service is, without credentials. */
  readonly where: string;
  readonly clock: Clock;
  /** Asks the service something small; what it says of itself is shown. */
  ask(signal: AbortSignal): Promise<JsonObject>;
}

/** Every driver has it. A service that cannot be reached is an answer, not a failure: `ok` is false and `error` says why. */
export const relicHealth = ({ what, driver, where, clock, ask }: HealthQuestion): Operation => ({
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
      if (signal.aborted) throw stopped(what, signal);
      const { code, message, hint, retryable } = toRuntimeError(thrown);
      return report(false, { error: { code, message, ...(hint === undefined ? {} : { hint }), retryable } });
    }
  },
});

/** What a driver knows of the relic it serves. */
export interface RelicContext {
  readonly name: string;
  /** For messages: `relic "notes"`. */
  readonly what: string;
  /** Where the manifest stands. */
  readonly file: string;
  readonly connection: string | JsonObject | undefined;
  readonly store: RelicStore;
  readonly deps: TargetDeps;
}

/** What a driver offers. Connections are opened at the first call, not when it is made. */
export interface RelicDriver {
  readonly operations: Readonly<Record<string, Operation>>;
  /** What a call that names no operation means. */
  readonly byDefault: string;
  /** Such a call with the operation that its parameters mean, where that is another or takes them otherwise. */
  unnamed?(input: JsonObject): JsonObject;
  /** Ends what outlives a call. */
  close?(): Promise<void>;
}

/** A service that cannot be reached. Nothing was carried out. `where` is without credentials. */
export const relicUnavailable = (what: string, where: string, why: string, retryable = true) =>
  new RuntimeError('relic_unavailable', `The ${what} at ${where} cannot be reached: ${why}`, {
    hint: retryable
      ? 'Is the service running, and is the address in "connection" right? Calls work again once it is back.'
      : 'Mend the address or the credentials in "connection".',
    retryable,
  });

/** A connection that broke, or was silent, after the call had been sent. */
export const relicBrokeOff = (what: string, where: string, why: string, mayRepeat: boolean) =>
  new RuntimeError('relic_unavailable', `The ${what} at ${where} broke off: ${why}`, {
    hint: mayRepeat
      ? 'The call changes nothing, or nothing twice: make it again.'
      : 'Whether it was carried out is not known. Look before you make it again.',
    retryable: mayRepeat,
  });

export const relicClosed = (what: string) =>
  new RuntimeError('relic_unavailable', `The ${what} was closed with its runtime.`, {
    hint: 'Nothing can be called any more.',
  });

/** What the drivers that live in the runtime's own store have of it. */
export type RelicStore = Pick<Store, 'tables' | 'location'>;

const MAX_VALUE_BYTES = 1024 * 1024;

/** One value must not fill the store. `what` names it. */
export function checkSize(value: Json, what: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= MAX_VALUE_BYTES) return;
  throw new RuntimeError(
    'bad_parameters',
    `The value of ${what} has ${bytes} bytes; ${MAX_VALUE_BYTES} are allowed.`,
    {
      hint: 'Keep it in a file, and its path here.',
    },
  );
}

/** A call without an operation gets, which is the default, unless it has a value to set. */
export const getOrSet = (input: JsonObject): JsonObject =>
  Object.hasOwn(input, 'value') ? { operation: 'set', ...input } : input;

/** Beyond ten years it is a slip. */
const MAX_TIME_MS = 3_653 * 86_400_000;

/** Milliseconds of a parameter like "10m" or 30. `place` is where it stands: `/ttl`. */
export function readTime(value: Json, place: string): number {
  const parsed = typeof value === 'string' || typeof value === 'number' ? parseDuration(value) : undefined;
  if (parsed?.ok && parsed.value > 0 && parsed.value <= MAX_TIME_MS) return parsed.value;
  throw new RuntimeError(
    'bad_parameters',
    `"${place}" is ${showValue(value)}, which is no time above zero and below ten years.`,
    {
      hint: 'Write it like "10m", "2h" or 30 (seconds).',
    },
  );
}

export interface Connection {
  readonly url: string;
  /** What stands beside `url`. */
  readonly options: JsonObject;
}

/** An address alone, or `{ url, … }` with the options that the driver has. */
export function readConnection(
  { connection, what, file }: RelicContext,
  known: readonly string[],
): Connection {
  if (typeof connection === 'string') return { url: connection, options: {} };
  const { url, ...options } = connection ?? {};
  if (typeof url !== 'string' || url === '')
    throw badConnection(
      what,
      file,
      'names no address',
      'Write it as "connection: ADDRESS", or as its "url".',
    );
  const odd = Object.keys(options).find((name) => !known.includes(name));
  if (odd === undefined) return { url, options };
  throw badConnection(what, file, `has no option "${odd}"`, suggest(odd, ['url', ...known], 'Options'));
}

/** A whole number above zero, `fallback` if it is absent. */
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

/** An address as it may be shown: without user, password, and what stands behind a question mark. */
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

/** Takes the user and the password of an address out of a message, as they are written and as they are meant. */
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
