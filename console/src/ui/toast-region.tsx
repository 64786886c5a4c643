import { Link } from 'wouter';
import { useReadable } from '../data/readable.ts';
import type { Toast } from '../data/toasts.ts';
import { useData } from '../data/use-data.ts';
import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';
import type { IconName } from './icon-shapes.ts';

const LOOKS: Readonly<Record<Toast['kind'], readonly [IconName, string]>> = {
  done: ['check', 'text-done'],
  info: ['info', 'text-accent'],
  failed: ['alert', 'text-fail'],
};

/** The toasts: visible in the corner, and announced. */
export function ToastRegion() {
  const { toasts } = useData();
  const shown = useReadable(toasts);
  return (
    <div
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-20 left-4 z-40 flex flex-col items-end gap-2 md:bottom-4 md:left-auto"
    >
      {shown.map(({ id, kind, text, path }) => (
        <div
          key={id}
          className="pointer-events-auto flex max-w-md items-center gap-2 rounded-lg border border-line bg-raised py-1.5 pr-1.5 pl-3 shadow-float"
        >
          <Icon name={LOOKS[kind][0]} className={LOOKS[kind][1]} />
          <p className="line-clamp-3 min-w-0 flex-1 break-words">{text}</p>
          {path === undefined ? null : (
            <Link
              href={path}
              className="shrink-0 px-1 font-medium text-accent hover:underline"
              onClick={() => toasts.dismiss(id)}
            >
              See it
            </Link>
          )}
          <IconButton icon="close" label="Dismiss" onClick={() => toasts.dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
