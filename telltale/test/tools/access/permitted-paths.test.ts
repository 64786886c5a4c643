import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RuntimeError } from '../../../src/lib/errors.ts';
import { createPermittedPaths } from '../../../src/tools/access/permitted-paths.ts';
import { readTextFile, writeTextFile } from '../../../src/tools/builtin/filesystem/text-file.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { agentTargets, type Given, moduleTool } from '../agent-targets.ts';
import { memoryTables } from '../memory-tables.ts';

const given = async (
  permissions: string,
  files: NonNullable<Given['files']> = {},
  approve?: Given['approve'],
) => {
  const targets = await agentTargets({
    agent: `import: { tools: ["builtin:filesystem"] }\npermissions: { paths: ${permissions} }`,
    files,
    approve,
  });
  const fs = (operation: string, input = {}) => targets.call('filesystem', { operation, ...input });
  const fails = (operation: string, input = {}) => targets.failure('filesystem', { operation, ...input });
  return { ...targets, fs, fails };
};

const SECRETS = { '.env': 'KEY=1', 'secrets/a/key': 'k', 'src/a.ts': 'a', 'src/cert.PEM': 'p' };
const DENY = '{ deny: [.env, secrets/**, "**/*.pem"] }';

test('what is denied is neither read nor written, however it is spelt', async () => {
  const { fs, fails, folder } = await given(DENY, SECRETS);
  symlinkSync('.env', join(folder, 'harmless'));
  symlinkSync('secrets', join(folder, 'open'));
  for (const path of [
    '.env',
    './.env',
    'src/../.env',
    join(folder, '.env'),
    'harmless',
    'secrets/a/key',
    'open/a/key',
    'src/cert.PEM',
    'SECRETS/new',
    '.ENV',
    '.Env',
  ]) {
    const error: RuntimeError = await fails('read', { path });
    expect([path, error.code]).toEqual([path, 'not_permitted']);
    expect((await fails('write', { path, content: 'x' })).code, path).toBe('not_permitted');
  }
  expect((await fails('read', { path: '.env' })).hint).toContain('deny: [.env]');
  expect(await fs('read', { path: 'src/a.ts' })).toMatchObject({ content: 'a' });
  expect(await fs('write', { path: '.env.example', content: '' })).toMatchObject({ created: true });
});

test('a path with a zero byte, or none at all, is refused', async () => {
  const { fails } = await given(DENY, SECRETS);
  for (const path of ['.env\0.txt', '\0', ''])
    expect((await fails('read', { path })).code, JSON.stringify(path)).toBe('bad_parameters');
});

test('a hard link to a denied file is that file', async () => {
  const { fs, fails, folder } = await given(DENY, SECRETS);
  linkSync(join(folder, '.env'), join(folder, 'copy.txt'));
  expect((await fails('read', { path: 'copy.txt' })).code).toBe('not_permitted');
  expect(await fs('grep', { pattern: 'KEY' })).toMatchObject({ matches: [] });
});

test('no agent touches the store of the runtime, whatever its manifest says', async () => {
  const folder = temporaryProject({ '.telltale/telltale.db': 'log' });
  const location = `sqlite:${join(folder, '.telltale/telltale.db')}`;
  for (const permissions of ['[.]', 'allow', '{ allow: [.telltale] }']) {
    const { call, failure } = await agentTargets({
      agent: `import: { tools: ["builtin:filesystem"] }\npermissions: { paths: ${permissions} }`,
      folder,
      options: { store: { location, tables: memoryTables() } },
    });
    for (const path of ['.telltale/telltale.db', '.TELLTALE/telltale.db-journal', '.telltale/x']) {
      const error = await failure('filesystem', { operation: 'write', path, content: 'x' });
      expect([error.code, error.message]).toEqual([
        'not_permitted',
        expect.stringContaining("runtime's own"),
      ]);
    }
    if (permissions === '[.]')
      expect(await call('filesystem', { operation: 'grep', pattern: 'log' })).toMatchObject({ matches: [] });
  }
});

