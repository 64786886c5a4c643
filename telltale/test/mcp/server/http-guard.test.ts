import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { bearerOf, type GuardOptions, readBody, refuseRequest } from '../../../src/mcp/server/serve-http.ts';

const OWN: GuardOptions = { isOwnOnly: true, isKnown: true, path: '/mcp' };

const status = (
  headers: Record<string, string>,
  options: Partial<GuardOptions> = {},
  { method = 'POST', url = '/mcp' } = {},
) => refuseRequest({ headers, method, url }, { ...OWN, ...options })?.status;

describe('a request to a server for this machine only', () => {
  it.each(['localhost', 'LOCALHOST:80', '127.0.0.1:3000', '127.9.8.7', '[::1]:5'])(
    'is for the host %s',
    (host) => {
      expect(status({ host })).toBeUndefined();
    },
  );

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '192.168.1.1', 'a b', ''])(
    'is refused for the host "%s"',
    (host) => {
      expect(status({ host })).toBe(403);
      expect(status({ host: 'localhost' }, {}, { url: '/mcp' })).toBeUndefined();
    },
  );

  it('without a host is refused', () => {
    expect(status({})).toBe(403);
  });
});

describe('a page', () => {
  it('of the same name, or of this machine, is listened to', () => {
    expect(status({ host: 'localhost:1', origin: 'http://localhost:1' })).toBeUndefined();
    expect(status({ host: 'localhost:1', origin: 'http://127.0.0.1:9' })).toBeUndefined();
    const shared = { isOwnOnly: false };
    expect(status({ host: 'box.example', origin: 'https://Box.example' }, shared)).toBeUndefined();
  });

  it('of another site, or of none that can be named, is not', () => {
    for (const origin of ['https://evil.example', 'https://localhost.evil.example', 'null', '', 'no url'])
      for (const host of ['localhost', 'box.example', 'a b'])
        expect([origin, host, status({ host, origin }, { isOwnOnly: false })]).toEqual([origin, host, 403]);
  });
});

describe('a token', () => {
  it('is read whole, whatever the case of the word before it', () => {
    const sent = (authorization: string) => bearerOf({ headers: { authorization } });
    expect([sent('Bearer secret'), sent('bearer secret')]).toEqual(['secret', 'secret']);
    for (const wrong of ['', 'Bearer', 'Bearer ', 'x Bearer secret', 'secret', 'Basic secret', 'Bearer a b'])
      expect([wrong, sent(wrong)]).toEqual([wrong, undefined]);
    expect(bearerOf({ headers: {} })).toBeUndefined();
  });

  it('is asked for with what is missing, and before anything is told of paths', () => {
    const refused = refuseRequest(
      { headers: { host: 'localhost' }, method: 'GET', url: '/x' },
      { ...OWN, isKnown: false },
    );
    expect(refused).toEqual({
      status: 401,
      message: 'A bearer token is needed.',
      headers: { 'www-authenticate': 'Bearer' },
    });
  });
});

describe('a path and a method', () => {
  it('are those of MCP', () => {
    const host = { host: 'localhost' };
    for (const method of ['GET', 'POST', 'DELETE']) expect(status(host, {}, { method })).toBeUndefined();
    for (const method of ['PUT', 'OPTIONS', 'HEAD']) expect(status(host, {}, { method })).toBe(405);
    expect(status(host, {}, { url: '/mcp?session=1' })).toBeUndefined();
    for (const url of ['/', '/mcp/', '/mcpx', '/x?/mcp']) expect(status(host, {}, { url })).toBe(404);
    expect(refuseRequest({ headers: host, method: 'PUT', url: '/mcp' }, OWN)?.headers).toEqual({
      allow: 'GET, POST, DELETE',
    });
  });
});

describe('a body', () => {
  const read = (...parts: readonly (string | Buffer)[]) =>
    readBody(Readable.from(parts.map((part) => Buffer.from(part))) as unknown as IncomingMessage);
  const MIB = 1024 * 1024;

  it('is JSON, in however many pieces', async () => {
    expect(await read('{"a":', '"ü', '"}')).toEqual({ value: { a: 'ü' } });
    expect(await read(...[...Buffer.from('"ü"')].map((byte) => Buffer.from([byte])))).toEqual({ value: 'ü' });
  });

  it('that is none is answered with 400, and one beyond 8 MiB with 413', async () => {
    expect(await read('{')).toMatchObject({ status: 400 });
    expect(await read()).toMatchObject({ status: 400 });
    expect(await read(`"${'x'.repeat(8 * MIB - 2)}"`)).toMatchObject({ value: expect.any(String) });
    expect(await read(`"${'x'.repeat(8 * MIB - 2)}"`, ' ')).toMatchObject({ status: 413 });
  });
});
