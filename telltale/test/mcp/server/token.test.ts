import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  readKeys,
  readToken,
  rotateKeys,
  signToken,
  type TokenKey,
} from '../../../src/mcp/server/continue-token.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { moreRuns } from '../../more-runs.ts';

const NOW = 1_800_000_000_000;
const key = (): TokenKey => ({
  id: randomBytes(6).toString('base64url'),
  secret: randomBytes(32).toString('base64url'),
});
const keys = { current: key(), previous: key() };
const claims = { run: 'run_01', step: 'each[2]/build', attempt: 1, nth: 2, expiresAt: NOW + 1_000 };
const token = signToken(claims, keys.current);

const codeOf = (given: unknown, now = NOW, of: Parameters<typeof readToken>[1] = keys): string => {
  try {
    readToken(given, of, now);
    return 'accepted';
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
};

describe('a continueToken', () => {
  it('says what it was signed for, with the current key and the one before', () => {
    expect(readToken(token, keys, NOW)).toEqual(claims);
    expect(readToken(signToken(claims, keys.previous), keys, NOW)).toEqual(claims);
    expect(token).toMatch(/^tt1\.[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(encodeURIComponent(token)).toBe(token);
  });

  it('is refused for what is wrong with it', () => {
    expect(codeOf(token, NOW + 1_000)).toBe('token_expired');
    expect(codeOf(signToken(claims, key()))).toBe('token_foreign');
    expect(codeOf(signToken(claims, { ...key(), id: keys.current.id }))).toBe('token_forged');
    for (const odd of [
      undefined,
      null,
      7,
      '',
      'tt1',
      `tt2${token.slice(3)}`,
      `${token} `,
      'x'.repeat(100_000),
    ])
      expect(codeOf(odd)).toBe('token_malformed');
  });

  it('is not accepted after any of 10,000 changes', () => {
    const others = Array.from({ length: 50 }, (_, n) =>
      signToken(
        { ...claims, run: `run_${n}`, nth: n, expiresAt: NOW + n * 1_000 },
        n % 2 === 0 ? key() : keys.current,
      ),
    );
    const parts = (text: string) => text.split('.');
    const at = fc.nat(token.length - 1);
    const other = fc.constantFrom(...others);
    const changed = fc.oneof(
      fc.tuple(at, fc.integer({ min: 1, max: 127 })).map(([where, bits]) => {
        const bytes = Buffer.from(token, 'latin1');
        bytes[where] = (bytes[where] ?? 0) ^ bits;
        return bytes.toString('latin1');
      }),
      at.map((length) => token.slice(0, length)),
      fc.tuple(at, other).map(([where, from]) => token.slice(0, where) + from.slice(where)),
      fc.tuple(fc.nat(3), other).map(([which, from]) =>
        parts(token)
          .map((part, index) => (index === which ? (parts(from)[index] ?? '') : part))
          .join('.'),
      ),
      fc
        .tuple(at, fc.string({ minLength: 1 }))
        .map(([where, text]) => token.slice(0, where) + text + token.slice(where)),
      fc.tuple(at, at).map(([one, two]) => {
        const chars = [...token];
        [chars[one], chars[two]] = [chars[two] ?? '', chars[one] ?? ''];
        return chars.join('');
      }),
      fc.shuffledSubarray(parts(token), { minLength: 4 }).map((all) => all.join('.')),
      fc.base64String().map((text) => `${token.slice(0, 13)}${text}.${token.slice(-43)}`),
      fc
        .record({ nth: fc.nat(), expiresAt: fc.integer({ max: NOW }) })
        .map((more) => signToken({ ...claims, ...more }, keys.current)),
      other.filter((each) => !each.startsWith(`tt1.${keys.current.id}`)),
    );
    // One in a kind of change may be none: those are the token itself, or another that was signed here and is good.
    const good = new Set([token, ...others.filter((each) => codeOf(each) === 'accepted')]);
    let tried = 0;
    fc.assert(
      fc.property(changed, (text) => {
        if (good.has(text)) return;
        tried++;
        expect(codeOf(text)).not.toBe('accepted');
      }),
      { numRuns: moreRuns(12_000) },
    );
    expect(tried).toBeGreaterThan(10_000);
  });
});

describe('the keys of an installation', () => {
  it('are made once, and the last but one counts until the second rotation', async () => {
    const { tables } = createMemoryStore({ clock: { now: () => NOW } });
    const [first, again] = await Promise.all([readKeys(tables), readKeys(tables)]);
    expect(again).toEqual(first);
    const signed = signToken(claims, first.current);
    const second = await rotateKeys(tables);
    expect(second.previous).toEqual(first.current);
    expect(codeOf(signed, NOW, second)).toBe('accepted');
    const third = await rotateKeys(tables);
    expect(codeOf(signed, NOW, third)).toBe('token_foreign');
    expect(codeOf(signToken(claims, second.current), NOW, await readKeys(tables))).toBe('accepted');
  });

  it('lose no rotation to another', async () => {
    const { tables } = createMemoryStore({ clock: { now: () => NOW } });
    const { current } = await readKeys(tables);
    const rotated = await Promise.all([rotateKeys(tables), rotateKeys(tables)]);
    const chain = rotated.map(({ previous }) => previous?.id);
    expect(new Set(chain).size).toBe(2);
    expect(chain).toContain(current.id);
  });
});
