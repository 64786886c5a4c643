import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const found = async (permissions: string, imports: string, tool = '') => {
  const folder = temporaryProject({
    'telltale.yml': '',
    'agent.yml': `kind: Agent\nname: a\nmodel: ollama/x\nimport: { tools: [${imports}] }\npermissions: ${permissions}\n`,
    'tool.yml': tool,
  });
  const { diagnostics } = await loadManifests([join(folder, 'agent.yml')], {
    env: {},
    root: folder,
    cwd: folder,
  });
  return diagnostics.map(({ severity, code, file, line, message, hint }) =>
    [severity, code, `${file}:${line}`, message, hint].join(' | '),
  );
};

const http = (url: string) => `kind: Tool\nname: t\nimplementation: { http: { url: "${url}" } }\n`;
const command = (cwd: string) =>
  `kind: Tool\nname: t\nparameters: { type: object, properties: { dir: { type: string } } }\nimplementation: { command: [ls], cwd: "${cwd}" }\n`;

describe('what an agent imports and may not use is a warning with its place and remedy', () => {
  it.each([
    ['{ shell: deny }', 'builtin:shell', 'shell'],
    ['{ shell: { allow: [], ask: [] } }', 'builtin:shell', 'shell'],
    ['{ shell: { deny: ["*"] } }', 'builtin:shell', 'shell'],
    ['{ network: { ask: ["*"], deny: ["*"] } }', 'builtin:http_fetch', 'network'],
    ['{ network: [] }', 'builtin:http_fetch', 'network'],
    ['{ paths: [] }', 'builtin:filesystem', 'paths'],
    ['{ paths: deny }', 'builtin:git', 'paths'],
  ])('%s with %s', async (permissions, builtin, key) => {
    const [only, ...others] = await found(permissions, `"${builtin}"`);
    expect(only).toContain('warning | not_permitted | agent.yml:4 | ');
    expect(only).toContain(`"permissions.${key}" allows nothing`);
    expect(others).toEqual([]);
  });

  it('a host that the tool names', async () => {
    expect(
      await found('{ network: [api.example.com] }', './tool.yml', http('https://other.example.com/x')),
    ).toEqual([
      'warning | not_permitted | tool.yml:3 | The agent "a" may not reach the host "other.example.com". | Add it to "permissions: { network }" of agent.yml.',
    ]);
  });

  it.each([
    ['{ network: ["localhost:9090"] }', 'http://localhost:8080/', 'localhost:8080'],
    ['{ network: ["api.example.com:8443"] }', 'https://API.example.com/x', 'api.example.com'],
    ['{ network: { allow: ["*"], deny: ["*.example.com"] } }', 'https://a.example.com', 'a.example.com'],
    [
      '{ network: { allow: ["*"], deny: ["http://api.example.com:80/x"] } }',
      'http://api.example.com',
      'api.example.com',
    ],
    ['{ network: ["*.example.com"] }', 'https://example.com/', 'example.com'],
    ['{ network: ["*.example.com"] }', 'https://anexample.com/', 'anexample.com'],
    ['{ network: ["example.com"] }', 'https://a.example.com/', 'a.example.com'],
    ['{ network: { ask: ["*"], deny: ["*"] } }', 'https://a.example.com/', 'a.example.com'],
  ])('%s and the address %s', async (permissions, url, host) => {
    const [only, ...others] = await found(permissions, './tool.yml', http(url));
    expect(only).toContain(`The agent "a" may not reach the host "${host}".`);
    expect(others).toEqual([]);
  });

  it.each([
    ['{ paths: ["."] }', '../elsewhere'],
    ['{ paths: { allow: ["."], deny: [secret] } }', 'secret/keys'],
  ])('%s and the folder %s', async (permissions, folder) => {
    const [only, ...others] = await found(permissions, './tool.yml', command(folder));
    expect(only).toBe(
      `warning | not_permitted | tool.yml:4 | The folder "${folder}" is outside the folders that the agent "a" may use. | Add it to "permissions: { paths }" of agent.yml. Otherwise it is read-only in the sandbox.`,
    );
    expect(others).toEqual([]);
  });
});

