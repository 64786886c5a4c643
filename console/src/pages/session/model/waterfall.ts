import type { EventOf, SessionEvent } from '../../../../../telltale/src/events/event.ts';
import { createIdleGaps, type Gap } from './idle-gaps.ts';
import { needsOf } from './needs-of.ts';
import { closeReview, endAction, followChild, reopenAction, startAttempt } from './note-action.ts';
import { endTurn, tagOf } from './note-turn.ts';
import type { ActionRow, RunRow, TurnRow, WaterfallRow } from './waterfall-rows.ts';

/**
 * The rows of a waterfall, of all the log there is. Rows stand in the order of their first event, and whatever is known
 * of one carries its place on the log: the picture at an earlier event is the rows up to it, cut off there.
 */
export interface Waterfall {
  add(event: SessionEvent): void;
  readonly rows: readonly WaterfallRow[];
  readonly turns: readonly TurnRow[];
  readonly gaps: readonly Gap[];
  /** When the first and the last event were. */
  readonly start: number;
  readonly end: number;
  action(id: string): ActionRow | undefined;
  run(id: string): RunRow | undefined;
  /** Why nothing is being done now, if so. */
  idleNow(): Gap['why'] | undefined;
}

export function createWaterfall(): Waterfall {
  const rows: WaterfallRow[] = [];
  const turns: TurnRow[] = [];
  const actions = new Map<string, ActionRow>();
  /** The last action that was declared with each output key. */
  const outputs = new Map<string, string>();
  const runs = new Map<string, RunRow>();
  const idle = createIdleGaps();
  let start = 0;
  let end = 0;

  const named = (name: string): string | undefined =>
    outputs.get(name) ?? (actions.has(name) ? name : undefined);

  const declare = ({ seq, at, turn, action }: EventOf<'action.declared'>): void => {
    const needs = needsOf(action, named);
    const row: ActionRow = {
      ...{ kind: 'action', seq, at, turn, action, needs, attempts: [], reviews: [], childMarks: [] },
    };
    rows.push(row);
    turns.at(-1)?.actions.push(row);
    actions.set(action.id, row);
    if (action.output_key !== undefined) outputs.set(action.output_key, action.id);
  };

  const beginTurn = ({ seq, at, turn, prompt }: EventOf<'turn.started'>): void => {
    const { tokens } = prompt;
    const row: TurnRow = { kind: 'turn', seq, at, turn, index: rows.length, tokens, tags: [], actions: [] };
    rows.push(row);
    turns.push(row);
  };

  const fire = ({ seq, at, turn, run, workflow, trigger }: EventOf<'trigger.fired'>): void => {
    const row: RunRow = { kind: 'run', seq, at, turn, run, workflow, trigger };
    rows.push(row);
    runs.set(run, row);
  };

  const note = (event: SessionEvent): void => {
    switch (event.type) {
      case 'turn.started':
        beginTurn(event);
        break;
      case 'action.declared':
        declare(event);
        break;
      case 'trigger.fired':
        fire(event);
        break;
      case 'turn.completed':
      case 'turn.failed':
        endTurn(turns.at(-1), event);
        break;
      case 'session.resumed':
        reopenAction(rows, event);
        break;
      case 'action.started':
        startAttempt(actions.get(event.id), event);
        break;
      case 'action.retrying':
      case 'action.completed':
      case 'action.failed':
      case 'action.skipped':
      case 'action.cancelled':
      case 'action.interrupted':
      case 'action.compensated':
        endAction(actions.get(event.id), event);
        break;
      case 'review.requested': {
        const { review, seq, at } = event;
        actions.get(event.action)?.reviews.push({ review, seq, at });
        break;
      }
      case 'review.resolved':
        closeReview(actions.values(), event);
        break;
      case 'workflow.completed':
      case 'workflow.failed':
      case 'workflow.cancelled':
        endRun(runs.get(event.run), event);
        break;
      default:
        if (event.type.startsWith('child.')) followChild(actions, event);
    }
  };

  return {
    add(event) {
      if (start === 0) start = event.at;
      end = Math.max(end, event.at);
      note(event);
      const turn = turns.at(-1);
      if (turn !== undefined && turn.turn === event.turn) {
        if (event.type === 'model.output') turn.lastOutput = { seq: event.seq, at: event.at };
        const tag = tagOf(turn, event);
        if (tag !== undefined) turn.tags.push(tag);
      }
      idle.add(event);
    },
    ...{ rows, turns, gaps: idle.gaps, idleNow: idle.idleNow },
    get start() {
      return start;
    },
    get end() {
      return end;
    },
    action: (id) => actions.get(id),
    run: (id) => runs.get(id),
  };
}

function endRun(
  row: RunRow | undefined,
  event: EventOf<'workflow.completed' | 'workflow.failed' | 'workflow.cancelled'>,
): void {
  if (row === undefined) return;
  const { seq, at } = event;
  if (event.type === 'workflow.completed') row.end = { seq, at, status: 'completed', output: event.output };
  else if (event.type === 'workflow.failed') row.end = { seq, at, status: 'failed', error: event.error };
  else row.end = { seq, at, status: 'cancelled', reason: event.reason };
}
