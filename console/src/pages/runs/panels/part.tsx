import type { ReactNode } from 'react';

/** A titled part of a panel. */
export const Part = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <section>
    <h3 className="mb-1 text-small font-semibold text-ink-faint">{title}</h3>
    {children}
  </section>
);
