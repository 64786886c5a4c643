import type { SessionSummary, StateSpan } from '../../../../telltale/src/log/session-summary.ts';

/** Common names of the field that says what an agent is doing, best first. */
const USUAL = ['status', 'state', 'phase', 'mode', 'stage', 'step'];

export interface StatusField {
  readonly field: string;
  readonly spans: readonly StateSpan[];
}

/** The enum field of a session to show in a list. */
export function statusField({ bands }: Pick<SessionSummary, 'bands'>): StatusField | undefined {
  const fields = Object.keys(bands);
  const field = USUAL.find((name) => fields.includes(name)) ?? fields[0];
  return field === undefined ? undefined : { field, spans: bands[field] ?? [] };
}
