import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { agentTargets, type Given } from './agent-targets.ts';

const given = async (files: Given['files'] = {}, permissions = '') => {
  const targets = await agentTargets({
    agent: `import: { tools: ["builtin:filesystem"] }\n${permissions}`,
    files,
  });
  return {
    ...targets,
    fs: (operation: string, input = {}) => targets.call('filesystem', { operation, ...input }),
    fails: (operation: string, input = {}) => targets.failure('filesystem', { operation, ...input }),
    read: (path: string) => readFileSync(join(targets.folder, path), 'utf8'),
  };
};

test('a file is read whole, or some lines of it', async () => {
  const { fs } = await given({ 'a.txt': 'one\ntwo\nthree\n' });
  expect(await fs('read', { path: 'a.txt' })).toEqual({
    path: 'a.txt',
    content: 'one\ntwo\nthree\n',
    lines: 3,
  });
  expect(await fs('read', { path: './a.txt', offset: 2, limit: 1 })).toEqual({
    path: 'a.txt',
    content: 'two',
    lines: 3,
    next_offset: 3,
  });
});

test('a line past the end, a folder and a missing file each say what they are', async () => {
  const { fails } = await given({ 'a.txt': 'one\n', 'd/x': '' });
  expect((await fails('read', { path: 'a.txt', offset: 5 })).message).toContain('has 1 lines');
  expect((await fails('read', { path: 'd' })).message).toContain('is a folder');
  expect((await fails('read', { path: 'gone/b.txt' })).code).toBe('file_missing');
  expect((await fails('read', { path: 'a.txt/b' })).code).toBe('file_missing');
  expect((await fails('list', { path: 'a.txt' })).message).toContain('is not a folder');
});

test('an empty file has no lines', async () => {
  const { fs } = await given({ empty: '' });
  expect(await fs('read', { path: 'empty' })).toEqual({ path: 'empty', content: '', lines: 0 });
});

test('what is no text is refused, and so is what is too large', async () => {
  const { fails, folder } = await given({
    'zero.bin': new Uint8Array([65, 0, 66]),
    'latin.txt': new Uint8Array([0xe4, 0xf6]),
    'huge.txt': '',
  });
  truncateSync(join(folder, 'huge.txt'), 3_000_000_000);
  expect((await fails('read', { path: 'zero.bin' })).code).toBe('file_binary');
  expect((await fails('read', { path: 'latin.txt' })).code).toBe('file_binary');
  expect((await fails('read', { path: 'huge.txt' })).code).toBe('file_too_large');
  expect((await fails('edit', { path: 'huge.txt', old_text: 'a', new_text: 'b' })).code).toBe(
    'file_too_large',
  );
});

test('one endless line is cut', async () => {
  const { fs } = await given({ 'long.txt': 'x'.repeat(1_000_000) });
  const { content } = (await fs('read', { path: 'long.txt' })) as { content: string };
  expect(content).toContain('[the line has 1000000 characters]');
  expect(content.length).toBeLessThan(300_000);
});

test('a named pipe is not waited for', async () => {
  const { fails, folder } = await given();
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  expect((await fails('read', { path: 'pipe' })).message).toContain('a pipe');
  expect((await fails('write', { path: 'pipe', content: 'x' })).message).toContain('a pipe');
});

test('writing makes folders, replaces whole files, keeps their mode and leaves nothing beside them', async () => {
  const { fs, read, folder } = await given({ 'run.sh': 'old' });
  chmodSync(join(folder, 'run.sh'), 0o750);
  expect(await fs('write', { path: 'a/b/c.txt', content: 'new ä' })).toEqual({
    path: 'a/b/c.txt',
    bytes: 6,
    created: true,
  });
  expect(read('a/b/c.txt')).toBe('new ä');
  expect(await fs('write', { path: 'run.sh', content: 'new' })).toMatchObject({ created: false });
  expect(statSync(join(folder, 'run.sh')).mode & 0o777).toBe(0o750);
  expect(readdirSync(join(folder, 'a/b'))).toEqual(['c.txt']);
});

test('a name may be as long as the disk takes it', async () => {
  const { fs, read } = await given();
  const path = '漢'.repeat(85);
  for (const content of ['one', 'two']) await fs('write', { path, content });
  expect(read(path)).toBe('two');
});

