/**
 * Globs become backtracking regular expressions, run on every name of a walk: thousands of braces overflow the
 * engine's stack in a callback nobody can catch, and a dozen `*` in one name take hours. What people write has few.
 */
const GLOB_LIMITS = { length: 512, wildcardsInSegment: 3, folderWildcards: 4, braces: 8 } as const;

/** Why a pattern is not run, as the end of a sentence; undefined where it may be. */
export function globComplexity(pattern: string): string | undefined {
  if (pattern.length > GLOB_LIMITS.length) return `is longer than ${GLOB_LIMITS.length} characters`;
  if (/[()]/.test(pattern)) return 'contains parentheses, which globs in manifests do not support';
  if (count(pattern, /\{/g) > GLOB_LIMITS.braces)
    return `has more than ${GLOB_LIMITS.braces} pairs of braces`;
  const segments = pattern.split('/');
  if (segments.filter((segment) => segment === '**').length > GLOB_LIMITS.folderWildcards)
    return `has more than ${GLOB_LIMITS.folderWildcards} occurrences of "**"`;
  if (segments.some((segment) => count(segment, /\*+/g) > GLOB_LIMITS.wildcardsInSegment))
    return `has more than ${GLOB_LIMITS.wildcardsInSegment} "*" in one name`;
  return undefined;
}

const count = (text: string, part: RegExp) => text.match(part)?.length ?? 0;
