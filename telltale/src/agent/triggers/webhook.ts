import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { derivedId } from '../../lib/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Tables } from '../../store/store.ts';
import type { HookSignature, OutsideTrigger } from '../../triggers/outside-triggers.ts';
import type { HookHeaders, OutsideOutcome } from '../runs/run-types.ts';

/** The maximum size of a request body. The whole body is written to the log of the run. */
export const MAX_HOOK_BYTES = 1024 * 1024;

export type Webhook = Extract<OutsideTrigger, { readonly type: 'webhook' }>;

export interface ReceiveDeps {
  readonly guard: ReplayGuard;
  readonly now: () => number;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** Starts the run with that id and resolves once it is on its log. */
  readonly enter: (trigger: Webhook, seen: JsonObject, run: string) => Promise<OutsideOutcome>;
}

export async function receiveHook(
  { guard, now, crashPoint, enter }: ReceiveDeps,
  trigger: Webhook,
  body: string | Uint8Array,
  headers: HookHeaders,
): Promise<OutsideOutcome> {
  const { hook, secret, signature } = trigger;
  if (Buffer.byteLength(body) > MAX_HOOK_BYTES) throw hookTooLarge(hook, MAX_HOOK_BYTES);
  const signed = checkSignature[signature]({ hook, body, headers, secret, now: now() });
  const taken = await guard.take(hook, signature, signed);
  if (taken.kind === 'known')
    return { kind: 'replayed', ...(taken.run === undefined ? {} : { run: taken.run }) };
  crashPoint?.('hook:claimed');
  const { id = signed.bodyHash, event } = signed;
  const run = derivedId(
    'run',
    taken.since,
    createHash('sha256').update(`${trigger.id} ${hook} ${id}`).digest(),
  );
  const seen = { hook, id, ...(event === undefined ? {} : { event }), body: bodyOf(body) };
  try {
    const outcome = await enter(trigger, seen, run);
    crashPoint?.('hook:started');
    await taken.over(outcome.kind === 'started' ? run : undefined);
    return outcome;
  } catch (thrown) {
    // The process that claimed it first started the run and died before it could record that.
    if (toRuntimeError(thrown).code === 'stream_exists') {
      await taken.over(run);
      return { kind: 'replayed', run };
    }
    // If the claim cannot be released, it expires.
    await taken.release().catch(() => undefined);
    throw thrown;
  }
}

/** Bodies that are nested deeper stay text, because serializing them would overflow the stack. */
const MAX_DEPTH = 200;

/** The body as JSON, or as text if it is not JSON. */
function bodyOf(body: string | Uint8Array): Json {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  try {
    const value = JSON.parse(text) as Json;
    return isShallow(value) ? value : text;
  } catch {
    return text;
  }
}

function isShallow(value: Json): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    if (level.length === 0) return true;
  }
  return false;
}

const TABLE = 'hooks';
const DAY_MS = 86_400_000;
/**
 * How long an accepted delivery is remembered. A timestamped delivery expires after 5 minutes, but an honest
 * sender without an answer retries with new timestamps for hours. Without timestamps, this memory is the only
 * protection against replays.
 */
const REMEMBERED_MS: Readonly<Record<HookSignature, number>> = { standard: DAY_MS, github: 30 * DAY_MS };
/**
 * How long the process that claimed a delivery has for starting its run. After that another process takes
 * over.
 */
const CLAIM_MS = 30_000;
/** The claim time of a released delivery. */
const UNCLAIMED = 0;
/** A row may change between reading and writing. */
const MAX_TRIES = 10;

export type DeliveryClaim =
  | {
      readonly kind: 'first';
      /**
       * When it was first claimed, possibly by a process that has died since. The run's id is derived from
       * it.
       */
      readonly since: number;
      /** Records the delivery as handled, with the run that it started. */
      over(run: string | undefined): Promise<void>;
      /**
       * Allows a retry. It may be unknown whether a run was started, for example because the store failed.
       * The next claim gets the same `since`, so that the log refuses a second run.
       */
      release(): Promise<void>;
    }
  | { readonly kind: 'known'; readonly run?: string };

export interface ReplayGuard {
  /**
   * Claims a delivery once over all processes of a store. Rejects with `hook_replayed` if its id was used
   * with another body, or while another process handles it.
   */
  take(hook: string, scheme: HookSignature, delivery: SignedDelivery): Promise<DeliveryClaim>;
}

interface WebhookRow {
  readonly body: string;
  readonly since: number;
  /** When it was last claimed. */
  readonly at: number;
  readonly over?: true;
  readonly run?: string;
}

