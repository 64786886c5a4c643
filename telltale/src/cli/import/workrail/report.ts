import type { IssuePath } from '../../../manifest/issue.ts';

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
  const entries: Entry[] = [];
  return {
    note({ step, path }, construct, outcome, how) {
      const key = keyOf(construct);
      const line = path === undefined ? {} : { line: lineOf([...path, key]) };
      const entry = { step, construct, outcome, how, ...line };
      const isKnown = entries.some(
        (known) =>
          known.step === step &&
          known.construct === construct &&
          known.outcome === outcome &&
          known.how === how,
      );
      if (!isKnown) entries.push(entry);
    },
    has: ({ step }, key) => entries.some((entry) => entry.step === step && keyOf(entry.construct) === key),
    entries: () => entries,
  };
}

/** `promptBlocks.goal` belongs to `promptBlocks`. */
const keyOf = (construct: string): string => construct.split(/[ .[]/, 1)[0] ?? construct;

export const countsOf = (entries: readonly Entry[]): Readonly<Record<Outcome, number>> => {
  const of = (outcome: Outcome) => entries.filter((entry) => entry.outcome === outcome).length;
  return { kept: of('kept'), changed: of('changed'), left: of('left') };
};
