import type { IssuePath } from '../manifest/diagnostic.ts';

/** What became of a construct: as it was, in another form, or not converted. */
export type ReportOutcome = 'kept' | 'changed' | 'left';

export interface Entry {
  /** The step, agent or other part of the file it belongs to; null for the file as a whole. */
  readonly step: string | null;
  /** The key, or what stands behind it. */
  readonly construct: string;
  readonly outcome: ReportOutcome;
  /** What it is now, or why it could not be converted. */
  readonly how: string;
  readonly line?: number;
  /** Where it stands, if in another file than the one the report is about. */
  readonly file?: string;
}

export interface Report {
  /** `path` is where the part `step` is in the file; undefined if it comes from another file. */
  note(
    step: string | null,
    path: IssuePath | undefined,
    construct: string,
    outcome: ReportOutcome,
    how: string,
  ): void;
  entries(): readonly Entry[];
}

/** A report on one file. `lineOf` gives the line of a path in it, from 1. Repeated entries are left out. */
export function createReport(lineOf: (path: IssuePath) => number, file?: string): Report {
  const entries = new Map<string, Entry>();
  return {
    note(step, path, construct, outcome, how) {
      const id = JSON.stringify([step, construct, outcome, how]);
      if (entries.has(id)) return;
      // `promptBlocks.goal` is found by its first key.
      const line =
        path === undefined ? {} : { line: lineOf([...path, construct.split(/[ .[]/, 1)[0] ?? '']) };
      entries.set(id, { step, construct, outcome, how, ...line, ...(file === undefined ? {} : { file }) });
    },
    entries: () => [...entries.values()],
  };
}

export const countsOf = (entries: readonly Entry[]): Readonly<Record<ReportOutcome, number>> => {
  const of = (outcome: ReportOutcome) => entries.filter((entry) => entry.outcome === outcome).length;
  return { kept: of('kept'), changed: of('changed'), left: of('left') };
};

/** What was changed or left, as comments in the manifest. */
export const remarksOf = (entries: readonly Entry[]): readonly string[] =>
  entries.flatMap(({ step, construct, outcome, how }) => {
    if (outcome === 'kept') return [];
    return [`${step === null ? '' : `${step}, `}${construct} (${outcome}): ${how}`];
  });
