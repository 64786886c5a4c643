import { type ActionState, isShown } from '../../events/action.ts';
import type { SessionState } from '../../events/state.ts';
import type { OpenReport, TaskState } from '../../events/task-state.ts';
import { identityText } from '../../kernel/identity.ts';
import type { Json } from '../../kernel/json.ts';
import type { Palette } from '../../manifest/palette.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import type { StreamInfo } from '../../store/store.ts';
import { actionLine } from './action-line.ts';
import { type ActionView, EFFECT_UNKNOWN, skippedNote } from './action-log.ts';
import { brief } from './brief.ts';
import { errorText, knownParameters } from './describe-event.ts';
import { feedLines } from './feed-lines.ts';
import { costText, countText, spanText, timeText, tokensText } from './figures.ts';
import { harmlessLine, harmlessLines } from './harmless.ts';
import { paintStatus, type ShownStatus, shownStatus, statusLines } from './status.ts';

export interface StateLinesOptions extends ShownStatus {
  readonly columns: number;
  /** Workflow runs that it set off or called. */
  readonly runs?: readonly StreamInfo[];
}

/** Actions that are shown, at the most: the newest. */
const MAX_ACTIONS = 50;
/** Workflow runs, likewise. */
const MAX_RUNS = 50;
/** Lines of the last response. */
const MAX_LINES = 40;
const LABEL = 11;

/** What a session is, for people: a fold of its log up to some event. */
export function stateLines(state: SessionState, options: StateLinesOptions): readonly string[] {
  const { columns, paint, runs = [] } = options;
  const room = columns - LABEL;
  const field = (label: string, text: string) => `${paint.dim(label.padEnd(LABEL))}${text}`;
  const said = (label: string, text: string) => field(label, brief(text, room));
  const { totals } = state;
  const lines = [
    field('session', harmlessLine(state.id)), // whole, so that it can be copied
    said('agent', `${state.agent} (${state.manifest.path})`),
    ...(state.thread === undefined
      ? []
      : [said('speaks', `${state.thread.speaker} (${state.thread.session})`)]),
    said('model', state.model),
    ...statusLines(options, field),
    said('input', state.input),
    said('started', `${timeText(state.startedAt)}, last event ${spanText(state.at - state.startedAt)} later`),
    said('event', `${state.seq}`),
    said(
      'totals',
      [
        countText(totals.turns, 'turn'),
        tokensText(totals),
        ...(totals.cost_usd > 0 ? [costText(totals.cost_usd)] : []),
        ...(state.balance === undefined ? [] : [`balance ${state.balance}`]),
      ].join(' · '),
    ),
  ];
  if (state.task !== undefined) lines.push(said('task', taskText(state.task)));
  if (state.error !== undefined) lines.push(field('error', paint.red(brief(errorText(state.error), room))));
  const section = (title: string, body: readonly string[]) => {
    if (body.length > 0) lines.push('', paint.bold(title), ...body.map((line) => `  ${line}`));
  };
  section(
    'Metadata',
    Object.entries(state.metadata).map(([name, value]) => `${brief(name, room)}: ${brief(value, room)}`),
  );
  section(
    'Variables',
    [...state.variables].map(
      ([name, { value, class: kind, by }]) =>
        `$${brief(name, room)} = ${brief(value, room)} ${paint.dim(`(${kind}, by ${brief(identityText(by), room)})`)}`,
    ),
  );
  section('Feeds', feedLines(state, room, paint));
  section('Actions', actionLines(state, columns - 2, paint));
  section(
    'Workflows',
    runs.slice(-MAX_RUNS).map((run) => {
      const shown = shownStatus(run);
      return `${brief(run.name, room)}  ${paintStatus(shown, shown, paint)}  ${paint.dim(brief(run.stream, room))}${run.stream === leadRun(state.id) ? ', leads it' : ''}`;
    }),
  );
  if (state.response !== undefined) {
    const text = harmlessLines(state.response.text);
    const more = text.length - MAX_LINES;
    section(`Last response${state.response.final ? '' : ' (not final)'}`, [
      ...text.slice(0, MAX_LINES),
      ...(more > 0 ? [paint.dim(`… ${countText(more, 'more line')}: --json shows all`)] : []),
    ]);
  }
  return lines;
}

/** The step that a run has given it, and whether it has said something of it that is not settled yet. */
function taskText({ given: { prompt }, open }: TaskState): string {
  return `${open === undefined ? '' : `${OPEN[open.kind]}: `}${prompt}`;
}

const OPEN: Readonly<Record<OpenReport['kind'], string>> = {
  claimed: 'said to be done',
  stuck: 'stuck',
  turn: 'a turn is judged',
};

function actionLines(state: SessionState, columns: number, paint: Palette): readonly string[] {
  const shown = [...state.actions.values()].filter(({ action }) => isShown(action));
  const more = shown.length - MAX_ACTIONS;
  const lines = shown.slice(-MAX_ACTIONS).map((known) => {
    const { action, status, attempts, ms } = known;
    const isUndone = status === 'compensated';
    const note = noteOf(known);
    const view: ActionView = {
      action,
      input: known.input ?? knownParameters(action),
      state: isUndone ? 'cancelled' : status,
      attempt: attempts,
      ...(ms === undefined ? {} : { ms }),
      ...(isUndone ? { note: 'undone' } : note === undefined ? {} : { note }),
    };
    return actionLine(view, columns, state.at, paint);
  });
  return more > 0 ? [paint.dim(`… ${countText(more, 'older action')}: --json shows all`), ...lines] : lines;
}

/** What is said behind how it stands, which is said already. */
function noteOf({ status, output, error, skipped }: ActionState): Json | undefined {
  if (status === 'interrupted') return EFFECT_UNKNOWN;
  if (error !== undefined) return status === 'cancelled' ? error.message : errorText(error);
  return output ?? (skipped === undefined ? undefined : skippedNote(skipped));
}
