import { type ReactNode, useContext, useEffect, useRef } from 'react';
import { useReadable } from '../data/readable.ts';
import { useData } from '../data/use-data.ts';
import { cx } from '../ui/class-names.ts';
import { ArrivalContext } from './arrival.ts';
import { titleOf } from './title-of.ts';

export interface PageProps {
  readonly title: string;
  /** Replaces the title in the heading. The window's title stays text. */
  readonly heading?: ReactNode;
  /** Links above the heading. */
  readonly crumbs?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** Whether the page fills the window and its parts scroll on their own. */
  readonly fill?: boolean;
}

/**
 * The frame of a page. It sets the window's title, and moves the focus to the heading for keyboard and screen-reader
 * users.
 */
export function Page(props: PageProps) {
  const { title, heading, crumbs, actions, children, fill = false } = props;
  useTitle(title);
  const element = useRef<HTMLHeadingElement>(null);
  const moved = useContext(ArrivalContext);
  useEffect(() => {
    // The first page leaves the focus at the top. Only later pages move it.
    if (moved.current) element.current?.focus({ preventScroll: true });
  }, [moved]);
  return (
    <div
      className={cx(
        // All pages have the same width, so nothing jumps between pages. Text and forms are narrower.
        'mx-auto flex w-full max-w-[110rem] flex-col gap-4 p-4 md:p-6',
        fill ? 'h-full min-h-0' : 'min-h-full',
      )}
    >
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-36">
          {crumbs === undefined ? null : <div className="truncate text-small text-ink-faint">{crumbs}</div>}
          <h1
            ref={element}
            tabIndex={-1}
            className="text-title font-semibold tracking-tight max-md:line-clamp-3 max-md:break-words md:truncate"
          >
            {heading ?? title}
          </h1>
        </div>
        {actions === undefined ? null : <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

function useTitle(page: string): void {
  const { open } = useReadable(useData().reviews);
  const waiting = open.length;
  useEffect(() => {
    document.title = titleOf(page, waiting);
  }, [page, waiting]);
}
