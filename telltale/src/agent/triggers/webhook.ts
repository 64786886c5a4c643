import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { derivedId } from '../../lib/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Tables } from '../../store/store.ts';
import type { HookSignature, OutsideTrigger } from '../../triggers/outside-triggers.ts';
import type { HookHeaders, OutsideOutcome } from '../runs/run-types.ts';

/** Of what is posted to a hook: it goes on the log of the run whole. */
export const MAX_HOOK_BYTES = 1024 * 1024;

export type Webhook = Extract<OutsideTrigger, { readonly type: 'webhook' }>;

export interface ReceiveDeps {
  readonly guard: ReplayGuard;
  readonly now: () => number;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** Has the run started, under that id, and resolves once it is on its log. */
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
    // Whoever took it first has started it, and died before it could say so.
    if (toRuntimeError(thrown).code === 'stream_exists') {
      await taken.over(run);
      return { kind: 'replayed', run };
    }
    // One that cannot be given back is another's after a while.
    await taken.release().catch(() => undefined);
    throw thrown;
  }
}

/** Deeper lists and objects are left as the text that they came in: what writes JSON would run out of stack. */
const MAX_DEPTH = 200;

/** JSON where it is some, else the text. */
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
 * How long what was accepted is remembered. A stamped message is too old after 5 minutes anyway, but an honest sender
 * that heard no answer stamps it anew for hours. Without a stamp nothing else keeps an old one from being sent again.
 */
const REMEMBERED_MS: Readonly<Record<HookSignature, number>> = { standard: DAY_MS, github: 30 * DAY_MS };
/** How long whoever takes a message has for starting its run before another takes it to be dead. */
const CLAIM_MS = 30_000;
/** When one was claimed that nobody holds any more. */
const UNCLAIMED = 0;
/** Between two looks a row may come and go. */
const MAX_TRIES = 10;

export type DeliveryClaim =
  | {
      readonly kind: 'first';
      /** When somebody first took it, who may have died since: its run's id follows from it. */
      readonly since: number;
      /** From now on it is known, and `run` is what came of it. */
      over(run: string | undefined): Promise<void>;
      /**
       * It may be sent again. What came of it may not be known, where the store went away meanwhile: whoever takes it next
       * is given the same `since`, so that the log refuses a second run.
       */
      release(): Promise<void>;
    }
  | { readonly kind: 'known'; readonly run?: string };

export interface ReplayGuard {
  /**
   * Takes a delivery, once over all processes of a store. Rejects with `hook_replayed` where its id stood for something
   * else, and while another is taking it.
   */
  take(hook: string, scheme: HookSignature, delivery: SignedDelivery): Promise<DeliveryClaim>;
}

interface WebhookRow {
  readonly body: string;
  readonly since: number;
  /** When it was claimed. */
  readonly at: number;
  readonly over?: true;
  readonly run?: string;
}

export function createReplayGuard(tables: Tables, clock: Pick<Clock, 'now'>, agent: string): ReplayGuard {
  return {
    async take(hook, scheme, delivery) {
      const keys = keysOf(agent, hook, scheme, delivery).map((key) => ({ table: TABLE, key }));
      const ttlMs = REMEMBERED_MS[scheme];
      /** Who took longer than a claim counts has lost it to another, whose word it is now. */
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

/** By its id, and where that is not signed by its body, too: anybody can write another id in front of it. */
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

/** What was posted, once its signature was found to be right. */
export interface SignedDelivery {
  /** The sender's own id of it: the same each time that it is sent again. Absent where the sender gives none. */
  readonly id?: string;
  /** What the sender calls it: `push`. */
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

/** How far the sender's clock may be off, either way, the way of the message included. */
const TOLERANCE_MS = 5 * 60_000;
/** While a sender changes its secret it signs with both. */
const MAX_SIGNATURES = 16;
/** Printable, and short enough to be kept. */
const ID = /^[\x21-\x7e]{1,256}$/;
const EVENT = /^[\w.-]{1,64}$/;

/** A check against an empty key would let everybody pass: what a manifest check should have found. */
const checkKey = (hook: string, secret: string, scheme: HookSignature): Buffer => {
  const key = keyOf(secret);
  if (key.length === 0) throw badSignature(hook, scheme);
  return key;
};

/** Throws `bad_signature`, or `hook_stale` where all is right but the time. */
const checkSignature: Readonly<Record<HookSignature, (delivery: Delivery) => SignedDelivery>> = {
  /** standardwebhooks.com: the id and the time are signed with the body. */
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
  /** Only the body is signed: neither the id nor a time can be trusted. */
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

/** `whsec_BASE64` is the bytes that it stands for; any other text is itself. */
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

/** `missing` is the header that is not there, where one is. */
const badSignature = (hook: string, scheme: HookSignature, missing?: string) =>
  new RuntimeError(
    'bad_signature',
    missing === undefined
      ? `What came to the hook "${hook}" is not signed with its secret.`
      : `What came to the hook "${hook}" has no header "${missing}".`,
    { hint: HOW[scheme] },
  );

/** Longer than any time that fits. */
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
