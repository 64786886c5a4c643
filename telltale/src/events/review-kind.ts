import type { ApprovalRequest } from './run-event.ts';

/**
 * What a person is asked for: leave for an action of a session or a call of a step; the answer of an `approval` step;
 * whether a step may begin; whether a plan may be executed; what agent and verifier could not settle.
 */
export type ReviewKind = 'permission' | 'approval' | 'confirm' | 'plan' | 'escalation';

export const REVIEW_KINDS: readonly ReviewKind[] = [
  'permission',
  'approval',
  'confirm',
  'plan',
  'escalation',
];

/** The kind of a question of a run; those of sessions ask for permission. */
export const kindOfRequest = ({ kind, call }: Pick<ApprovalRequest, 'kind' | 'call'>): ReviewKind =>
  kind ?? (call === undefined ? 'approval' : 'permission');
