import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Runtime } from '../../agent/runtime-types.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';

type ContinueTokenTables = Runtime['store']['tables'];

/** Relics' tables have other names, so no manifest can reach this one. */
const TABLE = 'mcp_keys';
const ROW = 'keys';
/** Others may change the keys at the same time, but hardly this often. */
const MAX_TRIES = 20;

/** How long keys from the store are cached. Another process may rotate them. */
const FRESH_MS = 1_000;

/** The keys of this installation, at most a second old. */
export interface KeyRing {
  keys(): Promise<TokenKeys>;
}

export function createKeyRing(tables: ContinueTokenTables, clock: Pick<Clock, 'monotonic'>): KeyRing {
  let known: { readonly keys: TokenKeys; readonly at: number } | undefined;
  return {
    async keys() {
      const at = clock.monotonic();
      if (known === undefined || at - known.at >= FRESH_MS) known = { keys: await readKeys(tables), at };
      return known.keys;
    },
  };
}

/** The keys of this installation. Created at the first use. */
export async function readKeys(tables: ContinueTokenTables): Promise<TokenKeys> {
  return keysIn(await tables.get(TABLE, ROW)) ?? change(tables, (known) => known ?? { current: newKey() });
}

/** Rotates the keys: a new key signs from now on, and tokens of the previous one are valid until the next rotation. */
export const rotateKeys = (tables: ContinueTokenTables): Promise<TokenKeys> =>
  change(tables, (known) => ({
    current: newKey(),
    ...(known === undefined ? {} : { previous: known.current }),
  }));

async function change(
  tables: ContinueTokenTables,
  made: (known: TokenKeys | undefined) => TokenKeys,
): Promise<TokenKeys> {
  const at = { table: TABLE, key: ROW };
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const before = await tables.get(TABLE, ROW);
    const keys = made(keysIn(before));
    const value = keys as unknown as Json;
    if (await tables.exchange([{ ...at, value: before }], [{ ...at, value }])) return keys;
  }
  throw keysBusy();
}

const newKey = (): TokenKey => ({
  id: randomBytes(6).toString('base64url'),
  secret: randomBytes(32).toString('base64url'),
});

const keysIn = (row: Json | undefined): TokenKeys | undefined =>
  row === undefined ? undefined : (row as unknown as TokenKeys);

const keysBusy = () =>
  new RuntimeError('keys_busy', 'The keys of continueTokens are constantly being changed by others.', {
    hint: 'Try again.',
    retryable: true,
  });

/** A secret of this installation. */
export interface TokenKey {
  /** Identifies the key in the tokens that it signs. */
  readonly id: string;
  /** 32 random bytes as base64url. The text itself is the key. */
  readonly secret: string;
}

export interface TokenKeys {
  /** The key that signs. */
  readonly current: TokenKey;
  /** The previous key. Its tokens are still valid. */
  readonly previous?: TokenKey;
}

/** The answer that a token allows its holder to give, once: to the `nth` question of one attempt at a step of a run. */
export interface TokenClaims {
  readonly run: string;
  readonly step: string;
  readonly attempt: number;
  readonly nth: number;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

const VERSION = 'tt1';
/** `tt1.KEY.CLAIMS.MAC`. Nothing in it needs escaping in a URL. */
const SHAPE = /^tt1\.([\w-]{8})\.([\w-]+)\.([\w-]{43})$/;
/** No valid workflow has longer step addresses. */
const MAX_CHARS = 8_192;

export function signToken({ run, step, attempt, nth, expiresAt }: TokenClaims, key: TokenKey): string {
  const claims = Buffer.from(JSON.stringify([run, step, attempt, nth, expiresAt])).toString('base64url');
  const signed = `${VERSION}.${key.id}.${claims}`;
  return `${signed}.${macOf(signed, key)}`;
}

/** Throws if the token is not ours, was changed, or has expired. Nothing in it is parsed before its MAC is verified. */
export function readToken(token: unknown, { current, previous }: TokenKeys, now: number): TokenClaims {
  if (typeof token !== 'string' || token.length > MAX_CHARS) throw tokenMalformed();
  const [, id = '', claims = '', mac = ''] = SHAPE.exec(token) ?? [];
  if (mac === '') throw tokenMalformed();
  const key = [current, previous].find((each) => each?.id === id);
  if (key === undefined) throw tokenForeign();
  // Compares text, because several base64 spellings decode to the same bytes.
  const expected = macOf(`${VERSION}.${id}.${claims}`, key);
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(expected))) throw tokenForged();
  const [run, step, attempt, nth, expiresAt] = JSON.parse(
    Buffer.from(claims, 'base64url').toString('utf8'),
  ) as [string, string, number, number, number];
  if (now >= expiresAt) throw tokenExpired(run, expiresAt);
  return { run, step, attempt, nth, expiresAt };
}

/** Whether a text contains something that looks like one of our tokens. */
export const holdsToken = (text: string): boolean => /tt1\.[\w-]{8}\.[\w-]+\.[\w-]{43}/.test(text);

/** The key is used as text, because Node takes six times as long with bytes. */
const macOf = (signed: string, { secret }: TokenKey): string =>
  createHmac('sha256', secret).update(signed).digest('base64url');

const AGAIN = 'resume_session returns the current step again, with a token.';

const tokenMalformed = () =>
  new RuntimeError('token_malformed', 'This is not a continueToken. One looks like "tt1.….….…".', {
    hint: 'Send the continueToken of the last answer, unchanged.',
  });

const tokenForged = () =>
  new RuntimeError('token_forged', 'The continueToken was changed, so its signature does not match.', {
    hint: `Send the continueToken of the last answer, unchanged. ${AGAIN}`,
  });

export const tokenForeign = () =>
  new RuntimeError(
    'token_foreign',
    'The continueToken belongs to another installation or store, or to a key that was replaced.',
    { hint: `Send it to the server that issued it. ${AGAIN}` },
  );

const tokenExpired = (run: string, expiresAt: number) =>
  new RuntimeError('token_expired', `The continueToken expired at ${new Date(expiresAt).toISOString()}.`, {
    hint: `resume_session {"run": "${run}"} returns the current step again, with a new one.`,
  });

export const tokenStale = (run: string, why: string) =>
  new RuntimeError('token_stale', `The step of this continueToken is not the current one any more: ${why}`, {
    hint: `resume_session {"run": "${run}"} returns the current step of the run.`,
  });

export const tokenReplayed = (run: string) =>
  new RuntimeError('token_replayed', 'The continueToken was used before, and the run has continued since.', {
    hint: `Send the continueToken of the last answer. resume_session {"run": "${run}"} returns the current step again.`,
  });

export const claimHoldsToken = () =>
  new RuntimeError('claim_refused', 'The step is not completed, because the data contains a continueToken.', {
    hint: 'Send a token only as "continueToken", not in notes, context_updates or artifacts.',
  });

/** Rejected because other parameters may become part of a prompt. */
export const misplacedToken = (tool: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${tool} contain a continueToken.`, {
    hint: 'Send a token only as "continueToken" of continue_workflow.',
  });