test('a folder is not written over', async () => {
  const { fails } = await given({ 'd/x': '' });
  expect((await fails('write', { path: 'd', content: '' })).message).toContain('is a folder');
});

test('an edit replaces a text that stands there once', async () => {
  const { fs, read } = await given({ 'a.ts': 'let a = 1;\nlet b = $1;\r\n' });
  expect(await fs('edit', { path: 'a.ts', old_text: 'b = $1', new_text: 'b = $&$2' })).toEqual({
    path: 'a.ts',
    replaced: 1,
    line: 2,
  });
  expect(read('a.ts')).toBe('let a = 1;\nlet b = $&$2;\r\n');
});

test('an edit that is not certain changes nothing and says why', async () => {
  const { fails, read } = await given({ 'a.ts': 'x\n  x\ny = 1\nz\n' });
  const twice = await fails('edit', { path: 'a.ts', old_text: 'x', new_text: 'w' });
  expect(twice.message).toContain('occurs 2 times in "a.ts", at lines 1, 2');
  const space = await fails('edit', { path: 'a.ts', old_text: 'y  =  1', new_text: 'w' });
  expect(space.hint).toContain('white space');
  const near = await fails('edit', { path: 'a.ts', old_text: 'y = 1\nq', new_text: 'w' });
  expect(near.hint).toContain('line 3');
  expect((await fails('edit', { path: 'a.ts', old_text: '', new_text: 'w' })).code).toBe('bad_parameters');
  expect((await fails('edit', { path: 'a.ts', old_text: 'z', new_text: 'z' })).message).toContain(
    'change nothing',
  );
  expect(read('a.ts')).toBe('x\n  x\ny = 1\nz\n');
});

test('a text that stands there a second time inside of the first is not certain, either', async () => {
  const { fails, fs, read } = await given({ 'a.ts': '{\n}\n}\n}\n' });
  const twice = await fails('edit', { path: 'a.ts', old_text: '}\n}', new_text: '};\n}' });
  expect(twice.message).toContain('occurs 2 times in "a.ts", at lines 2, 3');
  expect(read('a.ts')).toBe('{\n}\n}\n}\n');
  await fs('edit', { path: 'a.ts', old_text: '}\n}', new_text: '};', replace_all: true });
  expect(read('a.ts')).toBe('{\n};\n}\n');
});

test('replace_all replaces every one', async () => {
  const { fs, read } = await given({ 'a.ts': 'aaa b aa' });
  expect(await fs('edit', { path: 'a.ts', old_text: 'aa', new_text: 'c', replace_all: true })).toMatchObject({
    replaced: 2,
  });
  expect(read('a.ts')).toBe('ca b c');
});

test('list, tree and glob show what is there, without following links', async () => {
  const { fs, folder } = await given({
    'src/a.ts': 'abc',
    'src/deep/b.ts': '',
    'src/node_modules/m/x.ts': '',
  });
  symlinkSync('/', join(folder, 'src', 'root'));
  expect(await fs('list', { path: 'src' })).toEqual({
    path: 'src',
    entries: [
      { name: 'a.ts', type: 'file', bytes: 3 },
      { name: 'deep', type: 'folder' },
      { name: 'node_modules', type: 'folder' },
      { name: 'root', type: 'link' },
    ],
  });
  expect(await fs('tree', { path: 'src' })).toBe(
    'src/\n  a.ts\n  deep/\n    b.ts\n  node_modules/\n  root (link)',
  );
  expect(await fs('tree', { path: 'src', depth: 1 })).not.toContain('b.ts');
  expect(await fs('glob', { path: 'src', pattern: '**/*.ts' })).toEqual({
    paths: ['src/a.ts', 'src/deep/b.ts'],
  });
  expect(await fs('glob', { pattern: 'src/*.ts' })).toEqual({ paths: ['src/a.ts'] });
});

test.each(['../*', '/etc/*', 'a/../../*', '{a,../..}/*'])(
  'the pattern %s does not lead out',
  async (pattern) => {
    const { fails } = await given();
    expect((await fails('glob', { pattern })).code).toBe('not_permitted');
    expect((await fails('grep', { pattern: 'x', glob: pattern })).code).toBe('not_permitted');
  },
);

