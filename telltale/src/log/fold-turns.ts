import type { Json, JsonObject } from '../lib/json.ts';
import { type DeclaredAction, isReported, isShown } from './action.ts';
import { type EventOf, usageOf } from './event.ts';
import { compactedFeeds } from './fold-values.ts';
import { withoutTurn } from './hook-marks.ts';
import type { Usage } from './session-events.ts';
import type { SessionState } from './state.ts';
import { emptyNews, isEmptyNews, type News, noSigns, type TurnRecord, WITHOUT_NEWS } from './turn-record.ts';

/** The error of a turn that ended because the process did: the model is asked to go on, not anew. */
export const TURN_CUT_SHORT = 'interrupted';

/** Whether what comes next answers the same request as the turn before it: that one was cut short. */
export const wasCutShort = ({ news }: { readonly news: Readonly<News> }): boolean =>
  news.broken?.error.code === TURN_CUT_SHORT;

/** How many of the last turns are one: each that goes on with the one before, which broke off, is one with it. */
export function turnsInOne(turns: readonly TurnRecord[]): number {
  let count = 1;
  for (let at = turns.length - 1; at > 0; at--, count++) {
    const broken = turns[at]?.news.broken;
    if (broken === undefined || broken.error.code === TURN_BROKEN_OFF) break;
  }
  return count;
}

/** The error of a turn that a person broke off: nothing failed, and nothing is tried again. */
export const TURN_BROKEN_OFF = 'broken_off';

/**
 * Faults of one turn that the model is told of; a stream of nothing but faults must not fill the prompt. Beyond them the
 * first of a kind still counts: it may be what keeps a response from being final, or what says that it was not. There
 * are some thirty kinds.
 */
const MAX_FAULTS = 50;

/** Whether the last request is to be made again as it was: it failed before its first character, and nothing is new since. */
export const asksAgain = ({ again, turns, turn, news }: Readonly<SessionState>): boolean =>
  again === true && turns.at(-1)?.turn === turn && isEmptyNews(news);

/** The number of the turn that begins next. */
export const nextTurn = (state: Readonly<SessionState>): number =>
  asksAgain(state) ? state.turn : state.turn + 1;

export function beginTurn(
  state: SessionState,
  { turn, background = [] }: Pick<EventOf<'turn.started'>, 'turn' | 'background'>,
): void {
  const isSame = state.again === true && turn === state.turn;
  delete state.again;
  state.status = 'running';
  state.turn = turn;
  state.turnOpen = true;
  if (isSame) {
    if (state.hooks.length > 0) state.hooks = withoutTurn(state.hooks);
    return;
  }
  // What goes on with a turn that was cut short is one turn with it: it need not act again to have acted.
  const { deeds, tags } = state.signs;
  state.signs = wasCutShort(state) ? { ...noSigns(), deeds, tags } : noSigns();
  for (const id of background) {
    const known = state.actions.get(id);
    if (known !== undefined && state.open.has(id)) known.background = true;
  }
  const running: string[] = [];
  for (const id of state.open) {
    const action = state.actions.get(id)?.action;
    if (action !== undefined && isReported(action) && isShown(action)) running.push(id);
  }
  const isQuiet = isEmptyNews(state.news);
  const news = isQuiet ? WITHOUT_NEWS : state.news;
  state.turns.push({
    turn,
    news,
    running,
    metadata: shownMetadata(state),
    ...(state.variables.size === 0 ? {} : { variables: variableValues(state) }),
    ...(state.off.length === 0 ? {} : { off: [...state.off] }),
    output: '',
  });
  if (!isQuiet) state.news = emptyNews();
  if (state.hooks.length > 0) state.hooks = withoutTurn(state.hooks);
}

/** A copy of the values, unless they are those of the turn before. */
const shownMetadata = ({ news, turns, metadata }: SessionState): JsonObject =>
  (news.changed.length === 0 ? turns.at(-1)?.metadata : undefined) ?? { ...metadata };

/** The variables by name. */
export const variableValues = ({ variables }: Pick<SessionState, 'variables'>): Record<string, Json> =>
  Object.fromEntries([...variables].map(([name, { value }]) => [name, value]));

/** Faults of a turn whose end, or a part of it, is missing. */
const CUT_OFF: ReadonlySet<string> = new Set(['truncated', 'buffer_full', 'turn_too_long', 'repeats']);

