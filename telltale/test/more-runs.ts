/** How many rounds a property is tried in: TELLTALE_RUNS times as many, for who looks longer than the check does. */
export const moreRuns = (rounds: number): number => rounds * Number(process.env.TELLTALE_RUNS ?? 1);
