import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { HookSignature } from '../../triggers/outside-triggers.ts';
import type { HookHeaders } from '../runs/run-types.ts';
import { badSignature, hookStale, idMalformed } from './hook-errors.ts';

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
export const checkSignature: Readonly<Record<HookSignature, (delivery: Delivery) => SignedDelivery>> = {
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