/** A response may still follow, once it is decided whether it is final: it sets both counts back. */
export function endTurn(state: SessionState, { finish, usage }: EventOf<'turn.completed'>): void {
  state.turnOpen = false;
  const wasRefused = state.exceeded !== undefined;
  delete state.exceeded;
  if (state.fallback?.active === true) state.fallback = { ...state.fallback, active: false };
  else delete state.fallback;
  if (usage.estimated !== true) count(state, usage.input);
  else if (wasRefused) delete state.counted; // what the refusal said of it does not hold for what was taken
  if (finish === 'length' || state.news.faults.some(({ code }) => CUT_OFF.has(code))) state.news.short = true;
  state.asked = { turn: state.asked.turn + 1, said: 0 };
  settleGroups(state);
  state.bareTurns = state.signs.tags ? 0 : state.bareTurns + 1;
  state.idleTurns = state.signs.deeds ? 0 : state.idleTurns + 1;
}

export function breakTurn(state: SessionState, event: EventOf<'turn.failed'>): void {
  state.turnOpen = false;
  // One that did nothing before it broke off counts for nothing; one that acted has ended a row of those that did not.
  if (state.signs.tags) state.bareTurns = 0;
  if (state.signs.deeds) state.idleTurns = 0;
  const turn = state.turns.at(-1);
  // Logs of earlier versions say how much of it the model was shown.
  if (turn !== undefined && event.kept !== undefined) turn.output = turn.output.slice(0, event.kept);
  const said = turn?.output.length ?? 0;
  const { error, groups } = event;
  if (event.again === true) state.again = true;
  else state.news.broken = { error, at: said, ...(groups === undefined ? {} : { groups }) };
  if (groups !== undefined) spoilGroups(state, groups);
  settleGroups(state);
  if (event.error.code === TURN_CUT_SHORT) state.asked.said += said;
  else {
    if (event.error.code !== TURN_BROKEN_OFF) state.totals.failedTurns++;
    state.asked = { turn: state.asked.turn + 1, said: 0 };
  }
  if (event.fallback !== undefined) {
    state.fallback = { model: event.fallback, active: true };
    state.totals.failedTurns = 0;
  }
  if (event.usage !== undefined) charge(state, event.usage, event.cost_usd ?? 0);
  const { exceeded } = event;
  if (exceeded === undefined) return;
  state.exceeded = (state.exceeded ?? 0) + 1;
  state.window = Math.min(exceeded.window, state.window ?? exceeded.window);
  count(state, exceeded.tokens);
}

/** Logs that were written down to be compared do not say how long prompts were. */
export function notePrompt(state: SessionState, { prompt }: Partial<EventOf<'turn.started'>>): void {
  if (prompt === undefined) return;
  state.promptTokens = prompt.tokens;
  if (prompt.frame !== undefined) state.promptFrame = prompt.frame.hash;
}

function count(state: SessionState, input: number): void {
  const { promptTokens: estimated } = state;
  if (estimated !== undefined && estimated > 0 && input > 0) state.counted = { estimated, input };
}

/** A response that is whole: final, not final, or final and held. */
export function respond(state: SessionState, { text, final, held, turn }: EventOf<'response'>): void {
  state.response = { text, final, turn };
  state.signs.responses++;
  if (held !== undefined) {
    state.held = text;
    state.news.held = held;
  } else if (final) delete state.held;
}

export function hear(state: SessionState, { text, parts }: EventOf<'model.output'>): void {
  const turn = state.turns.at(-1);
  if (turn === undefined) return;
  turn.output += text;
  if (parts !== undefined) turn.parts = [...(turn.parts ?? []), ...parts];
}

export function charge(state: SessionState, usage: Usage, cost: number): void {
  state.totals.input += usage.input;
  state.totals.output += usage.output;
  state.totals.cost_usd += cost;
  if (usage.estimated === true) state.totals.estimated = true;
}

/** What the event of a model's use outside of turns says. */
export function usedOutside(data: Json): { readonly usage: Usage; readonly cost_usd: number } {
  const used = data as {
    readonly input?: unknown;
    readonly output?: unknown;
    readonly estimated?: unknown;
    readonly cost_usd?: unknown;
  } | null;
  const number = (value: unknown) => (typeof value === 'number' ? value : 0);
  return {
    usage: usageOf({
      input: number(used?.input),
      output: number(used?.output),
      estimated: used?.estimated === true,
    }),
    cost_usd: number(used?.cost_usd),
  };
}

