import type { EventOf, SessionEvent } from '../../../../../telltale/src/events/event.ts';
import type { ActionRow, WaterfallRow } from './waterfall-rows.ts';

type ActionEnding = EventOf<
  | 'action.retrying'
  | 'action.completed'
  | 'action.failed'
  | 'action.skipped'
  | 'action.cancelled'
  | 'action.interrupted'
  | 'action.compensated'
>;

export function startAttempt(row: ActionRow | undefined, event: EventOf<'action.started'>): void {
  const { seq, at, attempt, input } = event;
  row?.attempts.push({ seq, at, attempt, input });
}

export function endAction(row: ActionRow | undefined, event: ActionEnding): void {
  if (row === undefined) return;
  const { seq, at } = event;
  if (event.type === 'action.compensated') {
    row.undone = { seq, at, by: event.by };
    return;
  }
  const last = row.attempts.at(-1);
  if (last !== undefined && last.end === undefined)
    last.end = {
      ...{ seq, at },
      ...('error' in event ? { error: event.error } : {}),
      ...(event.type === 'action.retrying' ? { pauseMs: event.delay_ms } : {}),
    };
  switch (event.type) {
    case 'action.retrying':
      return;
    case 'action.completed':
      row.end = { seq, at, status: 'completed', ms: event.ms, output: event.output };
      return;
    case 'action.failed':
      row.end = { seq, at, status: 'failed', ms: event.ms, error: event.error };
      return;
    case 'action.skipped':
      row.end = { seq, at, status: 'skipped', reason: skipText(event) };
      return;
    case 'action.cancelled':
      row.end = { seq, at, status: 'cancelled', reason: event.reason };
      return;
    case 'action.interrupted':
      row.end = { seq, at, status: 'interrupted', reason: 'The process ended while it ran.' };
  }
}

const SKIPPED: Readonly<Record<EventOf<'action.skipped'>['reason'], string>> = {
  if: 'its "if" does not hold',
  dependency: 'what it depends on did not succeed',
  unknown_dependency: 'it depends on an action that does not exist',
  deadlock: 'it would have waited for itself',
  turn_failed: 'the turn that asked for it failed',
};

const skipText = ({ reason, because }: EventOf<'action.skipped'>): string =>
  `Skipped: ${SKIPPED[reason]}${because === undefined ? '' : ` (${because})`}.`;

/** Of a process that ended nobody knows how far what ran had come: it is drawn up to when the next one took over. */
export function reopenAction(rows: readonly WaterfallRow[], event: EventOf<'session.resumed'>): void {
  const { seq, at } = event;
  for (const row of rows) {
    if (row.kind !== 'action' || row.end !== undefined) continue;
    const last = row.attempts.at(-1);
    if (last !== undefined && last.end === undefined) last.end = { seq, at };
  }
}

export function closeReview(actions: Iterable<ActionRow>, event: EventOf<'review.resolved'>): void {
  const { seq, at, answer, by } = event;
  for (const { reviews } of actions)
    for (const asked of reviews)
      if (asked.review === event.review && asked.end === undefined) asked.end = { seq, at, answer, by };
}

const CHILD_MARKS = {
  'child.turn.completed': 'turn',
  'child.turn.failed': 'turn',
  'child.action.completed': 'action',
  'child.action.failed': 'action',
  'child.metadata.changed': 'metadata',
  'child.response': 'response',
} as const;

export function followChild(actions: ReadonlyMap<string, ActionRow>, event: SessionEvent): void {
  if (!('child' in event)) return;
  const row = actions.get(event.action);
  if (row === undefined) return;
  row.child = event.child.session;
  const { seq, at, type } = event;
  if (type in CHILD_MARKS)
    row.childMarks.push({ seq, at, what: CHILD_MARKS[type as keyof typeof CHILD_MARKS] });
}
