import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { MANIFEST_LIMITS } from '../../src/manifest/diagnostic.ts';
import { walkFolder } from '../../src/manifest/files.ts';
import { temporaryProject } from './temporary-project.ts';

it('files come folder by folder, each in the order of its names, whatever the disk says', async () => {
  const folder = temporaryProject(
    Object.fromEntries(
      ['z.yml', 'b/2.yaml', 'b/1.JSON', 'b/a/x.yml', 'a/q.yml', 'c.json', 'b/z/y.yml', 'A.yml'].map(
        (name) => [name, ''],
      ),
    ),
  );
  const { files, cut, denied } = await walkFolder(folder);
  expect(files.map((file) => relative(folder, file))).toEqual([
    'A.yml',
    'c.json',
    'z.yml',
    'a/q.yml',
    'b/1.JSON',
    'b/2.yaml',
    'b/a/x.yml',
    'b/z/y.yml',
  ]);
  expect([cut, denied]).toEqual([false, []]);
});

it('what is hidden, installed, linked, no file or of another kind is left out', async () => {
  const folder = temporaryProject({
    'a.yml': '',
    '.hidden.yml': '',
    '.git/x.yml': '',
    'node_modules/p/x.yml': '',
    'b/node_modules/x.yml': '',
    'notes.md': '',
    yml: '',
    'a.yml.bak': '',
  });
  mkdirSync(join(folder, 'folder.yml'));
  symlinkSync(join(folder, 'a.yml'), join(folder, 'link.yml'));
  symlinkSync(folder, join(folder, 'loop'));
  expect((await walkFolder(folder)).files).toEqual([join(folder, 'a.yml')]);
});

it('folders are gone into as deep as the limit', async () => {
  const folder = temporaryProject();
  let at = folder;
  for (let depth = 0; depth <= MANIFEST_LIMITS.walkDepth + 1; depth++) {
    writeFileSync(join(at, 'x.yml'), '');
    at = join(at, 'd');
    mkdirSync(at);
  }
  expect((await walkFolder(folder)).files).toHaveLength(MANIFEST_LIMITS.walkDepth + 1);
});

it('a folder with more in it than a walk takes hides no other folder', async () => {
  const folder = temporaryProject({ 'z/team/agent.yml': '', 'z/team/kit/deep/tool.yml': '' });
  const limit = 500;
  // More than is taken, and just as much as is.
  for (const [name, count] of [
    ['a', limit + 1],
    ['b', limit - 110],
  ] as const)
    for (let index = 0; index < count; index++)
      mkdirSync(join(folder, name, `${index}`, 'deep'), { recursive: true });
  const { files, cut } = await walkFolder(folder, undefined, limit);
  expect(files.map((file) => relative(folder, file))).toEqual([
    join('z', 'team', 'agent.yml'),
    join('z', 'team', 'kit', 'deep', 'tool.yml'),
  ]);
  expect(cut).toBe(true);
});

it('a folder that cannot be read is named, and the others are read', async () => {
  const folder = temporaryProject({ 'a.yml': '' });
  const missing = join(folder, 'missing');
  expect(await walkFolder(missing)).toEqual({ files: [], cut: false, denied: [missing] });
});

it('a walk that nobody wants any more ends with the reason', async () => {
  const folder = temporaryProject({ 'a.yml': '' });
  await expect(walkFolder(folder, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
});
