import { eventUnknown } from '../../agent/log/read-log.ts';
import { readRun } from '../../engine/read-run.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { RunState, StepState } from '../../log/run-state.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { findQuarantine } from '../fleet/show-fleet.ts';
import { type Io, paletteFor } from '../io.ts';
import { errorText } from '../view/describe-event.ts';
import { SKIPPED, waitingText } from '../view/describe-run-event.ts';
import { costText, countText, spanText, timeText, tokensText } from '../view/figures.ts';
import { harmlessLine, spelledOutLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import type { StateLinesOptions } from '../view/state-lines.ts';
import { quarantineJson, type ShownStatus, shownStatus, statusLines } from '../view/status.ts';
import { stepLine } from '../view/step-log.ts';
import { brief } from '../view/text-width.ts';

const DEFAULT_COLUMNS = 100;

/** The current status of a session or run, who works on it, and why it is quarantined if it is. */
export async function statusNow(store: Store, info: StreamInfo, { stderr }: Pick<Io, 'stderr'>) {
  const onError = (thrown: unknown) => void stderr.write(`${toRuntimeError(thrown).message}\n`);
  const quarantine = await findQuarantine(store, info, onError);
  const status = quarantine === undefined ? shownStatus(info) : 'quarantined';
  return { status, pid: info.owner?.pid, quarantine };
}

/** Prints the state of a run, now or after an event. */
export async function showRun(
  store: Store,
  info: StreamInfo,
  io: Pick<Io, 'stdout' | 'stderr'>,
  options: { readonly seq?: number | undefined; readonly json?: boolean | undefined },
): Promise<void> {
  const { seq } = options;
  const { stdout } = io;
  if (seq !== undefined && seq > info.head) throw eventUnknown(info.stream, seq, info.head);
  const state = await readRun(store, info.stream, seq);
  const isNow = state.seq >= info.head;
  const told = isNow ? await statusNow(store, info, io) : { status: state.status };
  const columns = stdout.columns ?? DEFAULT_COLUMNS;
  await stdout.write(
    options.json === true
      ? jsonText(runJson(state, told), 2)
      : `${runStateLines(state, { ...told, columns, paint: paletteFor(stdout) }).join('\n')}\n`,
  );
}

/** How many of the newest steps are shown. */
const MAX_STEPS = 100;
const LABEL = 11;

/** The state of a workflow run, for people. It is folded from the log up to some event. */
function runStateLines(state: RunState, options: StateLinesOptions): readonly string[] {
  const { columns, paint } = options;
  const room = columns - LABEL;
  const field = (label: string, text: string) => `${paint.dim(label.padEnd(LABEL))}${text}`;
  const said = (label: string, text: string) => field(label, brief(text, room));
  const { usage } = state;
  const lines = [
    field('run', harmlessLine(state.id)), // The full id, so that it can be copied.
    said('workflow', state.workflow),
    said('agent', `${state.manifest.agent} (${state.manifest.path})`),
    ...statusLines(options, field),
    ...(state.waiting === undefined ? [] : [said('waits for', waitingText(state.waiting))]),
    ...originLines(state).map(([label, text]) => said(label, text)),
    said('input', brief(state.input, room)),
    said('started', `${timeText(state.startedAt)}, last event ${spanText(state.at - state.startedAt)} later`),
    said('event', `${state.seq}`),
  ];
  if (state.state !== undefined) lines.push(said('state', stateText(state)));
  const totals = [
    ...(usage.input + usage.output === 0 ? [] : [tokensText(usage)]),
    ...(usage.cost_usd > 0 ? [costText(usage.cost_usd)] : []),
    ...(state.invokes === 0
      ? []
      : [countText(state.invokes, 'decision by artifact', 'decisions by artifacts')]),
    ...(state.balance === undefined ? [] : [`balance ${state.balance}`]),
  ];
  if (totals.length > 0) lines.push(said('totals', totals.join(' · ')));
  if (state.error !== undefined) lines.push(field('error', paint.red(brief(errorText(state.error), room))));
  if (state.output !== undefined) lines.push(said('output', brief(state.output, room)));
  const section = (title: string, body: readonly string[]) => {
    if (body.length > 0) lines.push('', paint.bold(title), ...body.map((line) => `  ${line}`));
  };
  section('Steps', stepLines(state, columns - 2, paint));
  section(
    'Variables',
    [...state.variables].map(([name, value]) => `$${brief(name, room)} = ${brief(value, room)}`),
  );
  section(
    'Reviews',
    state.reviews
      .filter(({ choice }) => choice === undefined)
      .map(({ review, step, prompt, options: choices }) =>
        brief(spelledOutLine(`${review}: ${step} asks: ${prompt} [${choices.join(' / ')}]`), columns - 2),
      ),
  );
  return lines;
}

function originLines({ origin }: RunState): readonly (readonly [label: string, text: string])[] {
  const { parent, session, trigger, action, chain } = origin;
  const from: (readonly [string, string])[] = [];
  if (parent !== undefined) from.push(['called by', `${parent.step} of ${parent.run}`]);
  else if (trigger !== undefined)
    from.push([
      'triggered by',
      `${trigger.id}${session === undefined ? '' : ` of ${session.id} at ${session.seq}`}`,
    ]);
  else if (origin.leads === true && session !== undefined) from.push(['leads', session.id]);
  else if (session !== undefined) from.push(['called by', `${action ?? 'an action'} of ${session.id}`]);
  if (chain.length > 1) from.push(['chain', chain.join(' → ')]);
  return from;
}

/** The current state and the states before it. */
function stateText({ state = '', visited }: RunState): string {
  const way = visited.slice(-10).map((each) => each.state);
  return way.length < 2 ? state : `${state} (${visited.length > way.length ? '… → ' : ''}${way.join(' → ')})`;
}

function stepLines(state: RunState, columns: number, paint: Palette): readonly string[] {
  const all = [...state.steps.values()];
  const more = all.length - MAX_STEPS;
  const lines = all.slice(-MAX_STEPS).map((step) => stepLine(viewOf(step), columns, state.at, paint));
  return more > 0 ? [paint.dim(`… ${countText(more, 'older step')}: --json shows all`), ...lines] : lines;
}

const isSkipReason = (reason: string): reason is keyof typeof SKIPPED => Object.hasOwn(SKIPPED, reason);

function viewOf({ step, status, attempts, startedAt, input, output, error, reason }: StepState) {
  const why = reason !== undefined && isSkipReason(reason) ? SKIPPED[reason] : reason;
  const note = error === undefined ? (output ?? why) : errorText(error);
  return {
    step,
    status,
    startedAt,
    attempt: attempts,
    ...(input === undefined ? {} : { input }),
    ...(note === undefined ? {} : { note }),
  };
}

/** A run's state for scripts. Its fields stay the same in every version of the runtime. */
function runJson(state: RunState, { status, pid, quarantine }: Omit<ShownStatus, 'paint'>) {
  return {
    run: state.id,
    workflow: state.workflow,
    manifest: state.manifest,
    status,
    pid: pid ?? null,
    ...quarantineJson(quarantine),
    waiting: state.waiting ?? null,
    origin: state.origin,
    input: state.input,
    started: timeText(state.startedAt),
    updated: timeText(state.at),
    seq: state.seq,
    state: state.state ?? null,
    visited: state.visited,
    steps: [...state.steps.values()],
    outputs: Object.fromEntries(state.outputs),
    variables: Object.fromEntries(state.variables),
    reviews: state.reviews,
    usage: state.usage,
    balance: state.balance ?? null,
    output: state.output ?? null,
    error: state.error ?? null,
  };
}
