import { expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { agentTargets } from './agent-targets.ts';
import { memoryTables } from './memory-tables.ts';

const given = (relic: string, more = '') => {
  const clock = createSimulatedClock();
  return agentTargets({
    agent: 'import: { relics: [./r.yml] }',
    files: { 'r.yml': `kind: Relic\nname: notes\ndriver: ${relic}\n${more}\n` },
    options: { clock, store: { location: 'memory', tables: memoryTables(() => clock.now()) } },
  }).then((targets) => ({ ...targets, clock }));
};

test('kv keeps values by key, and get is its default', async () => {
  const { call, table } = await given('kv');
  expect(table.find('relic', 'notes')?.kind).toBe('relic');
  expect(await call('notes', { key: 'a' })).toBeNull();
  expect(await call('notes', { operation: 'set', key: 'a', value: { n: [1] } })).toEqual({ key: 'a' });
  expect(await call('notes', { key: 'a' })).toEqual({ n: [1] });
  expect(await call('notes', { operation: 'delete', key: 'a' })).toEqual({ deleted: true });
  expect(await call('notes', { operation: 'delete', key: 'a' })).toEqual({ deleted: false });
});

test('a time to live is a duration or seconds', async () => {
  const { call, failure, clock } = await given('kv');
  expect(await call('notes', { operation: 'set', key: 'a', value: 1, ttl: '2m' })).toEqual({
    key: 'a',
    expires_in_ms: 120_000,
  });
  await call('notes', { operation: 'set', key: 'b', value: 1, ttl: 30 });
  await clock.advance(60_000);
  expect(await call('notes', { operation: 'keys' })).toEqual({ keys: ['a'] });
  await clock.advance(60_000);
  expect(await call('notes', { key: 'a' })).toBeNull();
  expect((await failure('notes', { operation: 'set', key: 'a', value: 1, ttl: 'soon' })).message).toContain(
    '"/ttl"',
  );
  expect((await failure('notes', { operation: 'set', key: 'a', value: 1, ttl: 0 })).message).toContain(
    'between zero and ten years',
  );
});

test('keys are listed in order and in pages', async () => {
  const { call } = await given('kv');
  for (const key of ['b2', 'a1', 'b1', 'b3']) await call('notes', { operation: 'set', key, value: key });
  expect(await call('notes', { operation: 'list', prefix: 'b', limit: 2 })).toEqual({
    keys: ['b1', 'b2'],
    next: 'b2',
  });
  expect(await call('notes', { operation: 'keys', prefix: 'b', after: 'b2', limit: 2 })).toEqual({
    keys: ['b3'],
  });
});

test('increment counts no further than numbers are exact, and says so', async () => {
  const { call, failure } = await given('kv');
  const increment = (key: string, by: number) => ({ operation: 'increment', key, by });
  for (const [before, by, after] of [
    [2 ** 53 - 1, 1, 2 ** 53],
    [-(2 ** 53), -2, -(2 ** 53) - 2],
    [0.1, 0.2, 0.1 + 0.2],
    [1e20, 1e20, 2e20],
    [2 ** 53, 0, 2 ** 53],
  ] as const) {
    await call('notes', { operation: 'set', key: 'n', value: before });
    expect(await call('notes', increment('n', by))).toBe(after);
  }
  for (const [before, by] of [
    [2 ** 53, 1],
    [2 ** 53, 3],
    [-(2 ** 53), -1],
    [1e300, 0.5],
  ] as const) {
    await call('notes', { operation: 'set', key: 'n', value: before });
    expect(await failure('notes', increment('n', by))).toMatchObject({
      code: 'bad_parameters',
      message: `The key "n" holds ${before}, to which ${by} cannot be added: numbers of that size are not exact.`,
      hint: 'Count in another key, or set this one to a smaller number with the operation "set".',
    });
    expect(await call('notes', { operation: 'get', key: 'n' })).toBe(before);
  }
});

test('of increments at once near the last exact number none is given one twice', async () => {
  const { call } = await given('kv');
  await call('notes', { operation: 'set', key: 'n', value: 2 ** 53 - 1 });
  const counted = await Promise.allSettled(
    Array.from({ length: 5 }, () => call('notes', { operation: 'increment', key: 'n' })),
  );
  expect(counted.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))).toEqual([2 ** 53]);
});

