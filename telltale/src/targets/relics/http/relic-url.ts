import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { clip } from '../../../manifest/schema/show-value.ts';

/** An address below a base that no path can leave. */
export interface RelicUrl {
  readonly origin: string;
  /** Ends with a slash. */
  readonly path: string;
  /** The address of a path below the base, without its query. */
  resolve(path: string): URL;
  /** Throws for an address that is not below the base: another origin, or higher up. */
  check(url: URL): void;
}

/** Some servers decode a path more than once. */
const MAX_DECODINGS = 5;

export function createRelicUrl(what: string, base: URL): RelicUrl {
  const root = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`;
  const check = (url: URL) => {
    const isBelow = url.pathname === base.pathname || url.pathname.startsWith(root);
    if (url.origin !== base.origin || !isBelow || climbs(url.pathname))
      throw leaves(what, `${url.origin}${url.pathname}`, `${base.origin}${base.pathname}`);
  };
  return {
    origin: base.origin,
    path: root,
    check,
    resolve(path) {
      // `//host`, `https:…` and `\\host` are addresses of their own to the parser: in front of them it gets the base.
      const relative = path.replace(/^[\\/]+/, '');
      const url =
        relative === '' ? new URL(base.href) : readUrl(what, path, `${base.origin}${root}${relative}`);
      if (climbs(path)) throw leaves(what, clip(path, 200), `${base.origin}${base.pathname}`);
      check(url);
      url.hash = '';
      return url;
    },
  };
}

/** Whether a server that decodes it once more than it should would see `..` in it. */
function climbs(path: string): boolean {
  let text = path.replace(/[?#].*$/s, '');
  for (let times = 0; times < MAX_DECODINGS; times++) {
    if (text.split(/[\\/]/).some((segment) => segment === '..')) return true;
    const decoded = text.replace(/%(2e|2f|5c|25)/gi, (escaped) => decodeURIComponent(escaped));
    if (decoded === text) return false;
    text = decoded;
  }
  return true;
}

function readUrl(what: string, path: string, href: string): URL {
  try {
    return new URL(href);
  } catch {
    throw new RuntimeError(
      'bad_parameters',
      `The path ${JSON.stringify(clip(path, 200))} of ${what} cannot be read.`,
      {
        hint: 'Write it like "items/7".',
      },
    );
  }
}

const leaves = (what: string, found: string, base: string) =>
  new RuntimeError('not_permitted', `"${found}" is not below ${base}, where ${what} stays.`, {
    hint: 'Give a path below that address; another service needs a relic of its own.',
  });
