const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'stalled', 'cancelled']);

/** Whether a session or run of that status has come to an end: it goes on only if somebody resumes it. */
export const hasEnded = (status: string): boolean => ENDED.has(status);
