import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commitOf, findGitFolder } from '../../src/memory/index/git-folder.ts';

const [ONE, TWO] = ['1'.repeat(40), '2'.repeat(64)];
let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-git-')));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const put = (files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
};

describe('the repository of a folder', () => {
  it('is the nearest above it', () => {
    put({ '.git/HEAD': '', 'a/.git/HEAD': '', 'a/b/c/x': '' });
    const git = join(home, 'a', '.git');
    expect(findGitFolder(join(home, 'a', 'b', 'c'))).toEqual({
      repository: join(home, 'a'),
      own: git,
      common: git,
    });
    expect(findGitFolder(home)?.repository).toBe(home);
  });

  it('of a worktree has a HEAD of its own, and shares the rest', () => {
    put({
      'main/.git/HEAD': 'ref: refs/heads/main\n',
      'main/.git/refs/heads/main': `${ONE}\n`,
      'main/.git/refs/heads/work': `${TWO}\n`,
      'main/.git/worktrees/w/HEAD': 'ref: refs/heads/work\n',
      'main/.git/worktrees/w/commondir': '../..\n',
      'w/.git': 'gitdir: ../main/.git/worktrees/w\n',
    });
    expect(findGitFolder(join(home, 'w'))).toEqual({
      repository: join(home, 'w'),
      own: join(home, 'main', '.git', 'worktrees', 'w'),
      common: join(home, 'main', '.git'),
    });
    expect([commitOf(join(home, 'w')), commitOf(join(home, 'main'))]).toEqual([
      { commit: TWO },
      { commit: ONE },
    ]);
  });

  it('is not one that a file names without saying so', () => {
    put({ 'a/.git': 'main/.git\n', 'b/.git': 'not gitdir: x\n' });
    for (const folder of ['a', 'b'])
      expect(findGitFolder(join(home, folder))?.repository).not.toBe(join(home, folder));
  });
});

describe('the commit of a folder', () => {
  const commit = (files: Readonly<Record<string, string>>) => {
    put(files);
    return commitOf(home).commit;
  };

  it('is in HEAD, in a ref, in a ref of a ref, or among those that are packed', () => {
    expect(commit({ '.git/HEAD': `${ONE}\n` })).toBe(ONE);
    expect(commit({ '.git/HEAD': 'ref: refs/heads/a\n', '.git/refs/heads/a': `${TWO}\n` })).toBe(TWO);
    expect(commit({ '.git/refs/heads/a': 'ref: refs/heads/b\n', '.git/refs/heads/b': ONE })).toBe(ONE);
    const packed = `# pack-refs with: peeled\n${ONE} refs/heads/c/old\n${TWO} refs/heads/old\n^${ONE}\n`;
    expect(commit({ '.git/HEAD': 'ref: refs/heads/old\n', '.git/packed-refs': packed })).toBe(TWO);
  });

  it('is none before the first, in a circle, or where a ref leads out of the repository', () => {
    expect(commit({ '.git/HEAD': 'ref: refs/heads/new\n' })).toBeUndefined();
    expect(commit({ '.git/refs/heads/new': 'ref: refs/heads/new\n' })).toBeUndefined();
    put({ secret: ONE });
    expect(commit({ '.git/HEAD': 'ref: refs/../../secret\n' })).toBeUndefined();
    expect(commit({ '.git/HEAD': 'ref: ../secret\n' })).toBeUndefined();
    expect(commit({ '.git/HEAD': `${ONE.slice(1)}\n` })).toBeUndefined();
    expect(commit({ '.git/HEAD': `x ${ONE}\n` })).toBeUndefined();
    rmSync(join(home, '.git', 'HEAD'));
    expect(commitOf(home)).toEqual({});
  });
});
