import { leadRun } from '../../agent/guided/guidance.ts';
import { identityText } from '../../lib/ids.ts';
import type { Json } from '../../lib/json.ts';
import { type ActionState, isShown } from '../../log/action.ts';
import type { SessionEvent } from '../../log/event.ts';
import { usageOf } from '../../log/event.ts';
import type { FeedState } from '../../log/feed-event.ts';
import { BUILTIN_FEED } from '../../log/fold-values.ts';
import type { OpenReport, SessionState, TaskState } from '../../log/state.ts';
import {
  createStateMetrics,
  type FieldMetrics,
  type ValueChange,
  type ValueMetrics,
} from '../../log/state-metrics.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { StreamInfo } from '../../store/store.ts';
import { type Io, paletteFor } from '../io.ts';
import { actionLine } from './action-line.ts';
import { type ActionView, EFFECT_UNKNOWN, skippedNote } from './action-log.ts';
import { errorText, knownParameters } from './describe-event.ts';
import { costText, countText, spanText, timeText, tokensText } from './figures.ts';
import { harmlessLine, harmlessLines } from './harmless.ts';
import { jsonText } from './json-text.ts';
import {
  paintStatus,
  quarantineJson,
  type ShownQuarantine,
  type ShownStatus,
  shownStatus,
  statusLines,
} from './status.ts';
import { brief, type Column, tableLines } from './text-width.ts';

export interface StateLinesOptions extends ShownStatus {
  readonly columns: number;
  /** Workflow runs that it started or called. */
  readonly runs?: readonly StreamInfo[];
}

interface LastResponse {
  readonly text: string;
  readonly final: boolean;
  /** The agent that said it, where it is not the session's own. */
  readonly agent?: string;
}

const lastResponse = ({ thread, response }: SessionState): LastResponse | undefined =>
  thread?.answer === undefined ? response : { ...thread.answer, final: true };

/** How many of the newest actions are shown. */
const MAX_ACTIONS = 50;
/** How many of the newest workflow runs are shown. */
const MAX_RUNS = 50;
/** How many lines of the last response are shown. */
const MAX_LINES = 40;
const LABEL = 11;

