import { atMost, type Verdict } from '../agents/verdict.ts';

export const EMPTY = 'an empty program (node -e 0)';
export const RUN = 'telltale run, one turn';
export const SERVE = 'telltale serve, until ready';

export interface CommandFigures {
  readonly name: string;
  /** Milliseconds, one for each round. */
  readonly wallMs: number[];
}

const MOST_TIMES = 15;

/** Compares the best rounds: other programs on the machine only ever make a command slower. */
export function judgeCommands(figures: readonly CommandFigures[]): readonly Verdict[] {
  const best = (name: string) =>
    Math.min(...(figures.find((each) => each.name === name)?.wallMs ?? [Number.NaN]));
  return [RUN, SERVE].map((name) =>
    atMost(
      `${name}: at most ${MOST_TIMES} × an empty program (best ÷ best)`,
      best(name) / best(EMPTY),
      MOST_TIMES,
      '×',
    ),
  );
}