export function createReplayGuard(tables: Tables, clock: Pick<Clock, 'now'>, agent: string): ReplayGuard {
  return {
    async take(hook, scheme, delivery) {
      const keys = keysOf(agent, hook, scheme, delivery).map((key) => ({ table: TABLE, key }));
      const ttlMs = REMEMBERED_MS[scheme];
      /** Has no effect if the claim has expired and another process has taken over. */
      const settle = (row: WebhookRow, settled: WebhookRow) =>
        tables.exchange(
          keys.map((key) => ({ ...key, value: row as unknown as Json })),
          keys.map((key) => ({ ...key, value: settled as unknown as Json, ttlMs })),
        );
      const first = (row: WebhookRow): DeliveryClaim => ({
        kind: 'first',
        since: row.since,
        async over(run) {
          await settle(row, { ...row, over: true, ...(run === undefined ? {} : { run }) });
        },
        async release() {
          await settle(row, { ...row, at: UNCLAIMED });
        },
      });
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const found = await Promise.all(keys.map(({ table, key }) => tables.get(table, key)));
        const rows = found.flatMap((value) => readRow(value) ?? []);
        const now = clock.now();
        if (rows.some(({ body }) => body !== delivery.bodyHash)) throw hookReplayed(hook, delivery.id ?? '');
        const done = rows.find(({ over }) => over === true);
        if (done !== undefined)
          return { kind: 'known', ...(done.run === undefined ? {} : { run: done.run }) };
        if (rows.some(({ at }) => at + CLAIM_MS > now)) throw hookInHand(hook);
        const row: WebhookRow = { body: delivery.bodyHash, since: rows[0]?.since ?? now, at: now };
        const isOurs = await tables.exchange(
          keys.map((key, n) => ({ ...key, value: found[n] })),
          keys.map((key) => ({ ...key, value: row as unknown as Json, ttlMs })),
        );
        if (isOurs) return first(row);
      }
      throw hookInHand(hook);
    },
  };
}

/**
 * A delivery is identified by its id and, if the id is not signed, also by its body, because anybody could
 * change the id.
 */
function keysOf(
  agent: string,
  hook: string,
  scheme: HookSignature,
  { id, bodyHash }: SignedDelivery,
): readonly string[] {
  const key = (kind: string, what: string) =>
    `${agent}/${hook}/${kind}/${createHash('sha256').update(what).digest('base64url')}`;
  return [
    ...(id === undefined ? [] : [key('id', id)]),
    ...(scheme === 'standard' ? [] : [key('body', bodyHash)]),
  ];
}

function readRow(value: Json | undefined): WebhookRow | undefined {
  if (!isJsonObject(value)) return undefined;
  const { body, since, at, over, run } = value;
  if (typeof body !== 'string' || typeof since !== 'number' || typeof at !== 'number') return undefined;
  return { body, since, at, ...(over === true ? { over } : {}), ...(typeof run === 'string' ? { run } : {}) };
}

/** A delivery with a valid signature. */
export interface SignedDelivery {
  /** The sender's id, which is the same for retries. Absent if the sender gives none. */
  readonly id?: string;
  /** The sender's name for the event: `push`. */
  readonly event?: string;
  /** SHA-256 of the body. */
  readonly bodyHash: string;
}

export interface Delivery {
  readonly hook: string;
  readonly body: string | Uint8Array;
  readonly headers: HookHeaders;
  readonly secret: string;
  readonly now: number;
}

/** How far the timestamp may be off, in both directions, including the transport time. */
const TOLERANCE_MS = 5 * 60_000;
/** A sender that rotates its secret signs with both. */
const MAX_SIGNATURES = 16;
/** Printable characters, and short enough to store. */
const ID = /^[\x21-\x7e]{1,256}$/;
const EVENT = /^[\w.-]{1,64}$/;

/**
 * Refuses an empty key, which would accept every signature. The check of the manifest should have found it.
 */
const checkKey = (hook: string, secret: string, scheme: HookSignature): Buffer => {
  const key = keyOf(secret);
  if (key.length === 0) throw badSignature(hook, scheme);
  return key;
};

