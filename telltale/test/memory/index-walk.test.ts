import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commitOf as commitIn } from '../../src/memory/index/git-folder.ts';
import { isMinified, MAX_DEPTH, MAX_PATH_CHARS, readSource } from '../../src/memory/index/read-source.ts';
import { walk } from '../../src/memory/index/walk.ts';
import { graphName, graphPath } from '../../src/memory/open-memory.ts';
import { moreRuns } from '../more-runs.ts';

type Files = Readonly<Record<string, string>>;

function folderOf(files: Files): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-walk-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  write(folder, files);
  return folder;
}

function write(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });

function walked(root: string, below: readonly string[] = ['']) {
  const files: string[] = [];
  const { stopped, unreadable } = walk(root, below, {
    wanted: (path) => path.endsWith('.ts'),
    found: ({ path }) => files.push(path),
    isStopped: () => false,
  });
  return { files, stopped, unreadable };
}

/** What git takes for the folder's own, without what is never looked at. */
const gitFiles = (root: string): readonly string[] =>
  git(root, 'ls-files', '-co', '--exclude-standard', '-z')
    .split('\0')
    .filter((path) => path.endsWith('.ts'))
    .toSorted();

describe('what is ignored', () => {
  const tree = Object.fromEntries(
    [
      'a.ts',
      'b.ts',
      'x/a.ts',
      'x/b.ts',
      'x/y/a.ts',
      'x/y/z/a.ts',
      'build/a.ts',
      'x/build/a.ts',
      '#a.ts',
      '!a.ts',
      'a b.ts',
      'a .ts',
      'foo/bar/a.ts',
      'foo/bar/baz/b.ts',
      'ab.ts',
      'abc.ts',
      'A.ts',
      'logs/1.ts',
      'logs/keep.ts',
      'logs/deep/2.ts',
      'a-b.ts',
      'a]b.ts',
      'a[b].ts',
      'a\\b.ts',
      'ü.ts',
    ].map((path) => [path, '']),
  );
  it.each<[string, Files]>([
    ['names and endings', { '.gitignore': 'b.ts\n*c.ts\n' }],
    ['folders only', { '.gitignore': 'build/\na.ts/\n' }],
    ['paths from the top', { '.gitignore': '/a.ts\n/x/b.ts\n/build\n' }],
    ['a slash in the middle', { '.gitignore': 'x/a.ts\nfoo/bar\n' }],
    ['any folders in between', { '.gitignore': 'x/**/a.ts\n**/baz\nfoo/**\n' }],
    ['two stars that are one', { '.gitignore': 'a**.ts\n' }],
    [
      'two stars behind text and before a slash',
      { '.gitignore': 'a**/*\nx**/a.ts\n!x/y**\nfoo/b**\\/b.ts\n' },
    ],
    ['what is kept after all', { '.gitignore': 'logs/*\n!logs/keep.ts\n*.ts\n!x/\n!a*.ts\n' }],
    ['nothing below an ignored folder comes back', { '.gitignore': 'logs/\n!logs/keep.ts\n' }],
    ['rules of a folder further down', { '.gitignore': '*.ts\n', 'x/.gitignore': '!a.ts\n/y/z\n' }],
    ['rules that are weaker above', { '.gitignore': '!b.ts\n', 'x/.gitignore': 'b.ts\n' }],
    [
      'comments, blanks and escapes',
      { '.gitignore': '# b.ts\n\\#a.ts\n\\!a.ts\na\\ b.ts\na .ts   \nb.ts  \n' },
    ],
    ['sets', { '.gitignore': '[ab].ts\n[!a]bc.ts\na[[:punct:]]b.ts\n[[:upper:]]*\n' }],
    ['sets that are odd', { '.gitignore': 'a[]]b.ts\na[-x]b.ts\na\\[b].ts\na[\n[[:none:]].ts\na\\\\b.ts\n' }],
    ['a question mark', { '.gitignore': '?.ts\na?b.ts\n' }],
    ['lines that end with \\r\\n, and a byte order mark', { '.gitignore': '\uFEFFa.ts\r\nx/b.ts\r\n' }],
    ['a last line without an end', { '.gitignore': 'a.ts\nab.ts' }],
    ['the repository’s own list', { '.git/info/exclude': 'a.ts\n/x/y\n', '.gitignore': '!/a.ts\n' }],
  ])('is what git ignores: %s', (_what, rules) => {
    const root = folderOf(tree);
    git(root, 'init', '-q');
    write(root, rules);
    expect(walked(root).files.toSorted()).toEqual(gitFiles(root));
  });

  it('is what git ignores, whatever the rules are', () => {
    const root = folderOf(tree);
    git(root, 'init', '-q');
    const piece = fc.constantFrom(
      'a',
      'b',
      'x',
      'y',
      'z',
      '*',
      '**',
      '?',
      '/',
      '[ab]',
      '[!a]',
      '.ts',
      'foo',
      'bar',
      'build',
      '\\*',
      ' ',
    );
    const rule = fc
      .tuple(fc.boolean(), fc.array(piece, { minLength: 1, maxLength: 6 }), fc.boolean())
      .map(([negated, parts, isFolder]) => `${negated ? '!' : ''}${parts.join('')}${isFolder ? '/' : ''}`);
    const list = fc.array(rule, { maxLength: 5 }).map((rules) => `${rules.join('\n')}\n`);
    fc.assert(
      fc.property(list, list, (top, inner) => {
        write(root, { '.gitignore': top, 'x/.gitignore': inner });
        expect(walked(root).files.toSorted()).toEqual(gitFiles(root));
      }),
      { numRuns: moreRuns(40) },
    );
  });

  it('is ignored where there is no repository, and by a .ignore file, which has the last word', () => {
    const root = folderOf({
      'a.ts': '',
      'b.ts': '',
      'c/d.ts': '',
      '.gitignore': 'a.ts\nc/\n',
      '.ignore': '!a.ts\nb.ts\n',
    });
    expect(walked(root).files).toEqual(['a.ts']);
  });

  it('also comes from the folders above, up to the repository’s own', () => {
    const root = folderOf({
      '.gitignore': 'a.ts\n/packages/one/b.ts\n!keep.ts\n',
      'packages/.gitignore': 'one/c.ts\n',
      'packages/one/a.ts': '',
      'packages/one/b.ts': '',
      'packages/one/c.ts': '',
      'packages/one/d.ts': '',
    });
    git(root, 'init', '-q');
    expect(walked(join(root, 'packages/one')).files).toEqual(['d.ts']);
  });

  it('is found quickly, however many stars a line has', () => {
    const name = `${'a'.repeat(200)}.ts`;
    const root = folderOf({ [name]: '', '.gitignore': `${'*a'.repeat(60)}*b\n${'**/'.repeat(60)}c\n` });
    expect(walked(root).files).toEqual([name]);
  });
});

