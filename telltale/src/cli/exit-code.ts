/** What a shell learns from `telltale`. Scripts switch on these: they never change meaning. */
export const EXIT = { ok: 0, failed: 1, usage: 2, waiting: 3, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
