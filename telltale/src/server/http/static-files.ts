import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** The response for a file. */
export interface StaticAnswer {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/**
 * The console's files. Only files that existed at startup are served, and request paths are never used as file paths.
 */
export interface StaticFiles {
  has(path: string): boolean;
  answer(path: string, accept: string, ifNoneMatch: string | undefined): Promise<StaticAnswer>;
}

interface StaticFilesLoaded {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip?: Uint8Array<ArrayBuffer>;
  readonly br?: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

const MAX_FILES = 2_000;
/** Smaller files fit into one packet anyway. */
const MIN_COMPRESSED = 1_024;

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  webmanifest: 'application/manifest+json',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  wasm: 'application/wasm',
};
const COMPRESSED: ReadonlySet<string> = new Set(['png', 'jpg', 'webp', 'ico', 'woff2']);

/** A name with a hash of the content, as the build writes it: `assets/index-BX3k_9aQ.js`. */
const HASHED = /^\/assets\/.+-[\w-]{8}\.\w+$/;

/** The files of a folder. Empty if it does not exist. */
export async function openStaticFiles(folder: string): Promise<StaticFiles> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, string>();
  for (const entry of names.slice(0, MAX_FILES)) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    files.set(file.slice(join(folder, sep).length - 1).replaceAll(sep, '/'), file);
  }
  const index = files.get('/index.html');
  if (index !== undefined) files.set('/', index);
  const loaded = new Map<string, Promise<StaticFilesLoaded>>();

  const load = (file: string): Promise<StaticFilesLoaded> => {
    const before = loaded.get(file);
    if (before !== undefined) return before;
    const loading = loadFile(file);
    loaded.set(file, loading);
    // The next request tries again.
    loading.catch(() => loaded.delete(file));
    return loading;
  };

  return {
    has: (path) => files.has(path),
    async answer(path, accept, ifNoneMatch) {
      const file = files.get(path) ?? '';
      const { plain, gzip: zipped, br, etag } = await load(file);
      const encoding =
        br !== undefined && accepts(accept, 'br') ? 'br' : accepts(accept, 'gzip') ? 'gzip' : '';
      const chosen = (encoding === 'br' ? br : encoding === 'gzip' ? zipped : undefined) ?? plain;
      const headers = {
        'cache-control': HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
        etag,
        vary: 'accept-encoding',
      };
      if (ifNoneMatch !== undefined && matches(ifNoneMatch, etag))
        return { status: 304, headers, body: null };
      return {
        status: 200,
        headers: {
          ...headers,
          'content-type': TYPES[endingOf(file)] ?? 'application/octet-stream',
          'content-length': String(chosen.length),
          ...(chosen === plain ? {} : { 'content-encoding': encoding }),
        },
        body: chosen,
      };
    },
  };
}

/**
 * Compresses with a medium Brotli level: for the console's script 15 % smaller than gzip, in a tenth of a second, once.
 * The highest level takes two seconds for another 8 %.
 */
async function loadFile(file: string): Promise<StaticFilesLoaded> {
  const plain = await readFile(file);
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  if (plain.length < MIN_COMPRESSED || COMPRESSED.has(endingOf(file))) return { plain, etag };
  const [zipped, br] = await Promise.all([
    promisify(gzip)(plain),
    promisify(brotliCompress)(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  ]);
  return { plain, etag, gzip: zipped, br };
}

const endingOf = (file: string): string => file.slice(file.lastIndexOf('.') + 1).toLowerCase();

/** `br;q=0` means that the client refuses it. */
const accepts = (accept: string, encoding: string): boolean =>
  new RegExp(`(?:^|,)\\s*${encoding}\\s*(?:;\\s*q=(?!0(?:\\.0*)?\\s*(?:,|$))[\\d.]+\\s*)?(?:,|$)`, 'i').test(
    accept,
  );

const matches = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' ||
  ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
