import type { Verdict } from '../agents/verdict.ts';

/** One part of the bench: what is printed, what machines read, and how it stands to its targets. */
export interface Measured {
  readonly text: string;
  readonly figures: unknown;
  readonly verdicts: readonly Verdict[];
}

export interface MeasureOptions {
  /** Public packages with TypeScript sources, as `npm pack` takes them. */
  readonly packages: readonly string[];
  readonly rounds: number;
  readonly progress: (line: string) => void;
}

export type Measurement = (options: MeasureOptions) => Promise<Measured>;
