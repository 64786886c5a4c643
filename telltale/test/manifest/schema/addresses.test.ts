// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import { describe, expect, it } from 'vitest';
import { agent, said, tool } from './said.ts';

const network = (...entries: string[]) => said(agent({ permissions: { network: entries } }));
const FORMS = 'Write it like api.example.com, localhost:8080, *.example.com, [::1] or *.';

describe('an entry of "network"', () => {
  it.each([
    'api.example.com',
    'x.com:443',
    '*.example.com',
    '*',
    'localhost:8080',
    '127.0.0.1',
    '[::1]',
    '::1',
    '[::1]:80',
    'EXAMPLE.com',
    'münchen.de',
    'http://x.com',
    'https://x.com:8443/v1',
    'a_b.c',
    '$host',
  ])('may be %s', (entry) => expect(network(entry)).toEqual([]));

  it.each(['a b', 'x:99999', '*.*.com', 'user@x.com', 'api.*.com', ':80'])(
    'that no host can be is an error, since it would deny and allow nothing: %s',
    (entry) => {
      const found = `bad_address permissions.network.0: "${entry}" is not a host, so it would never match. | ${FORMS}`;
      expect(network(entry)).toEqual([found]);
    },
  );

  it.each(['10.0.0.0/8', '192.168.1.1/32', 'fe80::/10', '[fe80::]/10'])(
    'that is a range of addresses does not count as its first: %s',
    (entry) => {
      expect(said(agent({ permissions: { network: { allow: ['*'], deny: [entry] } } }))).toEqual([
        expect.stringContaining('bad_address permissions.network.deny.0'),
      ]);
    },
  );

  it.each([
    ['x.com/api', 'x.com'],
    ['x.com:8443/v1?q', 'x.com:8443'],
  ])('with a path is warned of, since it stands for all of the host: %s', (entry, host) => {
    expect(network(entry)).toEqual([
      `warning no_effect permissions.network.0: Only the host of "${entry}" counts. The path is ignored. | Write "${host}".`,
    ]);
  });
});

describe('the address of a request', () => {
  const http = (url: string) => said(tool({ implementation: { http: { url } } }));
  const feed = (name: string) =>
    said(agent({ context_feeds: [{ id: 'f', source: { type: 'http', name } }] }));

  it.each(['http://x', 'HTTPS://x.com/a', '${agent.metadata.url}', '$url'])('may be %s', (url) => {
    for (const found of [...http(url), ...feed(url)]) expect(found).not.toContain('bad_address');
  });

  it.each([
    ['ftp://x', 'Write it like https://example.com/path.'],
    ['file:///etc/passwd', 'Write it like https://example.com/path.'],
    ['x.com/a', 'Did you mean "https://x.com/a"?'],
    ['localhost:8080', 'Did you mean "https://localhost:8080"?'],
    ['http://', 'Write it like https://example.com/path.'],
  ])('that is none is found before a request is made: %s', (url, hint) => {
    const said = `"${url}" is not an http:// or https:// address. | ${hint}`;
    expect(http(url)).toEqual([`bad_address implementation.http.url: ${said}`]);
    expect(feed(url)).toEqual([`bad_address context_feeds.0.source.name: ${said}`]);
  });
});
