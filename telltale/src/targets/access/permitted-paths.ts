import { lstat, realpath } from 'node:fs/promises';
import { platform } from 'node:os';
import { join, parse, relative, resolve, sep } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isInside } from '../../manifest/files/project-root.ts';
import { clip } from '../../manifest/schema/show-value.ts';

/** A path that may be touched: links resolved, so that using it leads where it was checked. */
export interface PermittedPath {
  readonly real: string;
  /** Relative to the agent's folder where it is below it, with forward slashes: how results name it. */
  readonly shown: string;
  readonly exists: boolean;
}

export interface PermittedPaths {
  /** The folders and files of `permissions.paths`, absolute, links resolved. */
  roots(): Promise<readonly string[]>;
  /**
   * Relative to the agent's folder. Rejects with `not_permitted` for what lies outside the permitted paths once every
   * link is resolved; of a path that does not exist yet, those of the folders that do.
   */
  resolve(path: string): Promise<PermittedPath>;
}

const MAX_PATH_LENGTH = 4096;

export function createPermittedPaths(folder: string, permitted: readonly string[]): PermittedPaths {
  const realFolder = async () => (await follow(folder)).real;
  const roots = () => Promise.all(permitted.map(async (path) => (await follow(resolve(folder, path))).real));
  const shownFrom = (base: string, real: string) =>
    isInside(real, base) ? relative(base, real).split(sep).join('/') || '.' : real;

  return {
    roots,
    async resolve(path) {
      const wrong = oddity(path);
      if (wrong !== undefined) throw badPath(path, wrong);
      const base = await realFolder();
      const { real, exists } = await follow(resolve(base, path));
      const allowed = await roots();
      if (!allowed.some((root) => isInside(real, root))) throw outside(path, real, permitted);
      return { real, shown: shownFrom(base, real), exists };
    },
  };
}

/** Characters that some part of the system reads as something else than a name. */
function oddity(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (path.length > MAX_PATH_LENGTH) return `has more than ${MAX_PATH_LENGTH} characters`;
  if (path.includes('\0')) return 'holds a zero byte';
  if (platform() !== 'win32') return undefined;
  if (/^[\\/]{2}/.test(path)) return 'is a network or device path';
  return /:/.test(path.slice(parse(path).root.length)) ? 'holds a colon, which names a stream' : undefined;
}

/** The real path of the part that exists, and the rest as it is written. A link that leads nowhere is an error. */
async function follow(path: string): Promise<{ readonly real: string; readonly exists: boolean }> {
  const whole = await realpath(path).catch(() => undefined);
  if (whole !== undefined) return { real: whole, exists: true };
  const { root } = parse(path);
  const segments = path.slice(root.length).split(sep);
  let real = root;
  for (const [index, segment] of segments.entries()) {
    const next = join(real, segment);
    const found = await realpath(next).catch((thrown: NodeJS.ErrnoException) => thrown);
    if (typeof found === 'string') {
      real = found;
      continue;
    }
    if (found.code === 'ENOENT' && (await lstat(next).catch(() => undefined)) === undefined)
      return { real: join(real, ...segments.slice(index)), exists: false };
    throw cannotFollow(path, next, found);
  }
  return { real, exists: true };
}

const badPath = (path: string, why: string) =>
  new RuntimeError('bad_parameters', `The path ${JSON.stringify(clip(path))} ${why}.`, {
    hint: "Give a path relative to the agent's folder.",
  });

const outside = (path: string, real: string, permitted: readonly string[]) =>
  new RuntimeError(
    'not_permitted',
    `The path "${clip(path, 200)}" leads to "${clip(real, 200)}", outside the permitted paths.`,
    {
      hint: `Permitted: ${permitted.length === 0 ? 'none' : permitted.join(', ')}. The agent's manifest says so in "permissions: { paths }".`,
    },
  );

function cannotFollow(path: string, at: string, cause: NodeJS.ErrnoException): RuntimeError {
  const shown = clip(path, 200);
  switch (cause.code) {
    case 'ENOTDIR':
      return new RuntimeError(
        'file_missing',
        `The path "${shown}" goes through a file at "${clip(at, 200)}".`,
        {
          cause,
        },
      );
    case 'ENAMETOOLONG':
      return badPath(path, 'has a name in it that is too long for the system');
    case 'EACCES':
    case 'EPERM':
      return new RuntimeError('file_denied', `The system does not let "${shown}" be looked up.`, {
        hint: 'The owner or the mode of a folder on the way forbids it.',
        cause,
      });
    default:
      return new RuntimeError(
        'not_permitted',
        `The path "${shown}" cannot be followed: "${clip(at, 200)}" is a link that leads nowhere or to itself.`,
        { hint: 'Use the path that the link should lead to, or remove the link.', cause },
      );
  }
}
