/** How many rounds a property is tried in: CHECK_RUNS times as many, for who looks longer than the check does. */
export const moreRuns = (rounds: number): number => rounds * Number(process.env.CHECK_RUNS ?? 1);
