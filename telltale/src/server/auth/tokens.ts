import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role, TokenInfo } from '../../client/api.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { identityText, tokenIdentity } from '../../lib/ids.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';
import type { Store } from '../../store/store.ts';

/** By name; by hash; when each was last used. Relics' tables have names of another form: no manifest reaches these. */
const NAMES = 'server.tokens';
const HASHES = 'server.token_hashes';
const USES = 'server.token_uses';
/** Names of tokens that were revoked: none is given out twice, so that a signature says who signed. */
const REVOKED = 'server.revoked_tokens';

/** Easy to find for whoever looks for secrets where none should be. */
const PREFIX = 'tt_';
const TOKEN = /^tt_[\w-]{43}$/;
const TOKEN_BYTES = 32;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
/** Signed what nobody was known for, before every request needed a token. */
const RESERVED = 'local';
const MAX_TOKENS = 1_000;

/** How long what was read counts as the store's: another process may revoke a token. */
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
 * The tokens of a store. A hash without salt and repetition is right here: a token has 256 random bits, which nobody
 * tries out, unlike a password. It is looked up by its hash, so how long that takes says nothing of the token either.
 */
export function createTokens(
  { tables }: Pick<Store, 'tables'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  random: (size: number) => Buffer = randomBytes,
): Tokens {
  /** Known tokens only, in the order in which they were read. */
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

  /** For people to look at: a store that cannot be written, or is locked, keeps nobody from reading. */
  const noteUse = (name: string): void => {
    const now = clock.now();
    if (Math.abs(now - (usedAt.get(name) ?? Number.NEGATIVE_INFINITY)) < USE_EVERY_MS) return;
    usedAt.set(name, now);
    tables.set(USES, name, now).catch(() => usedAt.delete(name)); // it is noted at the next use
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
      // Behind the write: who called meanwhile had it looked up once more.
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
 * The tokens of a store, and one more that a daemon makes for whoever started it: an admin's, kept as a hash in memory,
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

/** A token that nobody can guess. */
export const newToken = (random: (size: number) => Buffer = randomBytes): string =>
  `${PREFIX}${random(TOKEN_BYTES).toString('base64url')}`;

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
const hashOf = (token: string): string => digestOf(token).toString('hex');

const isTokenRow = (row: Json | undefined): row is Json & TokenRow =>
  isJsonObject(row) && typeof row.hash === 'string';

/** What a token is called that authenticates without a name of its own: the beginning of its hash. */
const STRAY = /^sha256:[0-9a-f]{16}$/;
const HASH = /^[0-9a-f]{64}$/;
const HASH_PAGE = 1_000;

interface StrayToken extends TokenInfo {
  readonly hash: string;
}

/**
 * Tokens that are looked up by hash, and that no row by name stands for: a store that was edited or restored from
 * elsewhere may have them. They authenticate, so they are listed, and revoked by what they are listed as.
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
  new RuntimeError('name_malformed', `A token cannot be called "${name.slice(0, 100)}".`, {
    hint: `Use 1 to 64 letters, digits, ".", "_", "@" or "-", and another name than "${RESERVED}".`,
  });

const tokenExists = (name: string) =>
  new RuntimeError('token_exists', `There is a token named "${name}" already.`, {
    hint: `Choose another name: telltale token create ${name}-2 --role run`,
  });

const tokenRevoked = (name: string) =>
  new RuntimeError('token_exists', `A token named "${name}" was revoked. Its name is not given out again.`, {
    hint: `Records are signed with names, so each name stands for one token. Choose another: telltale token create ${name}-2 --role run`,
  });

const tokensFull = () =>
  new RuntimeError('tokens_full', `There are ${MAX_TOKENS} tokens already.`, {
    hint: 'Revoke unused ones. To see when each was last used: telltale token list',
  });

/** Bearer tokens of a store. Only their hashes are kept: a token is shown once, when it is made. */
export interface Tokens {
  create(
    name: string,
    role: Role,
    createdBy?: string,
  ): Promise<{ readonly token: string; readonly info: TokenInfo }>;
  list(): Promise<readonly TokenInfo[]>;
  /** Whether there was one. */
  revoke(name: string): Promise<boolean>;
  /** Whose token it is; undefined where it is nobody's. */
  check(token: string): Promise<TokensCaller | undefined>;
  /** Whether any is set. */
  any(): Promise<boolean>;
}

/** Who sent a request. */
export interface TokensCaller {
  /** What it is called on the screen: the token's name, or who started the server. */
  readonly name: string;
  /** How logs and the audit sign what it does: `token:ci`, `user:ana`. */
  readonly by: string;
  readonly role: Role;
}