test('increment counts, and only numbers', async () => {
  const { call, failure } = await given('kv');
  expect(await call('notes', { operation: 'increment', key: 'n' })).toBe(1);
  expect(await call('notes', { operation: 'increment', key: 'n', by: -3 })).toBe(-2);
  await call('notes', { operation: 'set', key: 't', value: 'text' });
  expect((await failure('notes', { operation: 'increment', key: 't' })).message).toContain(
    'does not hold a number',
  );
});

test('each operation has its own parameters', async () => {
  const { failure, tool } = await given('kv');
  expect((await failure('notes', { operation: 'set', key: 'a' })).message).toContain(
    'operation "set", are wrong: "value" is missing',
  );
  expect((await failure('notes', { operation: 'get', key: 'a', ttl: 1 })).message).toContain(
    'there is no parameter "/ttl"',
  );
  expect((await failure('notes', { operation: 'gett', key: 'a' })).hint).toBe('Did you mean "get"?');
  expect((await failure('notes', { operation: 'set', key: 'a', value: 'x'.repeat(2_000_000) })).code).toBe(
    'bad_parameters',
  );
  expect(tool('notes').parameters).toMatchObject({ properties: { operation: { default: 'get' } } });
});

test('what may be run again: get and set, not increment, unless the manifest says so', async () => {
  const kv = await given('kv');
  const again = (operation: string) => kv.tool('notes').idempotentFor?.({ operation });
  expect(['get', 'set', 'delete', 'keys', 'increment'].map(again)).toEqual([true, true, true, true, false]);
  const all = await given('kv', 'idempotent: true');
  expect(all.tool('notes').idempotentFor?.({ operation: 'increment' })).toBe(true);
});

test('a log is appended to by default, and read from the start or the end', async () => {
  const { call, tool } = await given('log');
  for (const value of ['one', { two: 2 }, 'three']) await call('notes', { value });
  const at = '2026-01-01T00:00:00.000Z';
  expect(await call('notes', { operation: 'read', after: 1, limit: 1 })).toEqual({
    entries: [{ n: 2, at, value: { two: 2 } }],
  });
  expect(await call('notes', { operation: 'tail', limit: 2 })).toMatchObject({
    entries: [{ n: 2 }, { n: 3 }],
  });
  expect(tool('notes').idempotentFor?.({ value: 1 })).toBe(false);
  expect(tool('notes').idempotentFor?.({ operation: 'read' })).toBe(true);
});

test('a log is searched by level, by text and by time, from either end', async () => {
  const { call, failure, clock } = await given('log');
  for (const value of [
    { level: 'error', text: 'one' },
    { level: 'info', text: 'two' },
    'plain ERROR three',
    { level: 'info', text: 'an ERROR in text' },
  ]) {
    await call('notes', { value });
    await clock.advance(60_000);
  }
  const found = async (parameters: object) => {
    const { entries } = (await call('notes', { operation: 'tail', ...parameters })) as {
      entries: { n: number }[];
    };
    return entries.map(({ n }) => n);
  };
  expect(await found({ filter: 'ERROR' })).toEqual([1, 3, 4]);
  expect(await found({ filter: 'ERROR', limit: 2 })).toEqual([3, 4]);
  expect(await found({ operation: 'read', filter: 'ERROR', limit: 2 })).toEqual([1, 3]);
  expect(await found({ operation: 'read', filter: 'ERROR', after: 1 })).toEqual([3, 4]);
  expect(await found({ filter: 'error' })).toEqual([1]);
  expect(await found({ since: '150s' })).toEqual([3, 4]);
  expect(await found({ since: '2026-01-01T00:01:00Z' })).toEqual([2, 3, 4]);
  expect(await found({ operation: 'read', since: 90, filter: 'nothing' })).toEqual([]);
  expect(await failure('notes', { operation: 'tail', since: 'yesterday' })).toMatchObject({
    code: 'bad_parameters',
  });
  expect(await failure('notes', { operation: 'tail', since: '2026-13-01' })).toMatchObject({
    code: 'bad_parameters',
    message: '"/since" is "2026-13-01", which is not a time.',
  });
});

test('a search of a log ends after twenty thousand entries, and says so', async () => {
  const tables = memoryTables(() => 0);
  for (let n = 0; n < 20_300; n++) await tables.push('relic:notes', n < 10 ? 'rare' : 'common');
  const { call } = await agentTargets({
    agent: 'import: { relics: [./r.yml] }',
    files: { 'r.yml': 'kind: Relic\nname: notes\ndriver: log\n' },
    options: { clock: createSimulatedClock(0), store: { location: 'memory', tables } },
  });
  expect(await call('notes', { operation: 'tail', filter: 'rare' })).toEqual({
    entries: [],
    cut: 'There are more entries than were searched.',
  });
  expect(await call('notes', { operation: 'read', filter: 'rare', limit: 3 })).toMatchObject({
    entries: [{ n: 1 }, { n: 2 }, { n: 3 }],
  });
  expect(await call('notes', { operation: 'tail', filter: 'common', limit: 1 })).not.toHaveProperty('cut');
});