it.each([
  ['{ shell: ask }', '"builtin:shell"', ''],
  ['{ shell: { allow: ["git *"], deny: ["*"] } }', '"builtin:shell"', ''],
  ['{ shell: { ask: ["git *"], deny: ["*"] } }', '"builtin:shell"', ''],
  ['{ network: ask }', '"builtin:http_fetch"', ''],
  ['{ network: { ask: ["*"] } }', './tool.yml', http('https://x.example.com/')],
  ['{ network: ["*.example.com"] }', './tool.yml', http('https://x.example.com/')],
  ['{ network: ["localhost:8080"] }', './tool.yml', http('http://localhost:8080/a')],
  ['{ network: ["https://API.example.com/v1?x"] }', './tool.yml', http('https://api.example.com')],
  ['{ network: ["*.example.com:443"] }', './tool.yml', http('https://a.b.example.com')],
  [
    '{ network: { allow: [api.example.com], deny: ["api.example.com:8443"] } }',
    './tool.yml',
    http('https://api.example.com'),
  ],
  ['{ network: { allow: [api.example.com], deny: ["*"] } }', './tool.yml', http('https://api.example.com')],
  ['{ network: ["::1", bücher.de] }', './tool.yml', http('http://[::0001]:8080/')],
  ['{ network: ["::1", bücher.de] }', './tool.yml', http('http://xn--bcher-kva.de/')],
  ['{ network: [] }', './tool.yml', http('https://{host}/x')],
  ['{ paths: ["."] }', './tool.yml', command('sub')],
  ['{ paths: ["."] }', './tool.yml', command('{dir}')],
  ['{ paths: { allow: ["../*/x"], deny: ["./*.key"] } }', './tool.yml', command('../elsewhere/x')],
  ['{ paths: { allow: ["."], ask: [../elsewhere] } }', './tool.yml', command('../elsewhere/x')],
])('%s with %s %s is as it should be', async (permissions, imports, tool) => {
  expect(
    await found(
      permissions,
      imports,
      tool.replace(
        'name: t\nimpl',
        'name: t\nparameters: { type: object, properties: { host: { type: string } } }\nimpl',
      ),
    ),
  ).toEqual([]);
});

describe('the ways to write a permission', () => {
  it.each([
    ['[".", ../x]', { allow: ['.', '../x'], ask: [], deny: [] }],
    ['{ deny: [.env] }', { allow: ['.'], ask: [], deny: ['.env'] }],
    ['{ allow: [a], ask: [b] }', { allow: ['a'], ask: ['b'], deny: [] }],
    ['ask', { allow: [], ask: ['*'], deny: [] }],
  ])('paths: %s', async (written, expected) => {
    const folder = temporaryProject({
      'a.yml': `kind: Agent\nname: a\nmodel: ollama/x\npermissions: { paths: ${written} }\n`,
    });
    const { projects } = await loadManifests([join(folder, 'a.yml')], { env: {}, root: folder, cwd: folder });
    const manifest = projects[0]?.manifests[0]?.manifest;
    expect(manifest?.kind === 'Agent' && manifest.permissions.paths).toEqual(expected);
  });

  it.each([
    ['shell: [git *]', { allow: ['git *'], ask: ['*'], deny: [] }],
    ['shell: { allow: [git *], ask: [] }', { allow: ['git *'], ask: [], deny: [] }],
    ['shell: allow', { allow: ['*'], ask: [], deny: [] }],
  ])('%s', async (written, expected) => {
    const folder = temporaryProject({
      'a.yml': `kind: Agent\nname: a\nmodel: ollama/x\npermissions:\n  ${written}\n`,
    });
    const { projects, diagnostics } = await loadManifests([join(folder, 'a.yml')], {
      env: {},
      root: folder,
      cwd: folder,
    });
    expect(diagnostics).toEqual([]);
    const manifest = projects[0]?.manifests[0]?.manifest;
    expect(manifest?.kind === 'Agent' && manifest.permissions.shell).toEqual(expected);
  });

  it.each([
    ['shell: maybe', 'not_allowed'],
    ['network: { allowed: [x] }', 'unknown_key'],
    ['paths: {}', 'missing'],
    ['paths: 5', 'wrong_type'],
    ['sandbox: on', 'not_allowed'],
  ])('%s is refused as %s', async (written, code) => {
    const folder = temporaryProject({
      'a.yml': `kind: Agent\nname: a\nmodel: ollama/x\npermissions:\n  ${written}\n`,
    });
    const { diagnostics } = await loadManifests([join(folder, 'a.yml')], {
      env: {},
      root: folder,
      cwd: folder,
    });
    expect(diagnostics.map((each) => each.code)).toContain(code);
  });
});

