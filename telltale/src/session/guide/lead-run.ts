/** The run that leads a session whose agent has a workflow of its own. No action of the session has such an id. */
export const leadRun = (session: string): string => `${session}~lead`;

/** What a run waits for that was taken up without the session that it leads. */
export const forSession = (session: string): string => `its session ${session}`;
