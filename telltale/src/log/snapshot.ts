import { RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { ActionState } from './action.ts';
import type { EventBody, SessionEvent } from './event.ts';
import type { FeedState } from './feed-event.ts';
import { noteReused } from './fold-actions.ts';
import { reduce } from './reduce.ts';
import { emptyState, executedActions, type SessionState, type TaskState, type Variable } from './state.ts';
import { emptyNews, type News, type TurnRecord, type TurnSigns } from './turn-record.ts';

/** Events between two snapshots, at most: what is taken up again is folded from the last one. */
export const SNAPSHOT_EVERY = 1_000;
/** From so many on a snapshot is taken as soon as nobody waits. */
export const SNAPSHOT_SOON = 900;

const VERSION = 1;

/**
 * What a session's snapshots have in common with its log is that they only grow: each holds the small live part of the
 * state, and of turns and actions only those that changed since the one before. So the cost of a snapshot does not
 * depend on how long the session is, and all of them together are the state.
 */
interface SnapshotPart {
  readonly v: number;
  /** The seq that the part before this one stands for; 0 where this one holds all there is. */
  readonly since: number;
  readonly live: Omit<
    SessionState,
    'turns' | 'actions' | 'reused' | 'open' | 'outputs' | 'called' | 'variables' | 'metadata' | 'feeds'
  >;
  readonly open: readonly string[];
  readonly metadata: readonly (readonly [string, Json])[];
  readonly variables: readonly (readonly [string, Variable])[];
  /** Absent in parts from before there were feeds. */
  readonly feeds?: readonly (readonly [string, FeedState])[];
  readonly turns: readonly TurnRecord[];
  readonly actions: readonly ActionState[];
  /** Names whose result is one of these actions. */
  readonly outputs: readonly (readonly [string, string])[];
  readonly called: readonly (readonly [string, string | null])[];
}

/** Keeps account of what changed since the last snapshot. */
export class SnapshotWriter {
  #noted = 0;
  /** Ids of actions that changed; one that changed in between others is there more than once. */
  #touched: string[] = [];
  #since: number;
  #firstTurn: number;

  /** `base` is the state that the parts so far stand for; nothing, where there are none. */
  constructor(base: Pick<SessionState, 'seq' | 'turn'> = { seq: 0, turn: 0 }) {
    this.#since = base.seq;
    this.#firstTurn = base.turn;
  }

  /** Called with each event, after it was folded. */
  note(event: EventBody): void {
    this.#noted++;
    const id = actionOf(event);
    if (id !== undefined && this.#touched.at(-1) !== id) this.#touched.push(id);
    if (event.type === 'turn.started') this.#touched.push(...(event.background ?? []));
  }

  /** Events noted since the last part. */
  due(): number {
    return this.#noted;
  }

  /** The next part: all that changed since the last one. */
  take(state: SessionState): string {
    const { turns, actions, reused: _, open, outputs, called, variables, metadata, feeds, ...live } = state;
    const changed = [...new Set(this.#touched)].flatMap((id) => actions.get(id) ?? []);
    const names = new Set(changed.map(({ action }) => action.name));
    const part: SnapshotPart = {
      v: VERSION,
      since: this.#since,
      live,
      open: [...open],
      metadata: Object.entries(metadata),
      variables: [...variables],
      feeds: [...feeds],
      turns: newest(turns, this.#firstTurn),
      actions: changed,
      outputs: changed.flatMap(({ action: { id, output_key } }) =>
        output_key !== undefined && outputs.get(output_key) === id ? [[output_key, id] as const] : [],
      ),
      called: [...names].flatMap((name) =>
        called.has(name) ? [[name, called.get(name) ?? null] as const] : [],
      ),
    };
    this.#noted = 0;
    this.#touched = [];
    this.#since = state.seq;
    this.#firstTurn = state.turn; // it may still grow
    return JSON.stringify(part);
  }
}

export const createSnapshotWriter = (base?: Pick<SessionState, 'seq' | 'turn'>): SnapshotWriter =>
  new SnapshotWriter(base);

type NoAction = Exclude<EventBody['type'], `action.${string}`>;

function actionOf(event: EventBody): string | undefined {
  switch (event.type) {
    case 'action.declared':
      return event.action.id;
    case 'action.started':
    case 'action.completed':
    case 'action.failed':
    case 'action.skipped':
    case 'action.retrying':
    case 'action.cancelled':
    case 'action.interrupted':
    case 'action.compensated':
      return event.id;
    default:
      event satisfies { readonly type: NoAction };
      return undefined;
  }
}

/** The turns from `from` on, without a look at the others. */
function newest(turns: readonly TurnRecord[], from: number): readonly TurnRecord[] {
  let at = turns.length;
  while (at > 0 && (turns[at - 1]?.turn ?? 0) >= from) at--;
  return turns.slice(at);
}

/**
 * The state that these parts, oldest first, stand for. Throws `snapshot_unreadable` where one cannot be read or is not
 * there: then the log is folded whole.
 */
export function restoreSnapshot(parts: readonly string[]): SessionState {
  const reader = createSnapshotReader();
  for (const text of parts) reader.add(text);
  return reader.state();
}

/** Puts parts together one by one. */
export interface SnapshotReader {
  /** The next part. Throws as `restoreSnapshot` does. */
  add(text: string): void;
  /** What the parts so far stand for; it is the reader's own, and the next part changes it. */
  state(): SessionState;
}

export function createSnapshotReader(): SnapshotReader {
  const state = emptyState();
  const turns = new Map<number, TurnRecord>();
  return {
    add(text) {
      const part = parse(text);
      if (part.since !== state.seq) throw unreadable();
      Object.assign(state, part.live);
      if (part.live.error === undefined) delete state.error;
      if (part.live.result === undefined) delete state.result;
      if (part.live.failing === undefined) delete state.failing;
      if (part.live.task === undefined) delete state.task;
      if (part.live.again === undefined) delete state.again;
      if (part.live.exceeded === undefined) delete state.exceeded;
      if (part.live.window === undefined) delete state.window;
      if (part.live.held === undefined) delete state.held;
      if (part.live.handoff === undefined) delete state.handoff;
      state.open = new Set(part.open);
      state.metadata = Object.fromEntries(part.metadata);
      state.variables = new Map(part.variables);
      state.feeds = new Map(part.feeds ?? []);
      for (const turn of part.turns) turns.set(turn.turn, turn);
      for (const action of part.actions) {
        // Its ids are older than those that were declared since.
        if (!state.actions.has(action.action.id)) noteReused(state, action.action);
        state.actions.set(action.action.id, action);
      }
      for (const [key, id] of part.outputs) state.outputs.set(key, id);
      for (const [name, id] of part.called) state.called.set(name, id ?? undefined);
    },
    state() {
      const through = state.compaction?.through ?? 0;
      state.turns = [...turns.values()].filter(({ turn }) => turn > through);
      return state;
    },
  };
}

function parse(text: string): SnapshotPart {
  try {
    const part = JSON.parse(text) as SnapshotPart;
    if (part.v === VERSION) return part;
  } catch (thrown) {
    throw unreadable(thrown);
  }
  throw unreadable();
}

const unreadable = (cause?: unknown) =>
  new RuntimeError('snapshot_unreadable', 'A snapshot of the session cannot be read.', {
    hint: 'The log is still whole: the session is folded from its first event instead.',
    cause,
  });

/**
 * Lets go of what a session that is over has gathered, turn by turn; how it ended stays. Whoever keeps a session at hand
 * would keep all of its outputs. And a state that has become old in its session's life holds what came last until the old
 * generation is collected: with a hundred sessions at once, a quarter of what outlived a scavenge.
 */
export function dropGathered(state: SessionState): void {
  // A tool that kept its context may still ask for these: of 100 at most, and without what they brought.
  if (state.recent.length > 0) state.executed = executedActions(state);
  state.turns = [];
  state.news = emptyNews();
  state.actions = new Map();
  state.recent = [];
  state.open = new Set();
  state.outputs = new Map();
  state.called = new Map();
  state.feeds = new Map();
}

/**
 * A state that can be folded further by `reduceShared` without the one it was made from changing, and the other way
 * round. Copies what `reduce` changes in place and shares the rest: texts, results, and actions that have ended. So what
 * it takes does not grow with what the session has done, but for a map of the actions.
 */
export function cloneState(state: SessionState): SessionState {
  const { task } = state;
  return {
    ...state,
    turns: cloneTurns(state.turns),
    news: cloneNews(state.news),
    actions: cloneActions(state),
    recent: [...state.recent],
    open: new Set(state.open),
    children: state.children.map((child) => ({ ...child })),
    outputs: new Map(state.outputs),
    called: new Map(state.called),
    ...(state.reused === undefined ? {} : { reused: new Map(state.reused) }),
    metadata: { ...state.metadata },
    variables: new Map(state.variables),
    feeds: new Map(state.feeds),
    off: [...state.off],
    totals: { ...state.totals },
    signs: cloneSigns(state.signs),
    asked: { ...state.asked },
    reviews: [...state.reviews],
    hooks: [...state.hooks],
    runs: [...state.runs],
    ...(task === undefined ? {} : { task: cloneTask(task) }),
  };
}

/** As `reduce`, for a state that was cloned: an action that has ended is no longer its own, and is copied before it changes. */
export function reduceShared(state: SessionState, event: SessionEvent): SessionState {
  if ('id' in event && event.type.startsWith('action.') && !state.open.has(event.id)) {
    const ended = state.actions.get(event.id);
    if (ended !== undefined) state.actions.set(event.id, { ...ended });
  }
  return reduce(state, event);
}

const cloneSigns = (signs: TurnSigns): TurnSigns => ({
  ...signs,
  ifs: [...signs.ifs],
  ...(signs.spoilt === undefined ? {} : { spoilt: [...signs.spoilt] }),
});

function cloneActions({ actions, open }: Pick<SessionState, 'actions' | 'open'>): SessionState['actions'] {
  const copy: SessionState['actions'] = new Map(actions);
  for (const id of open) {
    const action = actions.get(id);
    if (action !== undefined) copy.set(id, { ...action });
  }
  return copy;
}

/** Only the last turn's record still grows. */
function cloneTurns(turns: readonly TurnRecord[]): TurnRecord[] {
  const copy = [...turns];
  const last = copy.at(-1);
  if (last !== undefined) copy[copy.length - 1] = { ...last };
  return copy;
}

const cloneNews = (news: News): News => ({
  ...news,
  messages: [...news.messages],
  results: [...news.results],
  faults: [...news.faults],
  rejected: [...news.rejected],
  changed: [...news.changed],
  ...(news.workflows === undefined ? {} : { workflows: [...news.workflows] }),
  ...(news.variables === undefined ? {} : { variables: [...news.variables] }),
});

const cloneTask = (task: TaskState): TaskState => ({
  ...task,
  tried: task.tried.map((each) => ({ ...each })),
});
