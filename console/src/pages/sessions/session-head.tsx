import { cx } from '../../ui/class-names.ts';
import { SESSION_GRID } from './session-columns.ts';

const COLUMNS = [
  ['Status', ''],
  ['Session', ''],
  ['Declared state', ''],
  ['Waits and runs', ''],
  ['Turn', 'text-right'],
  ['Tokens', 'text-right'],
  ['Cost', 'text-right'],
  ['Started', 'text-right'],
] as const;

/** For the eye only: each row says itself what its figures are. */
export const SessionHead = () => (
  <div
    aria-hidden="true"
    className={cx(
      'hidden h-8 shrink-0 border-b border-line bg-sunken px-3 text-small font-medium text-ink-faint',
      SESSION_GRID,
    )}
  >
    {COLUMNS.map(([label, side]) => (
      <span key={label} className={side}>
        {label}
      </span>
    ))}
  </div>
);
