import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const pages = readdirSync(join(ROOT, 'docs/decisions')).filter((file) => file.endsWith('.md'));

/** Pages longer than this are no longer one screen. */
const MOST_WORDS = 520;

describe('the decision pages', () => {
  it('are all listed in their README, each once', () => {
    const listed = [...read('docs/decisions/README.md').matchAll(/^- .+\? \[[^\]]+\]\(([^)]+)\)$/gm)];
    expect(listed.map((match) => match[1]).sort()).toEqual(pages.filter((file) => file !== 'README.md'));
  });

  it.each(pages.filter((file) => file !== 'README.md'))('%s fits on one screen', (file) => {
    const words = read(join('docs/decisions', file)).split(/\s+/).length;
    expect(words).toBeLessThanOrEqual(MOST_WORDS);
  });
});

describe('links to other pages', () => {
  const slug = (title: string) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
  const anchorsOf = (page: string) => [
    ...[...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => slug(title)),
    ...[...page.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id),
  ];
  const docs = [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => join('docs', file)),
  ];

  it.each(docs)('%s leads to pages and headings that exist', (file) => {
    const page = read(file).replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');
    const dead = [...page.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(([, path, anchor]) => {
      const target = path === '' || path === undefined ? join(ROOT, file) : join(ROOT, dirname(file), path);
      if (!existsSync(target)) return true;
      if (anchor === undefined || !target.endsWith('.md')) return false;
      return !anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });
});