test.each(['kv', 'log'])('the %s driver tells its health', async (driver) => {
  const { call } = await given(driver);
  expect(await call('notes', { operation: 'health' })).toEqual({
    ok: true,
    driver,
    where: 'memory',
    latency_ms: 0,
  });
});

test.each(['kv', 'log', 'queue'])('%s with a connection is refused before anything runs', async (driver) => {
  const refused = await given(driver, 'connection: redis://user:hunter2@localhost').catch(
    (thrown: unknown) => thrown,
  );
  expect(refused).toBeInstanceOf(RuntimeError);
  expect(refused).toMatchObject({ code: 'bad_connection', hint: expect.stringContaining('"connection"') });
  expect((refused as RuntimeError).message).toContain('r.yml');
  expect(JSON.stringify(refused)).not.toContain('hunter2');
});

test('a health that asks in vain says so, and does not fail', async () => {
  const tables = memoryTables();
  const gone = () => Promise.reject(new RuntimeError('store_closed', 'It is closed.', { hint: 'Open it.' }));
  const { call } = await agentTargets({
    agent: 'import: { relics: [./r.yml] }',
    files: { 'r.yml': 'kind: Relic\nname: notes\ndriver: kv\n' },
    options: { store: { location: 'memory', tables: { ...tables, keys: gone } } },
  });
  expect(await call('notes', { operation: 'health' })).toMatchObject({
    ok: false,
    error: { code: 'store_closed', message: 'It is closed.', hint: 'Open it.', retryable: false },
  });
});

test.each([
  ['sql', '{ url: ./x.db, max_row: 5 }', 'has no option "max_row"', 'Did you mean "max_rows"?'],
  ['sql', '{ url: ./x.db, max_rows: 0 }', 'has 0 as its "max_rows"', 'above zero'],
  ['sql', '"sqlite::memory:"', 'has no file', 'sqlite:./data.db'],
  ['sql', '"postgres://me:hunter2@ho st/db"', 'is not a valid postgres:// URL', 'Percent-encode'],
  ['redis', '"redis://me:hunter2@host/not-a-number"', 'is not a valid redis:// URL', 'redis://'],
  ['redis', '{ url: "redis://h", pool: 3 }', 'has no option "pool"', 'Options: url.'],
  ['http', '"https://me:hunter2@host/"', 'contains a user name or a password', '"headers"'],
  ['http', '"https://host/?key=hunter2"', 'contains a "?"', '"headers"'],
  ['http', '{ url: "https://host", headers: { a: 1 } }', '"headers" that are not all text', 'NAME: TEXT'],
])(
  'a %s relic with the connection %s is refused before anything runs',
  async (driver, connection, why, hint) => {
    const refused = await given(driver, `connection: ${connection}`).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({
      code: 'bad_connection',
      message: expect.stringContaining(why),
      hint: expect.stringContaining(hint),
    });
    expect((refused as RuntimeError).message).toContain('r.yml');
    expect(JSON.stringify(refused)).not.toContain('hunter2');
  },
);

test('a call that was stopped before it began does nothing', async () => {
  const { call, failure } = await given('log');
  const signal = AbortSignal.abort(new RuntimeError('cancelled', 'Enough.'));
  expect(await failure('notes', { value: 1 }, { signal })).toMatchObject({ message: 'Enough.' });
  expect(await call('notes', { operation: 'tail' })).toEqual({ entries: [] });
});

test('two relics do not share their keys', async () => {
  const tables = memoryTables();
  const { call } = await agentTargets({
    agent: 'import: { relics: [./a.yml, ./b.yml] }',
    files: { 'a.yml': 'kind: Relic\nname: a\ndriver: kv\n', 'b.yml': 'kind: Relic\nname: b\ndriver: kv\n' },
    options: { store: { location: 'memory', tables } },
  });
  await call('a', { operation: 'set', key: 'k', value: 1 });
  expect(await call('b', { key: 'k' })).toBeNull();
  expect(await tables.get('relic:a', 'k')).toBe(1);
});
