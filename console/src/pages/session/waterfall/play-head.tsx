import { cx } from '../../../ui/class-names.ts';
import { useSessionView } from '../session-view.ts';

/** The moment that the page shows: behind it nothing has happened yet. */
export function PlayHead({ x, height }: { readonly x: number; readonly height: number }) {
  const { isLive, model } = useSessionView();
  const isOver = isLive && model.stateAt(model.events.length).status !== 'running';
  if (isOver) return null;
  return (
    <span
      aria-hidden="true"
      className={cx(
        'pointer-events-none absolute top-0 z-[6] w-px',
        isLive ? 'bg-accent/50' : 'bg-ink shadow-[0_0_0_1px_var(--surface)]',
      )}
      style={{ left: x, height }}
    />
  );
}
