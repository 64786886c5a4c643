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
  const known = new Set(
    routes
      .filter(({ method, path: pattern }) => method !== 'ALL' && !pattern.includes('*'))
      .map((route) => filled(route.path, asked)),
  );
  return routeUnknown(path, [...known]);
}

/** `/sessions/:id/steer` asked for as `/sessions/ses_1/ster` is `/sessions/ses_1/steer`. */
function filled(pattern: string, asked: readonly string[]): string {
  const parts = pattern.split('/');
  if (parts.length !== asked.length) return pattern;
  return parts.map((part, at) => (part.startsWith(':') ? (asked[at] ?? part) : part)).join('/');
}
