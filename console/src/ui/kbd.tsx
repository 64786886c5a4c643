import type { ReactNode } from 'react';

export const Kbd = ({ children }: { readonly children: ReactNode }) => (
  <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded border border-line bg-sunken px-1 font-mono text-micro text-ink-soft">
    {children}
  </kbd>
);
