import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { signer } from '../../src/cli/program.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createTokens } from '../../src/server/auth/tokens.ts';
import { openStore } from '../../src/store/open-store.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const clock = createSystemClock();

async function token(argv: readonly string[], cwd: string) {
  const io = { ...recordedIo({ cwd }), clock };
  const code = await main(['token', ...argv], io);
  return { code, out: io.out(), err: io.err() };
}

it('a token is printed once, counts in the store, is listed without itself, and can be revoked', async () => {
  const cwd = temporaryProject({});
  expect((await token([], cwd)).out).toContain('telltale token create NAME --role run');
  expect(existsSync(join(cwd, '.telltale'))).toBe(false);

  const made = await token(['create', 'ann', '--role', 'run'], cwd);
  expect(made.code).toBe(0);
  expect(made.out).toMatch(/^tt_[\w-]{43}\n$/);
  expect(made.err).toContain('Token "ann" has the role "run".');
  const ci = JSON.parse((await token(['create', 'ci', '--role', 'read', '--json'], cwd)).out);
  expect(ci).toEqual({
    name: 'ci',
    role: 'read',
    token: expect.stringMatching(/^tt_/),
    created: expect.any(String),
  });

  const store = await openStore('sqlite:.telltale/telltale.db', { cwd, clock, durability: 'process' });
  const tokens = createTokens(store, clock);
  expect(await tokens.check(made.out.trim())).toEqual({ name: 'ann', by: 'token:ann', role: 'run' });
  await store.close();

  const { out } = await token(['list'], cwd);
  expect(out).toMatch(
    /NAME +ROLE +CREATED +BY +LAST USED\nann +run +just now +\S+ +just now\nci +read +just now +\S+ +never\n/,
  );
  expect(out).not.toContain('tt_');
  expect(JSON.parse((await token(['--json'], cwd)).out)[1]).toMatchObject({
    name: 'ci',
    lastUsed: null,
    createdBy: signer(),
  });

  expect((await token(['revoke', 'ann'], cwd)).out).toBe('Token "ann" is revoked.\n');
  const again = await token(['revoke', 'an'], cwd);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("There is no token named 'an'.")]);
  expect(JSON.parse((await token(['revoke', 'ci', '--json'], cwd)).out)).toEqual({
    name: 'ci',
    revoked: true,
  });
});

it('a name that is taken, a role that is none and a missing one are said so', async () => {
  const cwd = temporaryProject({});
  await token(['create', 'ann', '--role', 'admin'], cwd);
  const taken = await token(['create', 'ann', '--role', 'read'], cwd);
  expect(taken.code).toBe(1);
  expect(taken.err).toContain('A token named "ann" already exists.');
  expect((await token(['create', 'bob', '--role', 'root'], cwd)).code).toBe(2);
  expect((await token(['create', 'bob'], cwd)).code).toBe(2);
  expect((await token(['crate', 'bob'], cwd)).err).toContain('Did you mean "create"?');
  expect((await token(['create', 'local', '--role', 'read'], cwd)).code).toBe(1);
});
