/** Two streaming ribbons on a shroud, which sailors call telltales. */
export const Logo = ({ size = 22 }: { readonly size?: number }) => (
  <svg aria-hidden="true" focusable="false" width={size} height={size} viewBox="0 0 24 24" fill="none">
    <path d="M5 2.5v19" stroke="currentColor" strokeWidth={2} strokeLinecap="round" />
    <path
      d="M5 6.5c3.5-2.6 5.5 2 9 .3 2.2-1 3.8-1.6 6.5-.3"
      stroke="var(--accent)"
      strokeWidth={2.6}
      strokeLinecap="round"
    />
    <path
      d="M5 13c3.2 2.3 5.2-1.8 8.4-.4 1.9.8 3.2 1.4 5.1.4"
      stroke="currentColor"
      strokeWidth={2}
      strokeLinecap="round"
      opacity={0.55}
    />
  </svg>
);