test('a pattern that leads through a link lists what lies in the permitted paths, and nothing else', async () => {
  const outside = temporaryProject({ 'secret.txt': 's', 'dir/private.txt': 'p' });
  const { fs, folder } = await given(
    { 'a.txt': 'a', 'deny/s.txt': 'd', 'real/deep/b.txt': 'b' },
    'permissions: { paths: { deny: [deny] } }',
  );
  symlinkSync(outside, join(folder, 'out'));
  symlinkSync('.', join(folder, 'loop'));
  symlinkSync('real', join(folder, 'link'));
  for (const pattern of [
    'out/*',
    'out/**',
    'out/secret.txt',
    'loop/out/*',
    'deny/*',
    'loop/deny/*',
    '*/s.txt',
  ])
    expect(await fs('glob', { pattern }), pattern).toEqual({ paths: [] });
  expect(await fs('glob', { pattern: 'loop/*.txt' })).toEqual({ paths: ['loop/a.txt'] });
  expect(await fs('glob', { pattern: 'link/deep/*' })).toEqual({ paths: ['link/deep/b.txt'] });
  expect(await fs('grep', { pattern: '.', glob: 'out/**' })).toMatchObject({
    matches: [],
    files: 0,
    skipped: 0,
  });
});

test('grep gives file, line and text, and passes over what is no text', async () => {
  const { fs, folder } = await given({
    'src/a.ts': 'one\nTwo two\r\n',
    'src/b.md': 'two',
    'src/c.bin': new Uint8Array([0, 1]),
  });
  symlinkSync('/etc/passwd', join(folder, 'src', 'link.ts'));
  expect(await fs('grep', { path: 'src', pattern: '^t.o', ignore_case: true })).toEqual({
    matches: [
      { path: 'src/a.ts', line: 2, text: 'Two two' },
      { path: 'src/b.md', line: 1, text: 'two' },
    ],
    files: 2,
    skipped: 1,
  });
  expect(await fs('grep', { pattern: 't.o', glob: '**/*.md' })).toMatchObject({
    matches: [{ path: 'src/b.md' }],
  });
  expect(await fs('grep', { path: 'src/a.ts', pattern: 'one' })).toMatchObject({ matches: [{ line: 1 }] });
  expect(await fs('grep', { path: 'src', pattern: '.', limit: 1 })).toMatchObject({ cut: 'after 1 matches' });
});

test('of a large folder a thousand entries are listed, two thousand lines drawn, and the rest counted', async () => {
  const { fs, folder } = await given();
  mkdirSync(join(folder, 'many'));
  const add = (from: number, to: number) => {
    for (let n = from; n < to; n++) writeFileSync(join(folder, 'many', `${n}.txt`), '');
  };
  add(0, 1000);
  expect(await fs('list', { path: 'many' })).toEqual({
    path: 'many',
    entries: expect.toSatisfy((entries: readonly unknown[]) => entries.length === 1000),
  });
  expect(await fs('glob', { path: 'many', pattern: '*.txt' })).not.toHaveProperty('left_out');
  add(1000, 2000);
  expect(await fs('list', { path: 'many' })).toMatchObject({ left_out: 1000 });
  expect(await fs('glob', { path: 'many', pattern: '*.txt' })).toMatchObject({ left_out: 1000 });
  expect(String(await fs('tree', { path: 'many' })).split('\n')).toHaveLength(2001);
  add(2000, 2003);
  const lines = String(await fs('tree', { path: 'many' })).split('\n');
  expect([lines.length, lines.at(-1)]).toEqual([2002, expect.stringContaining('… 3 more')]);
});

test('grep shows three hundred characters of a line, a hundred matches unless told, and says where it was cut', async () => {
  const line = `x${'y'.repeat(299)}`;
  const { fs } = await given({ 'long.txt': `${line}\r\n${line}z\n`, 'many.txt': 'm\n'.repeat(101) });
  expect(await fs('grep', { path: 'long.txt', pattern: '^x' })).toMatchObject({
    matches: [
      { line: 1, text: line },
      { line: 2, text: `${line}…` },
    ],
  });
  const grep = async (input: object) =>
    (await fs('grep', { path: 'many.txt', pattern: 'm', ...input })) as { matches: unknown[]; cut?: string };
  const { matches, cut } = await grep({});
  expect([matches.length, cut]).toEqual([100, 'after 100 matches']);
  expect(await grep({ limit: 101 })).not.toHaveProperty('cut');
});