export function tellFault(state: SessionState, { code, message, groups }: EventOf<'fault'>): void {
  if (groups !== undefined) spoilGroups(state, groups);
  state.signs.tags ||= showsTag(code);
  if (state.news.faults.length < MAX_FAULTS || isNewKind(state, code))
    state.news.faults.push({ code, message });
}

const isNewKind = ({ news }: SessionState, kind: string): boolean =>
  !news.faults.some(({ code }) => code === kind);

export function compact(state: SessionState, event: EventOf<'prompt.compacted'>): void {
  const { task } = state;
  const { through, summary, usage, cost_usd = 0 } = event;
  state.compaction = {
    through,
    summary,
    // The block that gave it is among what the summary stands for.
    ...(task !== undefined && task.since < through ? { task: task.given } : {}),
    ...compactedFeeds(state, event),
  };
  state.turns = state.turns.filter(({ turn }) => turn > through);
  if (usage !== undefined) charge(state, usage, cost_usd);
}

/** A fault kept something in these `<parallel>`s from acting: what depends on one of them is skipped. */
function spoilGroups({ signs }: SessionState, groups: readonly string[]): void {
  signs.spoilt = [...(signs.spoilt ?? []), ...groups]; // a group may be there more than once
}

/** Of a turn that is over: a group of which no action came to be is forgotten, and its id is free again. */
function settleGroups(state: SessionState): void {
  const { spoilt } = state.signs;
  if (spoilt === undefined) return;
  delete state.signs.spoilt;
  const known = new Set<string>();
  for (const { action } of state.actions.values()) for (const group of groupsOf(action)) known.add(group);
  const lasting = [...new Set(spoilt)].filter((group) => known.has(group));
  if (lasting.length > 0) state.spoilt = [...(state.spoilt ?? []), ...lasting];
}

/** Whether something in it was kept from acting. */
export const isSpoilt = ({ spoilt, signs }: SessionState, group: string): boolean =>
  spoilt?.includes(group) === true || signs.spoilt?.includes(group) === true;

/** The `<parallel>`s that an action stands in, or those that a `<foreach>` is going to make. */
function* groupsOf(action: DeclaredAction): Iterable<string> {
  if (action.group !== undefined) yield action.group;
  if (action.within !== undefined) yield* action.within;
  const { actions } = action.parameters;
  if (!isShown(action) && Array.isArray(actions))
    for (const made of actions as unknown as readonly DeclaredAction[]) yield* groupsOf(made);
}

/** What is said of text that was read as text, in a turn that need not hold a tag. */
const OF_TEXT: ReadonlySet<string> = new Set([
  'no_tags',
  'foreign_call',
  'fence_left_open',
  'stray_close',
  'reserved_tag',
  'turn_too_long',
  'repeats',
]);

/** Whether a turn with this fault has held a tag, be it one of which nothing came. */
export const showsTag = (code: string): boolean => !OF_TEXT.has(code);

/**
 * The first of the turns whose ids the current turn shares. A turn that continues one that broke off, or that follows a
 * held final response or a reminder, may repeat what the model wrote before, and that must not be done twice.
 */
export function firstShared({
  turns,
  turn,
  actions,
}: Pick<SessionState, 'turns' | 'turn' | 'actions'>): number {
  let first = turn;
  for (let at = turns.length - 1; at >= 0; at--) {
    const record = turns[at];
    if (record?.turn !== first) break;
    const before = turns[at - 1]?.turn ?? first - 1;
    if (!goesOn(record.news) && !(isReminded(record.news) && !hasActed(actions, before))) break;
    first = before;
  }
  return first;
}

/** Whether the turn broke off, or its final response did not count because it was held or a guided step is open. */
const goesOn = ({ broken, held, faults }: Readonly<News>): boolean =>
  held !== undefined ||
  faults.some(({ code }) => code === 'step_open') ||
  (broken !== undefined && broken.error.code !== TURN_BROKEN_OFF);

/** Whether the runtime reminded the model. It sends other messages too, but only a turn that did nothing gets a reminder. */
const isReminded = ({ messages, faults }: Readonly<News>): boolean =>
  messages.some(({ from }) => from === 'runtime') || faults.some(({ code }) => code === 'no_tags');

function hasActed(actions: SessionState['actions'], turn: number): boolean {
  for (const known of actions.values()) if (known.turn === turn) return true;
  return false;
}
