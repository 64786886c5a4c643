const ARROWS = [
  ['plain', 'var(--line-strong)'],
  ['error', 'var(--fail)'],
  ['taken', 'var(--done)'],
] as const;

/** The heads of the arrows, by what an edge says. */
export const GraphMarkers = () => (
  <svg aria-hidden="true" className="absolute size-0">
    <defs>
      {ARROWS.map(([name, colour]) => (
        <marker
          key={name}
          id={`arrow-${name}`}
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          markerUnits="userSpaceOnUse"
          orient="auto-start-reverse"
        >
          <path d="M0 0.5 7.5 4 0 7.5z" fill={colour} />
        </marker>
      ))}
    </defs>
  </svg>
);
