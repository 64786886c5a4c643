import { sep } from 'node:path';

/** Whether an entry of `permissions.paths` is a glob: `*`, `?` and `**` between slashes. */
export const isPattern = (entry: string): boolean => /[*?]/.test(entry);

/** The folder that an entry begins with, before its first wildcard, and the rest; none where there is no wildcard. */
export function splitPattern(entry: string): { readonly folder: string; readonly rest: readonly string[] } {
  const segments = entry.split(/[\\/]/);
  const first = segments.findIndex(isPattern);
  const folder = segments.slice(0, first === -1 ? segments.length : first).join('/');
  return {
    folder: folder === '' ? (entry.startsWith('/') ? '/' : '.') : folder,
    rest: first === -1 ? [] : segments.slice(first).filter((segment) => segment !== ''),
  };
}

/** One and the same name for file systems that do not tell case or composition apart. */
export const folded = (text: string): string => text.normalize('NFC').toLowerCase();

/** Whether the pattern names this path, relative to its folder, or a folder that it lies in. */
export function matchesPattern(pattern: readonly string[], below: string): boolean {
  const path = below.split(sep).filter((segment) => segment !== '');
  // reach[i]: the segments of the path so far are named by the first i of the pattern.
  let reach = pattern.map(() => false);
  reach = [true, ...reach];
  skipDoubleStars(pattern, reach);
  for (const segment of path) {
    const next = [false, ...pattern.map((each, at) => reach[at] === true && matchesSegment(each, segment))];
    for (const [at, each] of pattern.entries()) if (each === '**' && reach[at] === true) next[at] = true;
    skipDoubleStars(pattern, next);
    if (next[pattern.length] === true) return true;
    reach = next;
  }
  return false;
}

/** `**` also stands for no folder at all, but not at the end: `a/**` is what lies in `a`. */
function skipDoubleStars(pattern: readonly string[], reach: boolean[]): void {
  for (const [at, each] of pattern.entries())
    if (each === '**' && reach[at] === true && at < pattern.length - 1) reach[at + 1] = true;
}

/** `*` is any run of characters, `?` one; what follows the last `*` is tried at each place behind it. */
function matchesSegment(pattern: string, text: string): boolean {
  if (pattern === '**') return true;
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let i = 0; i < text.length; ) {
    if (at < pattern.length && (pattern[at] === '?' || (pattern[at] === text[i] && pattern[at] !== '*'))) {
      at++;
      i++;
    } else if (pattern[at] === '*') {
      star = at++;
      resume = i;
    } else if (star !== -1) {
      at = star + 1;
      i = ++resume;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