describe('a walk', () => {
  it('leaves out node_modules, .git and hidden folders but .github, and goes in order', () => {
    const paths = [
      'b/a.ts',
      'a.ts',
      '.github/x.ts',
      '.hidden/x.ts',
      'node_modules/p/i.ts',
      'b/node_modules/i.ts',
    ];
    const root = folderOf(Object.fromEntries([...paths, '.eslintrc.ts', 'c.txt'].map((path) => [path, ''])));
    git(root, 'init', '-q');
    expect(walked(root).files).toEqual(['.eslintrc.ts', 'a.ts', '.github/x.ts', 'b/a.ts']);
  });

  it('follows no links: a loop of them is nothing', () => {
    const root = folderOf({ 'a/b.ts': '' });
    symlinkSync('..', join(root, 'a/loop'));
    symlinkSync('a/b.ts', join(root, 'link.ts'));
    symlinkSync('self.ts', join(root, 'self.ts'));
    expect(walked(root)).toEqual({ files: ['a/b.ts'], stopped: undefined, unreadable: [] });
    expect(walked(root, ['a/loop/a/b.ts', 'link.ts']).files).toEqual([]);
  });

  it('goes so deep and no deeper, and says so', () => {
    const deep = (count: number) => `${Array.from({ length: count }, () => 'd').join('/')}/a.ts`;
    const root = folderOf({ [deep(MAX_DEPTH)]: '', [deep(MAX_DEPTH + 1)]: '', 'z.ts': '' });
    const { files, stopped } = walked(root);
    expect(files).toEqual(['z.ts', deep(MAX_DEPTH)]);
    expect(stopped).toContain(`more than ${MAX_DEPTH} folders deep`);
  });

  it('leaves out a path that is longer than the store can name, and says so', () => {
    const long = `${Array.from({ length: 6 }, () => 'd'.repeat(200)).join('/')}/a.ts`;
    const root = folderOf({ [long]: '', 'z.ts': '' });
    const { files, stopped, unreadable } = walked(root);
    expect([files, unreadable]).toEqual([['z.ts'], [long]]);
    expect(stopped).toContain(`more than ${MAX_PATH_CHARS} characters`);
    expect(walked(root, [long]).files).toEqual([]);
  });

  it('of single paths takes what a whole walk would have found there, and nothing else', () => {
    const root = folderOf({
      'a/b.ts': '',
      'a/c/d.ts': '',
      'a/skip/e.ts': '',
      'a/.gitignore': 'skip/\n',
      'node_modules/x.ts': '',
      'b.ts': '',
    });
    expect(walked(root, ['a/b.ts', 'a/skip/e.ts', 'node_modules/x.ts', 'gone.ts', 'b.ts/x']).files).toEqual([
      'a/b.ts',
    ]);
    expect(walked(root, ['a', 'b.ts']).files).toEqual(['a/b.ts', 'a/c/d.ts', 'b.ts']);
  });

  it('does not take a folder that is gone for an empty one', () => {
    const { stopped, files } = walked(join(folderOf({}), 'gone'));
    expect({ stopped, files }).toEqual({ stopped: 'The folder itself cannot be read.', files: [] });
  });

  it('names folders that may not be read', () => {
    const root = folderOf({ 'shut/a.ts': '', 'b.ts': '' });
    chmodSync(join(root, 'shut'), 0);
    onTestFinished(() => chmodSync(join(root, 'shut'), 0o700));
    const mayAll = process.getuid?.() === 0;
    expect(walked(root)).toMatchObject(
      mayAll ? { files: ['b.ts', 'shut/a.ts'], unreadable: [] } : { files: ['b.ts'], unreadable: ['shut'] },
    );
  });
});