/** Throws `bad_signature`, or `hook_stale` if only the time is wrong. */
const checkSignature: Readonly<Record<HookSignature, (delivery: Delivery) => SignedDelivery>> = {
  /** standardwebhooks.com: the signature covers the id, the time and the body. */
  standard({ hook, body, headers, secret, now }) {
    const id = needed(hook, headers, 'webhook-id');
    const stamp = needed(hook, headers, 'webhook-timestamp');
    const given = needed(hook, headers, 'webhook-signature');
    const expected = createHmac('sha256', checkKey(hook, secret, 'standard'))
      .update(`${id}.${stamp}.`)
      .update(body)
      .digest();
    const isSigned = given
      .split(' ', MAX_SIGNATURES)
      .some((each) => each.startsWith('v1,') && isEqual(Buffer.from(each.slice(3), 'base64'), expected));
    if (!isSigned) throw badSignature(hook, 'standard');
    if (!ID.test(id)) throw idMalformed(hook, 'webhook-id');
    const at = /^\d{1,11}$/.test(stamp) ? Number(stamp) * 1_000 : Number.NaN;
    if (!(Math.abs(now - at) <= TOLERANCE_MS)) throw hookStale(hook, stamp, now);
    return { id, bodyHash: sha256(body) };
  },
  /** The signature covers only the body, so the id cannot be trusted. */
  github({ hook, body, headers, secret }) {
    const given = needed(hook, headers, 'x-hub-signature-256');
    const expected = createHmac('sha256', checkKey(hook, secret, 'github'))
      .update(body)
      .digest();
    const [, hex = ''] = /^sha256=([0-9a-f]{64})$/i.exec(given) ?? [];
    if (!isEqual(Buffer.from(hex, 'hex'), expected)) throw badSignature(hook, 'github');
    const id = headers['x-github-delivery'];
    if (id !== undefined && !ID.test(id)) throw idMalformed(hook, 'x-github-delivery');
    const event = headers['x-github-event'];
    return {
      ...(id === undefined ? {} : { id }),
      ...(event !== undefined && EVENT.test(event) ? { event } : {}),
      bodyHash: sha256(body),
    };
  },
};

function needed(hook: string, headers: HookHeaders, name: string): string {
  const value = headers[name];
  if (value === undefined || value === '')
    throw badSignature(hook, name === 'x-hub-signature-256' ? 'github' : 'standard', name);
  return value;
}

/** `whsec_BASE64` is decoded. Any other text is used as it is. */
export const keyOf = (secret: string): Buffer =>
  secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret, 'utf8');

const isEqual = (given: Buffer, expected: Buffer): boolean =>
  given.length === expected.length && timingSafeEqual(given, expected);

const sha256 = (body: string | Uint8Array): string => createHash('sha256').update(body).digest('hex');

export const hookUnknown = (hook: string, known: readonly string[]) =>
  new RuntimeError('hook_unknown', `No workflow has a trigger for the hook "${hook}".`, {
    hint: suggest(hook, known, 'Hooks'),
  });

const HOW: Readonly<Record<HookSignature, string>> = {
  standard:
    'Send webhook-id, webhook-timestamp and "webhook-signature: v1,BASE64", the HMAC-SHA256 of "ID.TIMESTAMP.BODY" with the trigger\'s "secret".',
  github:
    'Send "x-hub-signature-256: sha256=HEX", the HMAC-SHA256 of the body with the trigger\'s "secret": at GitHub it is the "Secret" of the webhook.',
};

/** `missing` is the name of a missing header. */
const badSignature = (hook: string, scheme: HookSignature, missing?: string) =>
  new RuntimeError(
    'bad_signature',
    missing === undefined
      ? `What came to the hook "${hook}" is not signed with its secret.`
      : `What came to the hook "${hook}" has no header "${missing}".`,
    { hint: HOW[scheme] },
  );

/** Longer than any valid timestamp. */
const MAX_SHOWN = 24;

const hookStale = (hook: string, stamp: string, now: number) =>
  new RuntimeError(
    'hook_stale',
    `What came to the hook "${hook}" is of the time "${stamp.slice(0, MAX_SHOWN)}"; here it is ${Math.floor(now / 1_000)}.`,
    {
      hint: 'webhook-timestamp is in seconds since 1970, of when it is sent, and may be off by 5 minutes: sign it anew for each try, and set the clocks.',
    },
  );

const idMalformed = (hook: string, header: string) =>
  new RuntimeError('bad_request', `What came to the hook "${hook}" has a ${header} that is no id.`, {
    hint: 'An id has 1 to 256 printable characters, and no space.',
  });

const hookReplayed = (hook: string, id: string) =>
  new RuntimeError(
    'hook_replayed',
    `The hook "${hook}" has taken "${id}" before, and that was something else.`,
    { hint: 'Give each message an id of its own; only a repeated one has the same.' },
  );

const hookInHand = (hook: string) =>
  new RuntimeError('hook_replayed', `The hook "${hook}" is taking this very message already.`, {
    hint: 'Send it again in a minute to hear what came of it.',
    retryable: true,
  });

export const hookTwice = (hook: string, workflows: readonly string[]) =>
  new RuntimeError(
    'bad_manifest',
    `Two triggers listen to the hook "${hook}": of ${workflows.join(' and ')}.`,
    { hint: 'Give one of them another "hook", or let one workflow start the other.' },
  );

export const hookTooLarge = (hook: string, limit: number) =>
  new RuntimeError('hook_too_large', `What came to the hook "${hook}" has more than ${limit} bytes.`, {
    hint: 'Send where it can be found instead of the whole of it.',
  });