test.each(['memory', 'sqlite:/elsewhere/other.db', 'postgres://db.example/agents'])(
  'no agent touches .telltale, of its folder or of the one it is run in, where the store is %s',
  async (location) => {
    const folder = temporaryProject({ '.telltale/graphs.db': 'graph' });
    const { call, failure } = await agentTargets({
      agent: 'import: { tools: ["builtin:filesystem"] }\npermissions: { paths: allow }',
      folder,
      options: { store: { location, tables: memoryTables() } },
    });
    for (const path of ['.telltale/x', '.telltale/graphs.db', join(process.cwd(), '.telltale/telltale.db')])
      for (const input of [{ operation: 'read' }, { operation: 'write', content: 'x' }]) {
        const error = await failure('filesystem', { ...input, path });
        expect([error.code, error.message]).toEqual([
          'not_permitted',
          expect.stringContaining("runtime's own"),
        ]);
      }
    const tree = await call('filesystem', { operation: 'tree' });
    expect(tree).toContain('agent.yml');
    expect(tree).not.toContain('.telltale');
  },
);

test('the files that an agent consists of are read, and not written', async () => {
  const { call, failure } = await agentTargets({
    agent: 'import: { tools: ["builtin:filesystem", ./x.yml, ./y.yml] }',
    files: {
      ...moduleTool('x', "import { a } from './lib/a.mjs';\nexport const run = () => a;"),
      'lib/a.mjs': "export { b as a } from './b.mjs';",
      'lib/b.mjs': "export const b = 'honest';",
      'lib/c.mjs': '',
      'y.yml': 'kind: Tool\nname: y\nimplementation: { module: ./later/y.mjs }\n',
    },
  });
  for (const path of [
    'agent.yml',
    'x.yml',
    'X.mjs',
    './lib/a.mjs',
    'lib/b.mjs',
    'later/y.mjs',
    'telltale.yml',
  ]) {
    const error = await failure('filesystem', { operation: 'write', path, content: 'x' });
    expect(error.message, path).toContain('consists of');
  }
  const edit = { operation: 'edit', path: 'lib/b.mjs', old_text: 'honest', new_text: 'not' };
  expect((await failure('filesystem', edit)).code).toBe('not_permitted');
  expect(await call('filesystem', { operation: 'read', path: 'agent.yml' })).toMatchObject({
    path: 'agent.yml',
  });
  await call('filesystem', { operation: 'write', path: 'lib/c.mjs', content: 'x' });
  expect(await call('x')).toBe('honest');
});

test('whoever is asked about a path sees where it leads', async () => {
  const elsewhere = temporaryProject({ 'x.txt': 'x' });
  const asked: string[] = [];
  const { fs, folder } = await given('{ ask: ["*"] }', {}, (need) => {
    asked.push(need.what);
    return true;
  });
  symlinkSync(join(elsewhere, 'x.txt'), join(folder, 'readme.txt'));
  await fs('read', { path: 'readme.txt' });
  await fs('read', { path: join(elsewhere, 'x.txt') });
  expect(asked).toEqual([`read "readme.txt", which is "${elsewhere}/x.txt"`, `read "${elsewhere}/x.txt"`]);
});

test('what is denied is not listed, found or searched', async () => {
  const { fs } = await given(DENY, SECRETS);
  expect(JSON.stringify(await fs('list'))).not.toContain('.env');
  expect(await fs('tree')).not.toMatch(/key|PEM|\.env/);
  expect(await fs('glob', { pattern: '**/*' })).toEqual({
    paths: ['agent.yml', 'model.yml', 'src/a.ts', 'telltale.yml'],
  });
  const { matches } = (await fs('grep', { pattern: '.' })) as { matches: { path: string }[] };
  expect([...new Set(matches.map(({ path }) => path))]).toEqual(['agent.yml', 'model.yml', 'src/a.ts']);
});

