import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role, TokenInfo } from '../../client/api.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { identityText, tokenIdentity } from '../../lib/ids.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';
import type { Store } from '../../store/store.ts';

/**
 * Tables: tokens by name, by hash, and the time of each token's last use. Relics' tables have other names, so no
 * manifest can reach these.
 */
const NAMES = 'server.tokens';
const HASHES = 'server.token_hashes';
const USES = 'server.token_uses';
/** Names of revoked tokens. A name is never reused, so that a signature always means the same token. */
const REVOKED = 'server.revoked_tokens';

/** Makes tokens easy to find for secret scanners. */
const PREFIX = 'tt_';
const TOKEN = /^tt_[\w-]{43}$/;
const TOKEN_BYTES = 32;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
/** Signed anonymous actions of older versions, before every request needed a token. */
const RESERVED = 'local';
const MAX_TOKENS = 1_000;

/** How long a token read from the store is cached. Another process may revoke it meanwhile. */
const FRESH_MS = 1_000;
const MAX_FRESH = 1_000;
const USE_EVERY_MS = 60_000;

interface TokenRow {
  readonly role: Role;
  readonly hash: string;
  readonly createdAt: number;
  /** Absent in tokens of older versions. */
  readonly createdBy?: string;
}

interface TokensKnown {
  readonly caller: TokensCaller | undefined;
  readonly atMs: number;
}

/**
 * The tokens of a store. A plain hash without salt or stretching is right here: a token has 256 random bits, so it
 * cannot be guessed like a password. Tokens are looked up by hash, so the lookup's timing reveals nothing about the
 * token.
 */
export function createTokens(
  { tables }: Pick<Store, 'tables'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  random: (size: number) => Buffer = randomBytes,
): Tokens {
  /** Caches valid tokens only, in the order they were read. */
  const fresh = new Map<string, TokensKnown>();
  const usedAt = new Map<string, number>();

  const read = async (hash: string): Promise<TokensCaller | undefined> => {
    const before = fresh.get(hash);
    const atMs = clock.monotonic();
    if (before !== undefined && atMs - before.atMs < FRESH_MS) return before.caller;
    const row = (await tables.get(HASHES, hash)) as TokensCaller | undefined;
    fresh.delete(hash);
    if (row === undefined) return undefined;
    const caller = { name: row.name, role: row.role, by: tokenIdentity(row.name) };
    fresh.set(hash, { caller, atMs });
    const [oldest] = fresh.keys();
    if (fresh.size > MAX_FRESH && oldest !== undefined) fresh.delete(oldest);
    return caller;
  };

  /** Only informational, so a store that is locked or read-only does not prevent anyone from reading. */
  const noteUse = (name: string): void => {
    const now = clock.now();
    if (Math.abs(now - (usedAt.get(name) ?? Number.NEGATIVE_INFINITY)) < USE_EVERY_MS) return;
    usedAt.set(name, now);
    tables.set(USES, name, now).catch(() => usedAt.delete(name)); // recorded at the next use
  };

  const infoOf = (name: string, { role, createdAt, createdBy }: TokenRow, lastUsedAt?: Json): TokenInfo => ({
    name,
    role,
    createdAt,
    ...(createdBy === undefined ? {} : { createdBy }),
    ...(typeof lastUsedAt === 'number' ? { lastUsedAt } : {}),
  });

  return {
    async create(name, role, createdBy) {
      if (!NAME.test(name) || name === RESERVED) throw badTokenName(name);
      if ((await tables.keys(NAMES, { limit: MAX_TOKENS })).length >= MAX_TOKENS) throw tokensFull();
      if ((await tables.get(REVOKED, name)) !== undefined) throw tokenRevoked(name);
      const token = newToken(random);
      const row: TokenRow = {
        role,
        hash: hashOf(token),
        createdAt: clock.now(),
        ...(createdBy === undefined ? {} : { createdBy }),
      };
      const made = await tables.exchange(
        [
          { table: NAMES, key: name, value: undefined },
          { table: REVOKED, key: name, value: undefined },
        ],
        [
          { table: NAMES, key: name, value: { ...row } },
          { table: HASHES, key: row.hash, value: { name, role } },
          { table: USES, key: name, value: undefined },
        ],
      );
      if (!made) throw tokenExists(name);
      return { token, info: infoOf(name, row) };
    },
    async list() {
      const names = await tables.keys(NAMES, { limit: MAX_TOKENS });
      const rows = await Promise.all(
        names.map(async (name) => {
          const [row, used] = await Promise.all([tables.get(NAMES, name), tables.get(USES, name)]);
          return !NAME.test(name) || !isTokenRow(row) ? [] : [{ row, info: infoOf(name, row, used) }];
        }),
      );
      const found = rows.flat();
      const known = new Set(found.map(({ row }) => row.hash));
      return [...found.map(({ info }) => info), ...(await strayTokens(tables, known))];
    },
    async revoke(name) {
      if (STRAY.test(name)) {
        const hash = (await strayTokens(tables, new Set())).find((each) => each.name === name)?.hash;
        if (hash === undefined) return false;
        fresh.delete(hash);
        return tables.delete(HASHES, hash);
      }
      if (!NAME.test(name)) return false;
      const row = await tables.get(NAMES, name);
      if (row === undefined) return false;
      const { hash } = row as unknown as TokenRow;
      const isRevoked = await tables.exchange(
        [{ table: NAMES, key: name, value: row }],
        [
          { table: NAMES, key: name, value: undefined },
          { table: HASHES, key: hash, value: undefined },
          { table: USES, key: name, value: undefined },
          { table: REVOKED, key: name, value: clock.now() },
        ],
      );
      // After the write: a caller in between may have cached the token once more.
      fresh.delete(hash);
      usedAt.delete(name);
      return isRevoked;
    },
    async check(token) {
      if (!TOKEN.test(token)) return undefined;
      const caller = await read(hashOf(token));
      if (caller !== undefined) noteUse(caller.name);
      return caller;
    },
    any: async () => (await tables.keys(NAMES, { limit: 1 })).length > 0,
  };
}

