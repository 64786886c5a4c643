import { describe, expect, it } from 'vitest';
import { type GuardRules, refuseHead } from '../../../src/server/http/read-body.ts';

const LOCAL: GuardRules = { host: '127.0.0.1', allowHosts: [], origins: [], headers: 100 };

const refusal = (headers: Record<string, string>, rules: Partial<GuardRules> = {}, method = 'POST') =>
  refuseHead(
    { headers, method, url: '/things', rawHeaders: Object.entries(headers).flat() },
    { ...LOCAL, ...rules },
  )?.code;

describe('a host', () => {
  it('is one that the server listens on, however it is written', () => {
    const rules = { host: 'Box.Example' };
    expect(refusal({ host: 'box.example:4800' }, rules)).toBeUndefined();
    expect(refusal({ host: 'BOX.example' }, rules)).toBeUndefined();
    expect(refusal({ host: 'other.example' }, rules)).toBe('host_refused');
    expect(refusal({ host: 'box.example.evil.example' }, rules)).toBe('host_refused');
  });

  it('is refused with what to do: another name is to be allowed, or is not this machine’s', () => {
    const hint = (host: string) =>
      refuseHead(
        {
          headers: { host: 'other.example' },
          method: 'GET',
          url: '/',
          rawHeaders: ['host', 'other.example'],
        },
        { ...LOCAL, host },
      );
    expect(hint('127.0.0.1')?.hint).not.toBe(hint('0.0.0.0')?.hint);
    expect(hint('127.0.0.1')?.message).toContain('other.example');
  });
});

describe('lines of a head', () => {
  it('are as many as allowed, and not one more', () => {
    const lines = (count: number) =>
      Object.fromEntries([
        ['host', 'localhost'],
        ...Array.from({ length: count - 1 }, (_, n) => [`x-${n}`, 'y']),
      ]);
    expect(refusal(lines(100))).toBeUndefined();
    expect(refusal(lines(101))).toBe('headers_too_large');
  });
});

describe('an origin', () => {
  it.each([
    ['http://localhost', 'localhost:80'],
    ['https://localhost', 'localhost:443'],
    ['http://localhost:8080', 'LOCALHOST:8080'],
    ['https://localhost:4800', 'localhost:4800'],
  ])('%s is that of a page of %s', (origin, host) => {
    expect(refusal({ host, origin })).toBeUndefined();
  });

  it.each([
    ['http://localhost', 'localhost:443'],
    ['https://localhost', 'localhost:80'],
    ['http://localhost:8080', 'localhost:80'],
    ['http://localhost:8', 'localhost:808'],
    ['http://evil.example', 'localhost'],
    ['no url', 'localhost'],
    ['null', 'localhost'],
  ])('%s is not that of a page of %s', (origin, host) => {
    expect(refusal({ host, origin })).toBe('origin_refused');
    for (const reading of ['GET', 'HEAD']) expect(refusal({ host, origin }, {}, reading)).toBeUndefined();
  });
});