test('what lies outside the lists is refused; what ask names is asked for', async () => {
  const shared = temporaryProject({ 'x.txt': 'shared', 'sub/y.txt': 'y' });
  const asked: string[] = [];
  const { fs, fails, folder } = await given(
    `{ allow: ["."], ask: [${shared}, private] }`,
    { 'private/p.txt': 'p', 'a.txt': 'a' },
    (need) => {
      asked.push(need.what);
      return !need.what.includes('write');
    },
  );
  expect(await fs('read', { path: join(shared, 'x.txt') })).toMatchObject({ content: 'shared' });
  expect(await fs('read', { path: 'private/p.txt' })).toMatchObject({ content: 'p' });
  expect(await fs('read', { path: 'a.txt' })).toMatchObject({ content: 'a' });
  expect(asked).toEqual([`read "${join(shared, 'x.txt')}"`, 'read "private/p.txt"']);
  expect((await fails('write', { path: 'private/p.txt', content: '' })).message).toContain('refused');
  const outside = await fails('read', { path: '/etc/hostname' });
  expect(outside.message).toContain('outside the permitted paths');
  expect(outside.hint).toMatch(/^Permitted: "[^"]+"(?:, "[^"]+")*\. /);
  // A walk over what is allowed leaves out what would have to be asked for; one over what was asked for does not.
  expect(JSON.stringify(await fs('glob', { pattern: '**/*.txt' }))).not.toContain('private');
  expect(await fs('glob', { path: 'private', pattern: '*' })).toEqual({ paths: ['private/p.txt'] });
  expect(folder).not.toBe(shared);
});

test('without an answer what has to be asked for is refused', async () => {
  const { fails } = await given('{ ask: [private] }', { 'private/p.txt': 'p' });
  expect((await fails('read', { path: 'private/p.txt' })).message).toContain('nobody could be asked');
});

test('an approval is for the place that was shown: a link that leads elsewhere since is refused', async () => {
  const { tool, call, folder } = await given('{ ask: [private] }', {
    'private/a.txt': 'a',
    'private/b.txt': 'b',
  });
  symlinkSync('private/a.txt', join(folder, 'link'));
  const input = { operation: 'read', path: 'link' };
  const need = await tool('filesystem').needs?.(input, { agent: () => ({}) });
  const granted = need?.grants ?? [];
  expect(await call('filesystem', input, { granted })).toMatchObject({ content: 'a' });
  rmSync(join(folder, 'link'));
  symlinkSync('private/b.txt', join(folder, 'link'));
  await expect(call('filesystem', input, { granted })).rejects.toThrow(/nobody could be asked/);
});

test('a star asks for all that no other entry names', async () => {
  const asked: string[] = [];
  const { fs, fails } = await given('{ allow: ["."], ask: ["*"], deny: [/etc/shadow] }', {}, (need) => {
    asked.push(need.what);
    return true;
  });
  await fs('read', { path: 'agent.yml' });
  await fs('read', { path: '/etc/hostname' });
  expect(asked).toEqual(['read "/etc/hostname"']);
  expect((await fails('read', { path: '/etc/shadow' })).code).toBe('not_permitted');
});

test('a folder that becomes a link between the check and the use is noticed', async () => {
  const outside = temporaryProject({ 'f.txt': 'secret' });
  const { folder } = await given('["."]', { 'dir/f.txt': 'mine' });
  const paths = createPermittedPaths(folder, { allow: ['.'], ask: [], deny: [] });
  const checked = await paths.resolve('dir/f.txt');
  renameSync(join(folder, 'dir'), join(folder, 'was'));
  symlinkSync(outside, join(folder, 'dir'));
  await expect(readTextFile(checked)).rejects.toMatchObject({ code: 'not_permitted' });
  await expect(writeTextFile(checked, 'mine now')).rejects.toMatchObject({ code: 'not_permitted' });
  rmSync(join(folder, 'dir'));
  mkdirSync(join(folder, 'dir'));
  writeFileSync(join(folder, 'dir/f.txt'), 'again');
  expect(await readTextFile(checked)).toBe('again');
});