test('a search can be stopped, and stops by itself after its time', async () => {
  const agent = 'import: { tools: ["builtin:filesystem"] }';
  const files = { 'a.txt': 'ab\n'.repeat(1000) };
  let now = 0;
  // Each look at the clock is a second later.
  const clock = { ...createSystemClock(), monotonic: () => (now += 1000) };
  const { call, failure } = await agentTargets({ agent, files, options: { clock } });
  const search = { operation: 'grep', pattern: 'b', path: 'a.txt' };
  expect(await call('filesystem', search)).toMatchObject({ cut: 'after 10 s' });
  for (const input of [
    search,
    { ...search, path: '.' },
    { operation: 'glob', pattern: '*' },
    { operation: 'tree' },
  ]) {
    const signal = AbortSignal.abort();
    expect((await failure('filesystem', input, { signal })).code).toBe('cancelled');
  }
});

test('so does a search of many small files', async () => {
  const agent = 'import: { tools: ["builtin:filesystem"] }';
  const files = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`f${n}.txt`, 'ab\n']));
  const stopping = new AbortController();
  const looks = { at: 0, last: Number.POSITIVE_INFINITY };
  // A file takes 12 ms, which is not long enough for its search to give way.
  const monotonic = () => {
    if (++looks.at === looks.last) stopping.abort();
    return looks.at * 4;
  };
  const { call, failure } = await agentTargets({
    agent,
    files,
    options: { clock: { ...createSystemClock(), monotonic } },
  });
  const search = { operation: 'grep', pattern: 'c', glob: '*.txt' };
  expect(await call('filesystem', search)).toMatchObject({ cut: 'after 10 s' });
  looks.last = looks.at + 20;
  expect((await failure('filesystem', search, { signal: stopping.signal })).code).toBe('cancelled');
});

test('a pattern that could hang is refused or harmless', async () => {
  const { fs, fails } = await given({ 'a.txt': `${'a'.repeat(50_000)}!` });
  expect(await fs('grep', { pattern: '(a+)+$' })).toMatchObject({ matches: [] });
  expect((await fails('grep', { pattern: '(?=a)' })).hint).toContain('RE2');
  for (const glob of [
    '*a'.repeat(40),
    '(a+)+c',
    '+(a*)c',
    '{a,aa}+c',
    '[a]+[a]+[a]+[a]+c',
    '**/*a*/**/*a*/**/*c',
    '*aa*aa*aa*aa*c',
    '*{*a,*b}{a*,b*}*c',
    '*+(a)*+(a)*c',
  ]) {
    expect((await fails('glob', { pattern: glob })).message, glob).toContain('too many wildcards');
    expect((await fails('grep', { pattern: 'a', glob })).code, glob).toBe('bad_parameters');
  }
});

test.each([
  ['..', 'above'],
  ['../..', 'far above'],
  ['/etc/passwd', 'absolute'],
  ['sub/../../x', 'by way of a folder'],
  ['/proc/self/environ', 'the environment of the process'],
])('the path %s (%s) is not permitted', async (path) => {
  const { fails } = await given({ 'sub/a': '' });
  for (const operation of ['read', 'list', 'tree'] as const) {
    const error = await fails(operation, { path });
    expect(error.code).toBe('not_permitted');
    expect(error.hint).toContain('permissions: { paths }');
  }
  expect((await fails('write', { path, content: 'x' })).code).toBe('not_permitted');
});

test('a pattern that is taken ends soon, on names that are made to make it slow', async () => {
  const name = 'a'.repeat(250);
  const path = Array.from({ length: 12 }, () => name).join('/');
  const { fs } = await given({ [name.slice(1)]: '', [`${path}/${name}`]: '' });
  for (const pattern of ['*a*a*c', '**/*a*a*c', '**/*a*/*a*/c', '**/*a*/**/*c', '**/a*/**/a*/**/a*/**/c']) {
    const began = performance.now();
    expect(await fs('glob', { pattern }), pattern).toEqual({ paths: [] });
    expect(performance.now() - began, pattern).toBeLessThan(10_000);
  }
  const common = [
    '**/*.{ts,tsx}',
    '*.test.*',
    'src/**/test/**/*_*.ts',
    '**/[a-z]*/!(x.d).ts',
    '@(x|y)*.ts',
    '{a,b,c}/{d,e}/*',
    '**/*foo*/**/*bar*',
    '**/*test*/**/*.spec.*',
    '**/*user*service*.test.*',
    '**/*{user,account}*{service,controller}*.{ts,js}',
    '**/{*foo*,*bar*}',
    '**/@(*-foo-*|*-bar-*).ts',
    '**/+([0-9]).md',
  ];
  for (const pattern of common) expect(await fs('glob', { pattern }), pattern).toEqual({ paths: [] });
});

