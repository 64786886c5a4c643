type Kind = 'session' | 'run';

const ENDS: Readonly<Record<Kind, ReadonlySet<string>>> = {
  session: new Set(['session.completed', 'session.failed', 'session.stalled', 'session.cancelled']),
  run: new Set(['workflow.completed', 'workflow.failed', 'workflow.cancelled']),
};
const RESUMES: Readonly<Record<Kind, string>> = { session: 'session.resumed', run: 'workflow.resumed' };
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'stalled', 'cancelled']);

/** Whether a stream is over after an event of this type. One that waits is not. */
export const isOverAfter = (kind: Kind, type: string, wasOver: boolean): boolean =>
  ENDS[kind].has(type) || (wasOver && type !== RESUMES[kind]);

/** Whether a stream of this status is over. */
export const isOverWith = (status: string): boolean => ENDED.has(status);

/** Whether a line of the log may be one of those; the rest need not be read to know. */
export const mayEnd = (kind: Kind, line: string): boolean =>
  line.includes(kind === 'session' ? '"type":"session.' : '"type":"workflow.');
