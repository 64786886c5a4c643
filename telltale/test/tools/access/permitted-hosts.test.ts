import { expect, test } from 'vitest';
import type { Rules } from '../../../src/manifest/schema/permissions.ts';
import { createPermittedHosts } from '../../../src/tools/access/permitted-hosts.ts';
import { agentTargets } from '../agent-targets.ts';
import { httpServer } from '../http-server.ts';

const hosts = (rules: Partial<Rules>) => createPermittedHosts({ allow: [], ask: [], deny: [], ...rules });

test('denied beats asked for, asked for beats allowed, a star is the rest', () => {
  const { check, grantFor } = hosts({
    allow: ['api.example.com', '*.example.org'],
    ask: ['pay.example.org', '*'],
    deny: ['evil.example.org', '*.internal'],
  });
  expect(check('api.example.com', '443')).toBe('named');
  expect(check('a.example.org', '443')).toBe('public');
  expect(grantFor('pay.example.org', '443')).toBe('host pay.example.org:443');
  expect(grantFor('elsewhere.net', '80')).toBe('host elsewhere.net:80');
  expect(() => check('EVIL.example.org.', '443')).toThrow(/not allowed to reach the host/);
  expect(() => grantFor('db.internal', '5432')).toThrow(/not allowed to reach the host/);
  expect(() => check('elsewhere.net', '80')).toThrow(/nobody could be asked/);
});

test('a host is the same however the manifest spells it', () => {
  const { check } = hosts({
    allow: ['*'],
    deny: ['bücher.de', '*.MÜNCHEN.de', '2130706433', 'http://[::0001]:80/', 'straße.example.'],
  });
  for (const host of ['xn--bcher-kva.de', 'a.xn--mnchen-3ya.de', '127.0.0.1', 'xn--strae-oqa.example'])
    expect(() => check(host, '443'), host).toThrow(/not allowed to reach the host/);
  expect(() => check('::1', '80')).toThrow(/not allowed to reach the host/);
  expect(hosts({ allow: ['bücher.de'] }).check('xn--bcher-kva.de', '443')).toBe('named');
});

test('an address of IPv4 is the same inside of one of IPv6', () => {
  const { check, denies } = hosts({ allow: ['*'], deny: ['93.184.216.34', '[::ffff:8.8.4.4]'] });
  for (const host of ['[::ffff:93.184.216.34]', '::ffff:5db8:d822', '0:0:0:0:0:FFFF:5db8:d822', '8.8.4.4'])
    expect(() => check(host, '443'), host).toThrow(/not allowed to reach the host/);
  expect(denies('::ffff:5db8:d822', '443')).toBe(true);
  expect(check('::ffff:8.8.8.8', '443')).toBe('public');
  expect(hosts({ allow: ['127.0.0.1'] }).check('::ffff:7f00:1', '80')).toBe('named');
});

test('an address that is denied is not reached by a name, either', async () => {
  const { port } = await httpServer((_request, response) => response.end('hello'));
  const { failure } = await agentTargets({
    agent:
      'import: { tools: ["builtin:http_fetch"] }\npermissions: { network: { allow: [api.test], deny: [127.0.0.1] } }',
    options: { resolveHost: async () => [{ address: '127.0.0.1', family: 4 }] },
  });
  const { code, message } = await failure('http_fetch', { url: `http://api.test:${port}/` });
  expect([code, message]).toEqual(['not_permitted', expect.stringContaining('leads to 127.0.0.1')]);
});

test('whoever is asked about an address sees where it leads', async () => {
  const { tool } = await agentTargets({
    agent: 'import: { tools: ["builtin:http_fetch"] }\npermissions: { network: ask }',
  });
  const need = await tool('http_fetch').needs?.({ url: 'http://2130706433/a' }, { agent: () => ({}) });
  expect(need?.what).toBe('GET http://127.0.0.1/a');
});

test('an approval is for one host and port; a name that was asked for by a star leads to public addresses only', () => {
  const { check } = hosts({ ask: ['*'] });
  expect(check('elsewhere.net', '80', ['host elsewhere.net:80'])).toBe('public');
  expect(() => check('elsewhere.net', '81', ['host elsewhere.net:80'])).toThrow(/nobody could be asked/);
  expect(check('localhost', '80', ['host localhost:80'])).toBe('named');
  expect(check('127.0.0.1', '80', ['host 127.0.0.1:80'])).toBe('named');
  expect(hosts({ ask: ['db.local'] }).check('db.local', '1', ['host db.local:1'])).toBe('named');
});

test('a request to a host that has to be asked for is asked about with its address', async () => {
  const { port } = await httpServer((_request, response) => response.end('hello'));
  const url = `http://127.0.0.1:${port}/`;
  const asked: string[] = [];
  const { call, failure } = await agentTargets({
    agent: 'import: { tools: ["builtin:http_fetch"] }\npermissions: { network: ask }',
    approve: (need) => {
      asked.push(need.what);
      return asked.length === 1;
    },
  });
  expect(await call('http_fetch', { url })).toMatchObject({ status: 200, body: 'hello' });
  expect((await failure('http_fetch', { url, method: 'POST' })).code).toBe('not_permitted');
  expect(asked).toEqual([`GET ${url}`, `POST ${url}`]);
});
