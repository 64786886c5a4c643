import { type ReactNode, useEffect, useId, useRef } from 'react';
import { cx } from './class-names.ts';
import { IconButton } from './icon-button.tsx';

export interface DialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** The buttons at the bottom. */
  readonly footer?: ReactNode;
  readonly wide?: boolean;
  /** Neither a close button nor Escape closes it. */
  readonly firm?: boolean;
}

/** The browser's own dialog, which keeps the focus inside and restores it afterwards. */
export function Dialog(props: DialogProps) {
  const { title, open, onClose, children, footer, wide = false, firm = false } = props;
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    if (dialog === null) return;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  return (
    <dialog
      ref={element}
      aria-labelledby={heading}
      onCancel={(event) => {
        if (firm) event.preventDefault();
      }}
      onClose={onClose}
      className={cx(
        'm-auto max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] overflow-hidden rounded-xl border border-line bg-raised text-ink shadow-float',
        wide ? 'max-w-2xl' : 'max-w-md',
      )}
    >
      {open ? (
        <div className="flex max-h-[calc(100dvh-2rem)] flex-col">
          <header className="flex items-center gap-2 border-b border-line py-2 pr-2 pl-4">
            <h2 id={heading} className="flex-1 text-lead font-semibold">
              {title}
            </h2>
            {firm ? null : <IconButton icon="close" label="Close" onClick={onClose} />}
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto p-4">{children}</div>
          {footer === undefined ? null : (
            <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-4 py-3">
              {footer}
            </footer>
          )}
        </div>
      ) : null}
    </dialog>
  );
}