test('an absolute path inside the permitted ones is permitted', async () => {
  const { fs, folder } = await given({ 'a.txt': 'x' });
  expect(await fs('read', { path: join(folder, 'a.txt') })).toMatchObject({ path: 'a.txt', content: 'x' });
});

test('a zero byte, an empty path and an endless one are wrong parameters', async () => {
  const { fails } = await given();
  expect((await fails('read', { path: 'a\0.txt' })).message).toContain('zero byte');
  expect((await fails('read', { path: '' })).code).toBe('bad_parameters');
  expect((await fails('read', { path: 'a/'.repeat(5000) })).code).toBe('bad_parameters');
  expect((await fails('write', { path: 'n'.repeat(300), content: '' })).code).toBe('bad_parameters');
});

test('a link to a file or a folder outside is not followed, neither to read nor to write', async () => {
  const outside = temporaryProject({ 'secret.txt': 'secret', 'dir/x': 'x' });
  const { fails, folder } = await given();
  symlinkSync(join(outside, 'secret.txt'), join(folder, 'file'));
  symlinkSync(join(outside, 'dir'), join(folder, 'dir'));
  symlinkSync('dir', join(folder, 'twice'));
  for (const path of ['file', 'dir/x', 'dir', 'twice/x'])
    for (const operation of ['read', 'list', 'grep'])
      expect((await fails(operation, { path, ...(operation === 'grep' ? { pattern: 'x' } : {}) })).code).toBe(
        'not_permitted',
      );
  for (const path of ['file', 'dir/new.txt', 'dir/deep/new.txt', 'twice/new.txt'])
    expect((await fails('write', { path, content: 'x' })).code).toBe('not_permitted');
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
  expect(readdirSync(join(outside, 'dir'))).toEqual(['x']);
});

test('a link that leads nowhere yet is not written through', async () => {
  const outside = temporaryProject();
  const { fails, folder } = await given();
  symlinkSync(join(outside, 'new.txt'), join(folder, 'file'));
  symlinkSync(join(outside, 'new'), join(folder, 'dir'));
  symlinkSync('loop', join(folder, 'loop'));
  for (const path of ['file', 'dir/x', 'dir/deep/x', 'loop', 'loop/x'])
    expect((await fails('write', { path, content: 'x' })).code).toBe('not_permitted');
  expect(readdirSync(outside)).toEqual([]);
});

test('a link inside the permitted paths is followed', async () => {
  const { fs, folder, read } = await given({ 'real/a.txt': 'x' });
  symlinkSync('real', join(folder, 'link'));
  expect(await fs('read', { path: 'link/a.txt' })).toMatchObject({ path: 'real/a.txt' });
  await fs('write', { path: 'link/b.txt', content: 'b' });
  expect(read('real/b.txt')).toBe('b');
});

test('permitted paths may be narrower than the folder, and may lie elsewhere', async () => {
  const elsewhere = temporaryProject({ 'e.txt': 'e' });
  const { fs, fails } = await given(
    { 'src/a.txt': 'a', 'b.txt': 'b' },
    `permissions: { paths: [src, ${elsewhere}] }`,
  );
  expect(await fs('read', { path: 'src/a.txt' })).toMatchObject({ content: 'a' });
  expect(await fs('read', { path: join(elsewhere, 'e.txt') })).toMatchObject({ content: 'e' });
  expect((await fails('read', { path: 'b.txt' })).code).toBe('not_permitted');
  expect((await fails('write', { path: 'src2/a.txt', content: '' })).code).toBe('not_permitted');
});

