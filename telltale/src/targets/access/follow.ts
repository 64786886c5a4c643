import { lstat, realpath } from 'node:fs/promises';
import { join, parse, sep } from 'node:path';
import { cannotFollow } from './path-errors.ts';

/** The real path of the part that exists, and the rest as it is written. A link that leads nowhere is an error. */
export async function follow(path: string): Promise<{ readonly real: string; readonly exists: boolean }> {
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
