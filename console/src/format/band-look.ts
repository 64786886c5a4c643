import type { Json } from '../../../telltale/src/lib/json.ts';

/** How a declared state is drawn. The same value looks the same in every session and on every machine. */
export interface BandLook {
  /** Degrees on the color wheel. */
  readonly hue: number;
  /** 0 is plain; 1 to 3 are patterns of `theme.css`. */
  readonly pattern: 0 | 1 | 2 | 3;
  readonly label: string;
  /** Whether nothing was declared. */
  readonly none: boolean;
}

const HUES = 12;
const PATTERNS = 4;
const MAX_LABEL = 40;

export function bandLook(value: Json): BandLook {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const hash = hashOf(text);
  return {
    hue: (hash % HUES) * (360 / HUES) + 10,
    pattern: (Math.floor(hash / HUES) % PATTERNS) as BandLook['pattern'],
    label: value === null ? 'not declared' : text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL)}…` : text,
    none: value === null,
  };
}

/** FNV-1a with a final mix, so that similar short words get different hashes. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 12)) >>> 0;
}

export const BAND_PATTERNS: readonly string[] = ['', 'band-1', 'band-2', 'band-3'];