describe('what is loaded without an action, so that nobody can be asked, is a warning where it is not allowed', () => {
  const said = async (agent: string) => {
    const folder = temporaryProject({
      'telltale.yml': '',
      'agent.yml': `kind: Agent\nname: a\nmodel: ollama/x\n${agent}`,
    });
    const { diagnostics } = await loadManifests([join(folder, 'agent.yml')], {
      env: {},
      root: folder,
      cwd: folder,
    });
    return diagnostics.map(({ severity, code, line, message }) =>
      [severity, code, line, message].join(' | '),
    );
  };
  const feed = (source: string) => `context_feeds: [{ id: f, source: { ${source} } }]\n`;

  it.each([
    ['', 'may not reach'],
    [
      'permissions: { network: { ask: ["*"] } }\n',
      'needs approval for, but nobody can be asked at this point',
    ],
  ])('a feed, and an MCP server, at a host; with "%s"', async (permissions, why) => {
    const source = feed('type: http, name: "https://x.example.com/now"');
    expect(await said(source + permissions)).toEqual([
      `warning | not_permitted | 4 | The feed "f" is at "x.example.com", which the agent "a" ${why}.`,
    ]);
    const server = 'import: { tools: [{ mcp: { name: s, url: "https://x.example.com/mcp" } }] }\n';
    expect(await said(server + permissions)).toEqual([
      `warning | not_permitted | 4 | The MCP server "s" is at "x.example.com", which the agent "a" ${why}.`,
    ]);
    const allowed = 'permissions: { network: [x.example.com] }\n';
    expect(await said(source + server + allowed)).toEqual([]);
  });

  it('a feed that reads a file or a folder outside what may be read', async () => {
    const outside =
      'warning | not_permitted | 4 | The feed "f" reads "../x", which the agent "a" may not read without approval.';
    expect(await said(feed('type: file, name: ../x'))).toEqual([outside]);
    expect(await said(`${feed('type: repo, name: ../x')}permissions: { paths: { ask: [../x] } }\n`)).toEqual([
      outside,
    ]);
    expect(await said(`${feed('type: file, name: ../x')}permissions: { paths: [../x] }\n`)).toEqual([]);
    expect(await said(feed('type: repo'))).toEqual([]);
  });

  it('a feed that calls a tool which has to be approved', async () => {
    const tool = '---\nkind: Tool\nname: t\napproval: always\nimplementation: { command: [date] }\n';
    expect(await said(feed('type: tool, name: t') + tool)).toEqual([
      'warning | not_permitted | 4 | The feed "f" calls the tool "t", which needs approval by a person, but a feed cannot ask for it.',
    ]);
    expect(await said(feed('type: tool, name: t') + tool.replace('always', 'never'))).toEqual([]);
  });

  it('a tool in the file of an agent that imports nothing is looked at as any other', async () => {
    const tool = '---\nkind: Tool\nname: t\nimplementation: { http: { url: "https://x.example.com/" } }\n';
    expect(await said(tool)).toEqual([
      'warning | not_permitted | 7 | The agent "a" may not reach the host "x.example.com".',
    ]);
  });
});
