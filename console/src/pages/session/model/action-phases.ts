import type { ActionStatus } from '../../../../../telltale/src/log/action.ts';
import type { ActionRow, Mark } from './waterfall-rows.ts';

/** What an action did, or waited for, during a phase. */
export type PhaseKind = 'dependency' | 'queue' | 'review' | 'run' | 'retry';

export interface Phase {
  readonly kind: PhaseKind;
  readonly from: number;
  readonly to: number;
  /** The phase has not ended. */
  readonly open: boolean;
  readonly attempt?: number;
  readonly failed?: boolean;
}

/** A moment of the log: the last event that counts, and the time up to which bars are drawn. */
export interface Moment {
  readonly seq: number;
  readonly at: number;
}

/** The mark, if it is not after the moment. */
const by = <Of extends Mark>(mark: Of | undefined, { seq }: Moment): Of | undefined =>
  mark !== undefined && mark.seq <= seq ? mark : undefined;

export function statusAt(row: ActionRow, moment: Moment): ActionStatus {
  if (by(row.undone, moment) !== undefined) return 'compensated';
  const end = by(row.end, moment);
  if (end !== undefined) return end.status;
  const last = row.attempts.findLast((attempt) => attempt.seq <= moment.seq);
  return last === undefined || by(last.end, moment) !== undefined ? 'waiting' : 'running';
}

/** The phases of an action up to a moment, in order, without those that took no time. */
export function phasesAt(
  row: ActionRow,
  moment: Moment,
  actionOf: (id: string) => ActionRow | undefined,
): readonly Phase[] {
  const end = by(row.end, moment);
  const phases: Phase[] = [];
  const attempts = row.attempts.filter((attempt) => attempt.seq <= moment.seq);
  const begun = attempts[0]?.at;
  waits(row, moment, begun ?? end?.at, actionOf, phases);
  for (const [index, attempt] of attempts.entries()) {
    const over = by(attempt.end, moment);
    const to = over?.at ?? moment.at;
    const failed = over?.error !== undefined;
    phases.push({
      kind: 'run',
      from: attempt.at,
      to,
      open: over === undefined,
      attempt: attempt.attempt,
      failed,
    });
    if (over === undefined) continue;
    const next = attempts[index + 1]?.at ?? end?.at;
    const isLast = index === attempts.length - 1;
    if (isLast && end !== undefined) continue;
    phases.push({ kind: 'retry', from: to, to: next ?? moment.at, open: next === undefined });
  }
  return phases.filter(({ from, to, open }) => to > from || open);
}

/** What it waited for before it started: other actions, then a person, then a slot. */
function waits(
  row: ActionRow,
  moment: Moment,
  until: number | undefined,
  actionOf: (id: string) => ActionRow | undefined,
  phases: Phase[],
): void {
  const limit = until ?? moment.at;
  const isOpen = until === undefined;
  let from = row.at;
  const released = releasedAt(row, moment, actionOf);
  if (released === undefined || released > from) {
    const to = Math.min(limit, released ?? limit);
    phases.push({ kind: 'dependency', from, to, open: isOpen && released === undefined });
    from = to;
    if (released === undefined) return;
  }
  for (const asked of row.reviews) {
    if (asked.seq > moment.seq || asked.at > limit) continue;
    if (asked.at > from) phases.push({ kind: 'queue', from, to: asked.at, open: false });
    const answered = by(asked.end, moment);
    const to = Math.min(limit, answered?.at ?? limit);
    phases.push({
      kind: 'review',
      from: Math.max(from, asked.at),
      to,
      open: isOpen && answered === undefined,
    });
    from = Math.max(from, to);
    if (answered === undefined) return;
  }
  if (limit > from || isOpen) phases.push({ kind: 'queue', from, to: limit, open: isOpen });
}

/** When the last action that it depends on ended. Undefined if one has not. */
function releasedAt(
  { needs, at }: ActionRow,
  moment: Moment,
  actionOf: (id: string) => ActionRow | undefined,
): number | undefined {
  let last = at;
  for (const id of needs) {
    const needed = actionOf(id);
    if (needed === undefined) continue;
    const end = by(needed.end, moment);
    if (end === undefined) return undefined;
    last = Math.max(last, end.at);
  }
  return last;
}
