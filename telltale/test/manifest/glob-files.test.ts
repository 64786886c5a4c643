import { describe, expect, it } from 'vitest';
import { globFiles } from '../../src/manifest/files.ts';
import { temporaryProject } from './temporary-project.ts';

const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`d${i % 6}/f${i}.yml`, '']));

describe('a glob over many files', () => {
  it('ends when it has come across too many entries', async () => {
    const folder = temporaryProject(many);
    const limits = { walkEntries: 20, globMatches: 1000 };
    expect(await globFiles('**/*.yml', folder, undefined, limits)).toEqual({
      ok: false,
      error: { type: 'too_many', limit: 20 },
    });
  });

  it('ends when too many match', async () => {
    const limits = { walkEntries: 1000, globMatches: 20 };
    const found = await globFiles('**/*.yml', temporaryProject(many), undefined, limits);
    expect(found).toEqual({ ok: false, error: { type: 'too_many', limit: 20 } });
  });

  it('gives the same order every time', async () => {
    const folder = temporaryProject({
      'b.yml': '',
      'a/z.yml': '',
      'a.yml': '',
      'node_modules/x.yml': '',
      'B.yml': '',
    });
    const found = await globFiles('**/*.yml', folder);
    expect(found.ok && found.value.map((path) => path.slice(folder.length))).toEqual([
      '/B.yml',
      '/a.yml',
      '/a/z.yml',
      '/b.yml',
    ]);
  });

  it('stops when it is told to', async () => {
    await expect(
      globFiles('**', temporaryProject(many), AbortSignal.abort(new Error('stop'))),
    ).rejects.toThrow('stop');
  });
});
