import type { CSSProperties } from 'react';
import type { Json } from '../../../telltale/src/lib/json.ts';
import { BAND_PATTERNS, bandLook } from '../format/band-look.ts';
import { cx } from './class-names.ts';

/** A declared state, in the same color as its band. */
export function StateChip({ field, value }: { readonly field: string; readonly value: Json }) {
  const { hue, pattern, label, none } = bandLook(value);
  if (none) return <span className="text-small text-ink-faint">no {field} yet</span>;
  return (
    <span
      title={`${field}: ${label}`}
      className="inline-flex h-5 w-fit max-w-44 min-w-0 items-center gap-1.5 rounded border border-line bg-surface pr-1.5 text-small text-ink"
    >
      <span
        aria-hidden="true"
        style={{ '--hue': hue } as CSSProperties}
        className={cx('band h-full w-2.5 shrink-0 rounded-l', BAND_PATTERNS[pattern])}
      />
      <span className="truncate font-medium">{label}</span>
    </span>
  );
}
