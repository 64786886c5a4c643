import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { badUrl, urlTooLong } from './http-errors.ts';

const MAX_URL_CHARS = 4_096;

/** What stands for something else once it is decoded: a slash, a backslash, a control character. */
const HIDDEN = /%(?:2f|5c|[01][0-9a-f]|7f)/i;
const ENCODED = /%[0-9a-f]{2}/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const CONTROL = /[\u0000-\u001f\u007f\\]/;

/**
 * Why the path of a request is none that is served: one that means another thing to the next that reads it. Routes never
 * see such a path, and no file is opened by it in any case.
 */
export function refusePath(url: string): RuntimeError | undefined {
  if (url.length > MAX_URL_CHARS) return urlTooLong(url.length, MAX_URL_CHARS);
  // A proxy's form of it, or `*`.
  if (!url.startsWith('/')) return badUrl('does not begin with "/"');
  const path = url.split(/[?#]/, 1)[0] ?? '';
  if (CONTROL.test(path)) return badUrl('has a backslash or a control character in it');
  if (HIDDEN.test(path)) return badUrl('hides a slash or a control character');
  let plain: string;
  try {
    plain = decodeURIComponent(path);
  } catch {
    return badUrl('is encoded wrongly');
  }
  if (ENCODED.test(plain)) return badUrl('is encoded twice');
  if (plain.split('/').some((part) => part === '.' || part === '..')) return badUrl('has dots for a folder');
  return undefined;
}