describe('the commit', () => {
  it('is read as git says it: on a branch, packed, detached, in a worktree, below the top', () => {
    const root = folderOf({ 'a/b.ts': '' });
    const commitOf = (folder: string) => commitIn(folder).commit;
    git(root, 'init', '-q');
    expect(commitOf(root)).toBe(undefined);
    git(root, 'add', '.');
    git(root, '-c', 'user.name=n', '-c', 'user.email=n@example.org', 'commit', '-qm', 'one');
    const head = git(root, 'rev-parse', 'HEAD').trim();
    expect(commitOf(join(root, 'a'))).toBe(head);
    git(root, 'worktree', 'add', '-q', 'other', '-b', 'other/branch');
    expect(commitOf(join(root, 'other/a'))).toBe(head);
    git(root, 'pack-refs', '--all');
    expect([commitOf(root), commitOf(join(root, 'other'))]).toEqual([head, head]);
    git(root, 'checkout', '-q', '--detach');
    expect(commitOf(root)).toBe(head);
    expect(commitOf('/')).toBe(undefined);
  });
});

describe('names', () => {
  it('of a graph are the way from the store’s file to the folder, so that both can be moved', () => {
    const root = folderOf({ 'p/.telltale/t.db': '', 'p/src/a.ts': '' });
    expect(graphName(`sqlite:${root}/p/.telltale/t.db`, `${root}/p`)).toBe('..');
    expect(graphName(`sqlite:${root}/p/t.db`, `${root}/p`)).toBe('.');
    expect(graphName(`sqlite:${root}/p/new/t.db`, `${root}/p/src`)).toBe('../src');
    expect(graphName('memory', `${root}/p`)).toBe(`${root}/p`);
  });

  it('of files are relative to the folder, by whatever way it is reached; outside there are none', () => {
    const root = folderOf({ 'p/a/b.ts': '' });
    symlinkSync('p', join(root, 'q'));
    const path = (asked: string) => graphPath(asked, `${root}/p`, `${root}/q`);
    expect([
      path('a/b.ts'),
      path(`${root}/p/a/b.ts`),
      path(`${root}/q/a/b.ts`),
      path('./a/../a/b.ts'),
    ]).toEqual(Array(4).fill('a/b.ts'));
    expect([path('.'), path('..'), path('../q2'), path(`${root}/other`), path('a\0b')]).toEqual([
      '',
      ...Array(4).fill(undefined),
    ]);
    expect(path('..a')).toBe('..a');
  });
});

describe('a source', () => {
  it('of one long line is a program’s, a short text and one of many lines are not', () => {
    expect(isMinified('x'.repeat(6000))).toBe(true);
    expect(isMinified(`${'a;\n'.repeat(9000)}${'x'.repeat(20_001)}`)).toBe(true);
    expect(isMinified('x'.repeat(600))).toBe(false);
    expect(isMinified('const a = 1;\n'.repeat(1000))).toBe(false);
  });

  it('loses its byte order mark; its hash does not', () => {
    const root = folderOf({ 'a.ts': '\uFEFFa', 'b.ts': 'a' });
    const [a, b] = [readSource(join(root, 'a.ts')), readSource(join(root, 'b.ts'))];
    expect([a, b]).toMatchObject([{ text: 'a' }, { text: 'a' }]);
    expect(a.hash).not.toBe(b.hash);
  });
});