/**
 * Adds a temporary token for whoever started the daemon. It has the role admin, exists only as a hash in memory, and is
 * gone with the process.
 */
export function withStartToken(
  tokens: Tokens,
  startedBy: string,
  random: (size: number) => Buffer = randomBytes,
): { readonly tokens: Tokens; readonly token: string } {
  const token = newToken(random);
  const own = digestOf(token);
  const caller: TokensCaller = { name: identityText(startedBy), by: startedBy, role: 'admin' };
  return {
    token,
    tokens: {
      ...tokens,
      check: async (sent) => (timingSafeEqual(digestOf(sent), own) ? caller : tokens.check(sent)),
    },
  };
}

/** Creates an unguessable token. */
export const newToken = (random: (size: number) => Buffer = randomBytes): string =>
  `${PREFIX}${random(TOKEN_BYTES).toString('base64url')}`;

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
const hashOf = (token: string): string => digestOf(token).toString('hex');

const isTokenRow = (row: Json | undefined): row is Json & TokenRow =>
  isJsonObject(row) && typeof row.hash === 'string';

/** The name shown for a token that has none: the beginning of its hash. */
const STRAY = /^sha256:[0-9a-f]{16}$/;
const HASH = /^[0-9a-f]{64}$/;
const HASH_PAGE = 1_000;

interface StrayToken extends TokenInfo {
  readonly hash: string;
}

/**
 * Finds tokens that can be used but have no entry by name, for example in a store that was edited or restored. They
 * authenticate, so they must be listed, and can be revoked by the listed name.
 */
async function strayTokens(
  tables: Store['tables'],
  known: ReadonlySet<string>,
): Promise<readonly StrayToken[]> {
  const stray: StrayToken[] = [];
  for (let after: string | undefined; ; ) {
    const page: readonly string[] = await tables.keys(HASHES, {
      limit: HASH_PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const hash of page) {
      if (known.has(hash) || !HASH.test(hash)) continue;
      const row = await tables.get(HASHES, hash);
      if (row === undefined) continue;
      const { name, role } = isJsonObject(row) ? row : {};
      stray.push({
        hash,
        name: `sha256:${hash.slice(0, 16)}`,
        role: (typeof role === 'string' ? role : 'none') as Role,
        createdAt: 0,
        claims: typeof name === 'string' ? name : '',
      });
    }
    after = page.at(-1);
    if (after === undefined) return stray;
  }
}

const badTokenName = (name: string) =>
  new RuntimeError('name_malformed', `"${name.slice(0, 100)}" is not a valid token name.`, {
    hint: `Use 1 to 64 letters, digits, ".", "_", "@" or "-", but not "${RESERVED}".`,
  });

const tokenExists = (name: string) =>
  new RuntimeError('token_exists', `A token named "${name}" already exists.`, {
    hint: `Choose another name: telltale token create ${name}-2 --role run`,
  });

const tokenRevoked = (name: string) =>
  new RuntimeError('token_exists', `A token named "${name}" was revoked. Its name cannot be used again.`, {
    hint: `Logs are signed with token names, so each name must stay unique. Choose another name: telltale token create ${name}-2 --role run`,
  });

const tokensFull = () =>
  new RuntimeError('tokens_full', `There are ${MAX_TOKENS} tokens already.`, {
    hint: 'Revoke unused ones. To see when each was last used: telltale token list',
  });

/** The bearer tokens of a store. Only their hashes are stored, so a token is shown once, when it is created. */
export interface Tokens {
  create(
    name: string,
    role: Role,
    createdBy?: string,
  ): Promise<{ readonly token: string; readonly info: TokenInfo }>;
  list(): Promise<readonly TokenInfo[]>;
  /** Returns whether the token existed. */
  revoke(name: string): Promise<boolean>;
  /** Returns the owner of a valid token. Undefined for any other. */
  check(token: string): Promise<TokensCaller | undefined>;
  /** Whether there are any tokens. */
  any(): Promise<boolean>;
}

/** The sender of a request. */
export interface TokensCaller {
  /** The name shown to people: the token's name, or who started the server. */
  readonly name: string;
  /** The signature in logs and in the audit: `token:ci`, `user:ana`. */
  readonly by: string;
  readonly role: Role;
}
