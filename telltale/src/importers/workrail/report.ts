import type { IssuePath } from '../../manifest/issue.ts';

/** What became of a construct: as it was, in another form, or not at all. */
export type Outcome = 'kept' | 'changed' | 'left';

export interface Entry {
  /** WorkRail's id of the step; null for the workflow itself. */
  readonly step: string | null;
  /** The key, or what stands behind it. */
  readonly construct: string;
  readonly outcome: Outcome;
  /** What it is now, or why it could not be. */
  readonly how: string;
  readonly line?: number;
}

/** The place of a construct: the step it belongs to, and where that stands; no path where another file has it. */
export interface Place {
  readonly step: string | null;
  readonly path?: IssuePath | undefined;
}

export interface Report {
  note(place: Place, construct: string, outcome: Outcome, how: string): void;
  /** Whether anything was said of a key. */
  has(place: Place, key: string): boolean;
  entries(): readonly Entry[];
}

export function createReport(lineOf: (path: IssuePath) => number): Report {
  const entries = new Map<string, Entry>();
  const keys = new Set<string>();
  return {
    note({ step, path }, construct, outcome, how) {
      const key = keyOf(construct);
      const id = JSON.stringify([step, construct, outcome, how]);
      keys.add(JSON.stringify([step, key]));
      if (entries.has(id)) return;
      const line = path === undefined ? {} : { line: lineOf([...path, key]) };
      entries.set(id, { step, construct, outcome, how, ...line });
    },
    has: ({ step }, key) => keys.has(JSON.stringify([step, key])),
    entries: () => [...entries.values()],
  };
}

/** `promptBlocks.goal` belongs to `promptBlocks`. */
const keyOf = (construct: string): string => construct.split(/[ .[]/, 1)[0] ?? construct;

export const countsOf = (entries: readonly Entry[]): Readonly<Record<Outcome, number>> => {
  const of = (outcome: Outcome) => entries.filter((entry) => entry.outcome === outcome).length;
  return { kept: of('kept'), changed: of('changed'), left: of('left') };
};
