import type { CSSProperties } from 'react';
import type { StateSpan } from '../../../telltale/src/log/session-summary.ts';
import { BAND_PATTERNS, bandLook } from '../format/band-look.ts';
import { formatDuration } from '../format/format-duration.ts';
import { type PlacedSpan, placeSpans } from '../format/place-spans.ts';
import { cx } from './class-names.ts';

export interface StateStripProps {
  /** The metadata field. */
  readonly field: string;
  readonly spans: readonly StateSpan[];
  readonly from: number;
  readonly to: number;
  /** `thin` is for lists. `labeled` writes the values into bands that have room. */
  readonly kind?: 'thin' | 'labeled';
  /** Turns the bands into buttons for the events that started them. */
  readonly onSpan?: (span: StateSpan) => void;
  readonly className?: string;
}

/** The states that an agent declared over time, as bands. */
export function StateStrip(props: StateStripProps) {
  const { field, spans, from, to, kind = 'thin', onSpan, className } = props;
  const placed = placeSpans(spans, from, to);
  const words = placed.map(({ span }) => bandLook(span.value).label).join(', then ');
  const list = (
    <span
      {...(onSpan === undefined ? { role: 'img', 'aria-label': `${field}: ${words || 'nothing yet'}` } : {})}
      className={cx(
        'flex w-full overflow-hidden rounded bg-sunken',
        kind === 'thin' ? 'h-2.5' : 'h-6',
        className,
      )}
    >
      {placed.map((band) => (
        <Band key={band.span.seq} field={field} band={band} labeled={kind === 'labeled'} onSpan={onSpan} />
      ))}
    </span>
  );
  return list;
}

interface BandProps {
  readonly field: string;
  readonly band: PlacedSpan;
  readonly labeled: boolean;
  readonly onSpan: ((span: StateSpan) => void) | undefined;
}

function Band({ field, band, labeled, onSpan }: BandProps) {
  const { hue, pattern, label, none } = bandLook(band.span.value);
  const shared = {
    title: `${field}: ${label}, ${formatDuration(band.ms)}`,
    style: { '--hue': hue, flexGrow: band.share, flexBasis: 0 } as CSSProperties,
    className: cx(
      'min-w-[3px] truncate border-r border-surface text-left last:border-r-0',
      none ? 'band-none' : cx('band', BAND_PATTERNS[pattern]),
      labeled && 'px-1.5 text-micro leading-6 font-medium',
    ),
  };
  const text = labeled && !none ? label : null;
  if (onSpan === undefined) return <span {...shared}>{text}</span>;
  return (
    <button type="button" {...shared} aria-label={shared.title} onClick={() => onSpan(band.span)}>
      {text}
    </button>
  );
}