test('what git runs by itself is not written', async () => {
  const { fails, folder } = await given();
  mkdirSync(join(folder, '.git/hooks'), { recursive: true });
  writeFileSync(join(folder, '.git/config'), '[core]\n');
  expect((await fails('write', { path: '.git/hooks/pre-commit', content: '#!/bin/sh' })).code).toBe(
    'not_permitted',
  );
  expect((await fails('edit', { path: '.git/config', old_text: 'core', new_text: 'x' })).code).toBe(
    'not_permitted',
  );
  expect((await fails('write', { path: 'sub/.GIT/config', content: '' })).code).toBe('not_permitted');
  expect(existsSync(join(folder, '.git/hooks/pre-commit'))).toBe(false);
});

test('a wrong parameter is named with its path, and a misspelt one with the right one', async () => {
  const { fails, tool } = await given();
  expect((await fails('reed', { path: 'x' })).hint).toBe('Did you mean "read"?');
  expect((await fails('read', { path: 5 })).message).toContain('"/path" is 5; it must be text');
  const slip = await fails('read', { pth: 'x' });
  expect(slip.message).toContain('"path" is missing');
  expect(slip.hint).toContain('"pth" was given');
  const odd = await fails('list', { content: 'x' });
  expect(odd.message).toContain('there is no parameter "/content"');
  expect(tool('filesystem').check({})?.message).toContain('"operation" is missing');
  expect((await fails('read', { path: 'x', offset: 0 })).message).toContain(
    '"/offset" is 0; it must be >= 1',
  );
});

test('only an edit may not be run again', async () => {
  const { tool } = await given();
  const again = (operation: string) => tool('filesystem').idempotentFor?.({ operation });
  expect(
    ['read', 'write', 'edit', 'list', 'tree', 'glob', 'grep', 'what'].filter((each) => again(each) !== true),
  ).toEqual(['edit', 'what']);
});

test('an edit reads &lt; in front of a reserved tag as the file has it', async () => {
  const { fs, fails, read } = await given({
    'raw.txt': '<action>a</action>',
    'quoted.txt': 'write &lt;action> for <b>',
    'both.txt': 'x <action>\ny &lt;action>\n',
    'mixed.txt': '<if test="x">&lt;action></if>',
  });
  const edit = (path: string, old_text: string, new_text: string, more = {}) =>
    fs('edit', { path, old_text, new_text, ...more });
  await edit('raw.txt', '&lt;action>a', '&lt;thought>&lt;b>a');
  expect(read('raw.txt')).toBe('<thought>&lt;b>a</action>');
  await edit('raw.txt', '<thought>', '&lt;thought>');
  expect(read('raw.txt')).toBe('&lt;thought>&lt;b>a</action>');
  await edit('quoted.txt', '&lt;action>', '&lt;metadata>');
  expect(read('quoted.txt')).toBe('write &lt;metadata> for <b>');
  const args = { path: 'both.txt', old_text: '&lt;action>', new_text: '' };
  for (const more of [{}, { replace_all: true }]) {
    const twice = await fails('edit', { ...args, ...more });
    expect(twice.code).toBe('edit_failed');
    expect(twice.message).toContain('"<action" at line 1 and "&lt;action" at line 2');
  }
  expect(read('both.txt')).toBe('x <action>\ny &lt;action>\n');
  await edit('both.txt', 'y &lt;action>', 'y');
  await edit('both.txt', '<action>', '&lt;action>');
  expect(read('both.txt')).toBe('x &lt;action>\ny\n');
  await edit(
    'mixed.txt',
    '&lt;if test="x">&lt;action>&lt;/if>',
    '&lt;if test="y">&lt;action>&lt;action>&lt;/if>',
  );
  expect(read('mixed.txt')).toBe('<if test="y">&lt;action>&lt;action></if>');
  const unclear = await fails('edit', {
    path: 'mixed.txt',
    old_text: '&lt;if test="y">&lt;action>',
    new_text: '&lt;result>',
  });
  expect(unclear.message).toContain('"&lt;result" in the new text is ambiguous');
});

test('an edit with the line numbers of a result says to leave them out', async () => {
  const { fails } = await given({ 'a.txt': 'one\ntwo\nthree\n' });
  const numbered = await fails('edit', { path: 'a.txt', old_text: '2\ttwo\n3\tthree', new_text: 'x' });
  expect(numbered.hint).toContain('Leave out the line numbers');
});
