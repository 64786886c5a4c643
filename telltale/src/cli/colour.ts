import picocolors from 'picocolors';
import type { Palette } from '../manifest/palette.ts';
import type { Output } from './io.ts';

/**
 * FORCE_COLOR decides if it is set (`0` and `false` are off, anything else is on), as in Node itself; then any
 * non-empty NO_COLOR is off; then a terminal is on, unless it calls itself dumb.
 */
export function wantsColour(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const forced = env.FORCE_COLOR;
  if (forced !== undefined) return forced !== '0' && forced.toLowerCase() !== 'false';
  if (env.NO_COLOR) return false;
  return isTerminal && env.TERM !== 'dumb';
}

export const paletteFor = (output: Pick<Output, 'colour'>): Palette => picocolors.createColors(output.colour);
