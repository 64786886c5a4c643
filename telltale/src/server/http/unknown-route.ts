import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { consoleMissing, routeUnknown } from './http-errors.ts';

interface Route {
  readonly method: string;
  readonly path: string;
}

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
  return routeUnknown(path, [...known]);
}

/** `/sessions/:id/steer` asked for as `/sessions/ses_1/ster` is `/sessions/ses_1/steer`. */
function filled(pattern: string, asked: readonly string[]): string {
  const parts = pattern.split('/');
  if (parts.length !== asked.length) return pattern;
  return parts.map((part, at) => (part.startsWith(':') ? (asked[at] ?? part) : part)).join('/');
}
