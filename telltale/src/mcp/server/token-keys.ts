import { randomBytes } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import type { TokenKey, TokenKeys } from './continue-token.ts';

type Tables = Runtime['store']['tables'];

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

export function createKeyRing(tables: Tables, clock: Pick<Clock, 'monotonic'>): KeyRing {
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
export async function readKeys(tables: Tables): Promise<TokenKeys> {
  return keysIn(await tables.get(TABLE, ROW)) ?? change(tables, (known) => known ?? { current: newKey() });
}

/** A new key signs from now on; what the one before it signed counts until the next rotation. */
export const rotateKeys = (tables: Tables): Promise<TokenKeys> =>
  change(tables, (known) => ({
    current: newKey(),
    ...(known === undefined ? {} : { previous: known.current }),
  }));

async function change(tables: Tables, made: (known: TokenKeys | undefined) => TokenKeys): Promise<TokenKeys> {
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
