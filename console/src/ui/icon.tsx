import { cx } from './class-names.ts';
import { ICON_SHAPES, type IconName } from './icon-shapes.ts';

export interface IconProps {
  readonly name: IconName;
  /** In pixels; 16 by default. */
  readonly size?: number;
  readonly className?: string;
}

/** Decoration next to a text. An icon is never the only information. */
export const Icon = ({ name, size = 16, className }: IconProps) => (
  <svg
    aria-hidden="true"
    focusable="false"
    width={size}
    height={size}
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    strokeWidth={1.5}
    strokeLinecap="round"
    strokeLinejoin="round"
    className={cx('shrink-0', className)}
  >
    <path d={ICON_SHAPES[name]} />
  </svg>
);
