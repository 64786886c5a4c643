import { nearest } from '../../kernel/nearest.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { consoleMissing, routeUnknown } from './http-errors.ts';

interface Route {
  readonly method: string;
  readonly path: string;
}

/** Parts of a path that are looked at as a prefix, and what follows it. */
const MOST_PREFIXED = 6;

/** The error of a path that no route has, with the nearest of those that there are. */
export function unknownRoute(path: string, routes: readonly Route[]): RuntimeError {
  if (path === '/' || path === '/index.html') return consoleMissing();
  const asked = path.split('/');
  const patterns = routes
    .filter(({ method, path: pattern }) => method !== 'ALL' && !pattern.includes('*'))
    .map((route) => route.path);
  // What is filled in is always like what was asked for: only the fixed parts say whether a route is near.
  const beside = patterns.filter((pattern) => pattern.split('/')[1] === asked[1]);
  const known = new Set((beside.length > 0 ? beside : patterns).map((pattern) => filled(pattern, asked)));
  known.delete(path);
  return routeUnknown(path, withoutPrefix(asked, patterns) ?? nearest(path, known));
}

/** `/api/v1/sessions` and `/v2/sessions` are `/sessions`: other servers have their routes below such a name. */
function withoutPrefix(asked: readonly string[], patterns: readonly string[]): string | undefined {
  for (let from = 2; from < Math.min(asked.length, MOST_PREFIXED); from++) {
    const rest = ['', ...asked.slice(from)];
    const path = rest.join('/');
    if (patterns.some((pattern) => pattern.split('/')[1] === rest[1] && filled(pattern, rest) === path))
      return path;
  }
  return undefined;
}

/** `/sessions/:id/steer` asked for as `/sessions/ses_1/ster` is `/sessions/ses_1/steer`. */
function filled(pattern: string, asked: readonly string[]): string {
  const parts = pattern.split('/');
  if (parts.length !== asked.length) return pattern;
  return parts.map((part, at) => (part.startsWith(':') ? (asked[at] ?? part) : part)).join('/');
}
