import type { SessionEvent } from './event.ts';
import type { News } from './news.ts';
import { reduce } from './reduce.ts';
import type { SessionState } from './state.ts';
import type { TaskState } from './task-state.ts';
import type { TurnRecord, TurnSigns } from './turn-record.ts';

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
