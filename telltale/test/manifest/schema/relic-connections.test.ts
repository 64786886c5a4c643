import { describe, expect, it } from 'vitest';
import { said } from './said.ts';

describe('the connection of a relic', () => {
  const relic = (driver: string, connection?: unknown) =>
    said({ kind: 'Relic', name: 'r', driver, ...(connection === undefined ? {} : { connection }) });

  it.each([
    ['kv'],
    ['log'],
    ['queue'],
    ['redis', 'redis://x'],
    ['redis', { url: 'REDISS://x' }],
    ['sql', './a.db'],
    ['sql', 'postgres://x'],
    ['sql', { url: 'postgresql://x' }],
    ['http', 'http://x'],
    ['http', { url: 'https://x' }],
  ])('of %s may be %j', (driver, connection?: unknown) => {
    expect(relic(driver, connection)).toEqual([]);
  });

  it.each([
    ['redis', 'Write redis://HOST:PORT.'],
    ['sql', 'Write a SQLite file or postgres://HOST/DATABASE.'],
    ['http', 'Write an http:// or https:// address.'],
  ])('of %s has to be given, and be one that it can reach', (driver, hint) => {
    expect(relic(driver)).toEqual([`missing (root): A ${driver} relic needs "connection". | ${hint}`]);
    expect(relic(driver, 'ftp://x')).toEqual([
      `bad_address connection: A ${driver} relic cannot reach "ftp://x". | ${hint}`,
    ]);
    expect(relic(driver, { url: 'ftp://x' })).toEqual([
      `bad_address connection.url: A ${driver} relic cannot reach "ftp://x". | ${hint}`,
    ]);
    expect(relic(driver, { file: 'x' })).toEqual([
      `bad_address connection: The connection of a ${driver} relic has no "url". | ${hint.replace('Write', 'Set "url" to')}`,
    ]);
  });

  it('of redis and http is no path', () => {
    for (const driver of ['redis', 'http']) expect(relic(driver, './a.db')).toHaveLength(1);
  });
});
