import { type ReactNode, useId } from 'react';

export interface TooltipProps {
  /** Plain words; read out with what they are about. */
  readonly text: string;
  readonly children: ReactNode;
}

/** Words about something that is no control: shown while the pointer is over it or it has the focus. */
export function Tooltip({ text, children }: TooltipProps) {
  const id = useId();
  return (
    <span className="group relative inline-flex">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard has to reach what the pointer can hover. */}
      <span tabIndex={0} aria-describedby={id} className="inline-flex">
        {children}
      </span>
      <span
        id={id}
        role="tooltip"
        className="pointer-events-none invisible absolute bottom-full left-1/2 z-30 mb-1.5 w-max max-w-72 -translate-x-1/2 rounded-md bg-ink px-2 py-1 text-small text-canvas opacity-0 shadow-float transition-opacity group-focus-within:visible group-focus-within:opacity-100 group-hover:visible group-hover:opacity-100"
      >
        {text}
      </span>
    </span>
  );
}
