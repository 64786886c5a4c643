import { createHmac, timingSafeEqual } from 'node:crypto';
import { tokenExpired, tokenForeign, tokenForged, tokenMalformed } from './token-errors.ts';

/** A secret of this installation. */
export interface TokenKey {
  /** Names it in the tokens that it signs. */
  readonly id: string;
  /** 32 random bytes as base64url: the text itself is the key. */
  readonly secret: string;
}

export interface TokenKeys {
  /** Signs. */
  readonly current: TokenKey;
  /** Was the current one before: what it signed still counts. */
  readonly previous?: TokenKey;
}

/** Which answer a token lets its holder give, once: to the `nth` question of one attempt at a step of a run. */
export interface TokenClaims {
  readonly run: string;
  readonly step: string;
  readonly attempt: number;
  readonly nth: number;
  /** In milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

const VERSION = 'tt1';
/** `tt1.KEY.CLAIMS.MAC`: nothing in it has to be escaped in a URL. */
const SHAPE = /^tt1\.([\w-]{8})\.([\w-]+)\.([\w-]{43})$/;
/** Longer addresses of steps are not made by any workflow that a check has passed. */
const MAX_CHARS = 8_192;

export function signToken({ run, step, attempt, nth, expiresAt }: TokenClaims, key: TokenKey): string {
  const claims = Buffer.from(JSON.stringify([run, step, attempt, nth, expiresAt])).toString('base64url');
  const signed = `${VERSION}.${key.id}.${claims}`;
  return `${signed}.${macOf(signed, key)}`;
}

/** Throws where the token is none of ours, was changed, or is too old. Reads nothing of it before its MAC is right. */
export function readToken(token: unknown, { current, previous }: TokenKeys, now: number): TokenClaims {
  if (typeof token !== 'string' || token.length > MAX_CHARS) throw tokenMalformed();
  const [, id = '', claims = '', mac = ''] = SHAPE.exec(token) ?? [];
  if (mac === '') throw tokenMalformed();
  const key = [current, previous].find((each) => each?.id === id);
  if (key === undefined) throw tokenForeign();
  // Text is compared with text: of base64 several spellings would decode to the same bytes.
  const expected = macOf(`${VERSION}.${id}.${claims}`, key);
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(expected))) throw tokenForged();
  const [run, step, attempt, nth, expiresAt] = JSON.parse(
    Buffer.from(claims, 'base64url').toString('utf8'),
  ) as [string, string, number, number, number];
  if (now >= expiresAt) throw tokenExpired(run, expiresAt);
  return { run, step, attempt, nth, expiresAt };
}

/** Whether a text holds what looks like a token of ours. */
export const holdsToken = (text: string): boolean => /tt1\.[\w-]{8}\.[\w-]+\.[\w-]{43}/.test(text);

/** A key that is text: one of bytes takes Node six times as long to look at. */
const macOf = (signed: string, { secret }: TokenKey): string =>
  createHmac('sha256', secret).update(signed).digest('base64url');
