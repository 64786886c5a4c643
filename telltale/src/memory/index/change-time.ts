import type { Stats } from 'node:fs';

/**
 * When a file was last touched in any way. Who writes a file can set its time of modification back, as `cp -p`, archives
 * and some build tools do; that of its entry nobody can.
 */
export const changeTime = ({ mtimeMs, ctimeMs }: Pick<Stats, 'mtimeMs' | 'ctimeMs'>): number =>
  Math.max(mtimeMs, ctimeMs);
