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
    ['{ network: [] }', 'builtin:http_fetch', 'network'],
    ['{ paths: [] }', 'builtin:filesystem', 'paths'],
    ['{ paths: deny }', 'builtin:git', 'paths'],
  ])('%s with %s', async (permissions, builtin, key) => {
    const [only, ...others] = await found(permissions, `"${builtin}"`);
    expect(only).toContain('warning | not_permitted | agent.yml:4 | ');
    expect(only).toContain(`"permissions.${key}" permits nothing`);
    expect(others).toEqual([]);
  });

  it('a host that the tool names', async () => {
    expect(
      await found('{ network: [api.example.com] }', './tool.yml', http('https://other.example.com/x')),
    ).toEqual([
      'warning | not_permitted | tool.yml:3 | The agent "a" may not reach the host "other.example.com". | Add it to "permissions: { network }" of agent.yml.',
    ]);
  });

  it('a folder that the tool names', async () => {
    const [only] = await found('{ paths: ["."] }', './tool.yml', command('../elsewhere'));
    expect(only).toContain('warning | not_permitted | tool.yml:4 | The folder "../elsewhere" lies outside');
  });
});

it.each([
  ['{ shell: ask }', '"builtin:shell"', ''],
  ['{ shell: { allow: ["git *"], deny: ["*"] } }', '"builtin:shell"', ''],
  ['{ network: ask }', '"builtin:http_fetch"', ''],
  ['{ network: { ask: ["*"] } }', './tool.yml', http('https://x.example.com/')],
  ['{ network: ["*.example.com"] }', './tool.yml', http('https://x.example.com/')],
  ['{ network: ["localhost:8080"] }', './tool.yml', http('http://localhost:8080/a')],
  ['{ network: [] }', './tool.yml', http('https://{host}/x')],
  ['{ paths: ["."] }', './tool.yml', command('sub')],
  ['{ paths: ["."] }', './tool.yml', command('{dir}')],
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
