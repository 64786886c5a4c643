import type { Json } from '../../../../../telltale/src/lib/json.ts';
import type { DeclaredAction } from '../../../../../telltale/src/log/action.ts';
import type { EventOf, SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { createIdleGaps, type Gap } from './idle-gaps.ts';
import { endTurn, tagOf } from './note-turn.ts';
import type { ActionRow, RunRow, TurnRow, WaterfallRow } from './waterfall-rows.ts';

/**
 * The rows of a waterfall, over the whole log. Rows are in the order of their first event, and every fact has its
 * position on the log. The picture at an earlier event consists of the rows up to it, cut off there.
 */
export interface Waterfall {
  add(event: SessionEvent): void;
  readonly rows: readonly WaterfallRow[];
  readonly turns: readonly TurnRow[];
  readonly gaps: readonly Gap[];
  /** The times of the first and the last event. */
  readonly start: number;
  readonly end: number;
  action(id: string): ActionRow | undefined;
  run(id: string): RunRow | undefined;
  /** Why nothing happens now, if that is so. */
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
      kind: 'action',
      seq,
      at,
      turn,
      action,
      needs,
      attempts: [],
      reviews: [],
      childMarks: [],
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
    rows,
    turns,
    gaps: idle.gaps,
    idleNow: idle.idleNow,
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

/** A `$name` in parameters, but not `$$`: an output key or an action's id. */
const REFERENCE = /(?<!\$)\$\{?([A-Za-z_][\w-]*)/g;
/** The limits for searching parameters: depth, and characters of each text. */
const MAX_DEPTH = 8;
const MAX_TEXT = 10_000;

/** The actions that an action waits for. `actionNamed` returns the action that a `$name` refers to. */
function needsOf(
  { depends_on: dependsOn = [], parameters }: DeclaredAction,
  actionNamed: (name: string) => string | undefined,
): readonly string[] {
  const needs = new Set(dependsOn);
  const look = (value: Json, depth: number): void => {
    if (typeof value === 'string') {
      if (!value.includes('$')) return;
      for (const [, name = ''] of value.slice(0, MAX_TEXT).matchAll(REFERENCE)) {
        const id = actionNamed(name);
        if (id !== undefined) needs.add(id);
      }
    } else if (value !== null && typeof value === 'object' && depth < MAX_DEPTH)
      for (const each of Object.values(value)) look(each, depth + 1);
  };
  look(parameters, 0);
  return [...needs];
}

type ActionEnding = EventOf<
  | 'action.retrying'
  | 'action.completed'
  | 'action.failed'
  | 'action.skipped'
  | 'action.cancelled'
  | 'action.interrupted'
  | 'action.compensated'
>;

function startAttempt(row: ActionRow | undefined, event: EventOf<'action.started'>): void {
  const { seq, at, attempt, input } = event;
  row?.attempts.push({ seq, at, attempt, input });
}

function endAction(row: ActionRow | undefined, event: ActionEnding): void {
  if (row === undefined) return;
  const { seq, at } = event;
  if (event.type === 'action.compensated') {
    row.undone = { seq, at, by: event.by };
    return;
  }
  const last = row.attempts.at(-1);
  if (last !== undefined && last.end === undefined)
    last.end = {
      seq,
      at,
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
  if: 'its "if" is false',
  dependency: 'what it depends on did not succeed',
  unknown_dependency: 'it depends on an action that does not exist',
  deadlock: 'it depends on itself',
  turn_failed: 'the turn that asked for it failed',
};

const skipText = ({ reason, because }: EventOf<'action.skipped'>): string =>
  `Skipped: ${SKIPPED[reason]}${because === undefined ? '' : ` (${because})`}.`;

/** When a process ended, nobody knows how far its actions got. They are drawn up to when the next process continued. */
function reopenAction(rows: readonly WaterfallRow[], event: EventOf<'session.resumed'>): void {
  const { seq, at } = event;
  for (const row of rows) {
    if (row.kind !== 'action' || row.end !== undefined) continue;
    const last = row.attempts.at(-1);
    if (last !== undefined && last.end === undefined) last.end = { seq, at };
  }
}

function closeReview(actions: Iterable<ActionRow>, event: EventOf<'review.resolved'>): void {
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

function followChild(actions: ReadonlyMap<string, ActionRow>, event: SessionEvent): void {
  if (!('child' in event)) return;
  const row = actions.get(event.action);
  if (row === undefined) return;
  row.child = event.child.session;
  const { seq, at, type } = event;
  if (type in CHILD_MARKS)
    row.childMarks.push({ seq, at, what: CHILD_MARKS[type as keyof typeof CHILD_MARKS] });
}