/** The state of a session, for people. It is folded from the log up to some event. */
export function stateLines(state: SessionState, options: StateLinesOptions): readonly string[] {
  const { columns, paint, runs = [] } = options;
  const room = columns - LABEL;
  const field = (label: string, text: string) => `${paint.dim(label.padEnd(LABEL))}${text}`;
  const said = (label: string, text: string) => field(label, brief(text, room));
  const { totals } = state;
  const lines = [
    field('session', harmlessLine(state.id)), // The full id, so that it can be copied.
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
  const response = lastResponse(state);
  if (response !== undefined) {
    const text = harmlessLines(response.text);
    const more = text.length - MAX_LINES;
    const by = response.agent === undefined ? '' : ` of ${response.agent}`;
    section(`Last response${by}${response.final ? '' : ' (not final)'}`, [
      ...text.slice(0, MAX_LINES),
      ...(more > 0 ? [paint.dim(`… ${countText(more, 'more line')}: --json shows all`)] : []),
    ]);
  }
  return lines;
}

/** The step that a run has given the session, and whether its last report on it is still open. */
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

/** The text after the status, without repeating the status. */
function noteOf({ status, output, error, skipped }: ActionState): Json | undefined {
  if (status === 'interrupted') return EFFECT_UNKNOWN;
  if (error !== undefined) return status === 'cancelled' ? error.message : errorText(error);
  return output ?? (skipped === undefined ? undefined : skippedNote(skipped));
}

/** A session's state for scripts. Its fields stay the same in every version of the runtime. */
export function stateJson(
  state: SessionState,
  {
    status,
    pid,
    quarantine,
    runs = [],
  }: {
    readonly status: string;
    readonly pid?: number | undefined;
    readonly quarantine?: ShownQuarantine | undefined;
    /** The workflow runs that it started or called. */
    readonly runs?: readonly StreamInfo[];
  },
) {
  return {
    session: state.id,
    agent: state.agent,
    manifest: state.manifest,
    model: state.model,
    status,
    pid: pid ?? null,
    ...quarantineJson(quarantine),
    parent: state.parent ?? null,
    input: state.input,
    started: timeText(state.startedAt),
    updated: timeText(state.at),
    seq: state.seq,
    turn: state.turn,
    turns: state.totals.turns,
    usage: usageOf(state.totals),
    cost_usd: state.totals.cost_usd,
    balance: state.balance ?? null,
    metadata: state.metadata,
    variables: Object.fromEntries(state.variables),
    feeds: [...state.feeds.values()].map(feedJson),
    feeds_off: state.off,
    actions: [...state.actions.values()],
    task: state.task === undefined ? null : { ...state.task.given, report: state.task.open ?? null },
    runs: runs.map((run) => ({ run: run.stream, workflow: run.name, status: shownStatus(run) })),
    speaker:
      state.thread === undefined ? null : { agent: state.thread.speaker, session: state.thread.session },
    response: lastResponse(state) ?? null,
    result: state.result ?? (null as Json),
    error: state.error ?? null,
  };
}

/** How many feeds are shown. */
const MAX_FEEDS = 50;

/** The feeds on a session's log, one line each. */
function feedLines(
  { feeds, off, at }: Pick<SessionState, 'feeds' | 'off' | 'at'>,
  room: number,
  paint: Palette,
): readonly string[] {
  const all = [
    ...Array.from(feeds.values(), (feed) => feedLine(feed, at, room, paint)),
    ...off.map((id) => `${id} ${paint.dim('(switched off)')}`),
  ];
  const more = all.length - MAX_FEEDS;
  return more > 0
    ? [...all.slice(0, MAX_FEEDS), paint.dim(`… ${countText(more, 'more feed')}: --json shows all`)]
    : all;
}

function feedLine(
  { id, by, removed, last, failing }: FeedState,
  at: number,
  room: number,
  paint: Palette,
): string {
  const name = id.startsWith(BUILTIN_FEED) ? id : `$${brief(id, room)}`;
  if (removed === true) return `${name} ${paint.dim('(removed)')}`;
  const notes = [
    ...(last === undefined
      ? ['no value yet']
      : [countText(last.tokens, 'token'), `loaded ${spanText(Math.max(0, at - last.loadedAt))} before`]),
    ...(by === undefined ? [] : [`by ${brief(by, room)}`]),
  ];
  const value = last === undefined ? '' : ` = ${brief(last.value, room)}`;
  const failure =
    failing === undefined ? '' : ` ${paint.red(`fails: ${brief(errorText(failing.error), room)}`)}`;
  return `${name}${value} ${paint.dim(`(${notes.join(', ')})`)}${failure}`;
}

/** The same for a script. */
const feedJson = ({ id, definition, by, removed, last, failing }: FeedState) => ({
  id,
  ...(definition === undefined ? {} : { definition }),
  ...(by === undefined ? {} : { by }),
  ...(removed === true ? { removed } : {}),
  ...(last === undefined
    ? {}
    : {
        value: last.value,
        tokens: last.tokens,
        ...(last.truncated === undefined ? {} : { truncated: last.truncated }),
        loaded: timeText(last.loadedAt),
      }),
  ...(failing === undefined
    ? {}
    : { failing: { error: failing.error, times: failing.times, since: timeText(failing.since) } }),
});

const DEFAULT_COLUMNS = 100;
/** How many of the newest changes are shown. */
const MAX_CHANGES = 20;
const VALUE_COLUMNS = 40;
const BY_COLUMNS = 30;

const HEAD: readonly Column[] = [
  { title: 'value', gives: true },
  { title: 'entries', align: 'right' },
  { title: 'time', align: 'right' },
  { title: 'turns', align: 'right' },
  { title: 'tokens', align: 'right' },
  { title: 'cost', align: 'right' },
];

/** The output of `show --states`. */
export async function statesText(
  events: AsyncIterable<SessionEvent>,
  { json }: { readonly json?: true },
  stdout: Io['stdout'],
): Promise<string> {
  const metrics = createStateMetrics();
  for await (const event of events) metrics.add(event);
  const fields = metrics.fields();
  if (json === true) return jsonText({ states: fields }, 2);
  const options = { columns: stdout.columns ?? DEFAULT_COLUMNS, paint: paletteFor(stdout) };
  return `${statesLines(fields, options).join('\n')}\n`;
}

/** For each enum field of the metadata: how long the session was in each value, and when it changed. */
export function statesLines(
  fields: readonly FieldMetrics[],
  { columns, paint }: { readonly columns: number; readonly paint: Palette },
): readonly string[] {
  if (fields.length === 0) return ["The agent's metadata has no enum field: there are no states to count."];
  return fields.flatMap((field, at) => [
    ...(at === 0 ? [] : ['']),
    `${paint.bold(brief(field.field, columns))} ${paint.dim(`is ${nameOf(field.value)}`)}`,
    ...tableLines(HEAD, field.values.map(cellsOf), {
      columns: columns - 2,
      paint: (text, row) => (row === -1 ? paint.dim(text) : text),
    }).map((line) => `  ${line}`),
    ...historyLines(field, paint).map((line) => `  ${line}`),
  ]);
}

const cellsOf = ({ value, entries, ms, turns, input, output, cost_usd }: ValueMetrics): readonly string[] => [
  nameOf(value),
  String(entries),
  spanText(ms),
  String(turns),
  `${input.toLocaleString('en')} + ${output.toLocaleString('en')}`,
  cost_usd > 0 ? costText(cost_usd) : '–',
];

function historyLines({ history, older }: FieldMetrics, paint: Palette): readonly string[] {
  const more = older + Math.max(0, history.length - MAX_CHANGES);
  return [
    ...(more > 0 ? [paint.dim(`… ${countText(more, 'older change')}`)] : []),
    ...history.slice(-MAX_CHANGES).map((change) => changeLine(change, paint)),
  ];
}

const changeLine = ({ at, seq, turn, from, to, by }: ValueChange, paint: Palette): string =>
  `${paint.dim(timeText(at))}  ${nameOf(from)} → ${nameOf(to)}  ${paint.dim(`turn ${turn}, event ${seq}, by ${brief(by, BY_COLUMNS)}`)}`;

const nameOf = (value: Json): string => (value === null ? '(unset)' : brief(value, VALUE_COLUMNS));
