import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Runtime } from '../../agent/runtime-types.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';

type ContinueTokenTables = Runtime['store']['tables'];

/** Relics' tables have names of their own form: no manifest reaches this one. */
const TABLE = 'mcp_keys';
const ROW = 'keys';
/** Others may change them at the same time, but hardly this often. */
const MAX_TRIES = 20;

/** How long keys that were read count as those of the store: another process may rotate them. */
const FRESH_MS = 1_000;

/** The keys of this installation, as they were a second ago at the most. */
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

/** The keys of this installation; made at the first use. */
export async function readKeys(tables: ContinueTokenTables): Promise<TokenKeys> {
  return keysIn(await tables.get(TABLE, ROW)) ?? change(tables, (known) => known ?? { current: newKey() });
}

/** A new key signs from now on; what the one before it signed counts until the next rotation. */
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
  new RuntimeError('keys_busy', 'The keys of continueTokens are being changed by others all the time.', {
    hint: 'Try again.',
    retryable: true,
  });

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

const AGAIN = 'resume_session gives the step in hand again, with a token.';

const tokenMalformed = () =>
  new RuntimeError('token_malformed', 'That is no continueToken: one looks like "tt1.….….…".', {
    hint: 'Send the continueToken of the last answer, unchanged.',
  });

const tokenForged = () =>
  new RuntimeError('token_forged', 'The continueToken was changed: its signature does not fit.', {
    hint: `Send the continueToken of the last answer, unchanged. ${AGAIN}`,
  });

export const tokenForeign = () =>
  new RuntimeError(
    'token_foreign',
    'The continueToken is of another installation or store, or of a key that has been rotated away.',
    { hint: `Send it to the server that gave it. ${AGAIN}` },
  );

const tokenExpired = (run: string, expiresAt: number) =>
  new RuntimeError('token_expired', `The continueToken expired at ${new Date(expiresAt).toISOString()}.`, {
    hint: `resume_session {"run": "${run}"} gives the step in hand again, with a new one.`,
  });

export const tokenStale = (run: string, why: string) =>
  new RuntimeError('token_stale', `The step of this continueToken is not in hand any more: ${why}`, {
    hint: `resume_session {"run": "${run}"} says where the run is.`,
  });

export const tokenReplayed = (run: string) =>
  new RuntimeError('token_replayed', 'The continueToken was used before, and the run has gone on since.', {
    hint: `Send the continueToken of the last answer. resume_session {"run": "${run}"} gives the step in hand again.`,
  });

export const claimHoldsToken = () =>
  new RuntimeError('claim_refused', 'The step is not completed. What was sent holds a continueToken.', {
    hint: 'A token belongs into "continueToken" only: leave it out of notes, context_updates and artifacts.',
  });

/** What else is sent may come into a prompt. */
export const misplacedToken = (tool: string) =>
  new RuntimeError('bad_parameters', `What was sent to ${tool} holds a continueToken.`, {
    hint: 'A token belongs into "continueToken" of continue_workflow only: leave it out.',
  });
