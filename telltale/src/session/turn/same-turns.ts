import { deepEqual } from '../../conditions/deep-equal.ts';
import { type ActionState, hasEnded, isShown } from '../../events/action.ts';
import type { News } from '../../events/news.ts';
import type { SessionState } from '../../events/state.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../prompt/cut-text.ts';

/** Turns of the same calls with the same results after which the model is told so, and after which the session stalls. */
const TELL_EVERY = 5;
export const MAX_SAME_TURNS = 20;

/** Whoever waits this long for a result looks whether something has come; that may be done as often as limits allow. */
const WAITS_MS = 5_000;

/**
 * How many turns in a row, the last one among them, made the same calls with the same parameters and got the same
 * results, while nothing else happened: nobody spoke, no metadata and no feed changed, and nothing runs.
 */
export function sameTurns(state: SessionState): number {
  if (state.open.size > 0 || hasNews(state.news)) return 0;
  const { recent, actions } = state;
  let at = recent.length;
  const madeBefore = (turn: number): readonly ActionState[] => {
    const made: ActionState[] = [];
    for (; at > 0; at--) {
      const action = actions.get(recent[at - 1] ?? '');
      if (action !== undefined && action.turn < turn) break;
      if (action?.turn === turn && isShown(action.action)) made.push(action);
    }
    return made;
  };
  const last = madeBefore(state.turn);
  if (last.length === 0 || !last.every(isQuick)) return 0;
  let row = 1;
  while (row < MAX_SAME_TURNS) {
    const turn = state.turn - row;
    // What the model was told before the later of the two.
    const told = state.turns.find((record) => record.turn === turn + 1);
    if (told !== undefined && hasNews(told.news)) break;
    const before = madeBefore(turn);
    if (before.length !== last.length || !before.every((each, n) => isSame(each, last[n]))) break;
    row++;
  }
  return row;
}

const isQuick = ({ status, ms = 0 }: ActionState): boolean => hasEnded(status) && ms < WAITS_MS;

const hasNews = ({ messages, changed, feeds = [], workflows = [], variables = [], task }: News): boolean =>
  messages.some(({ from }) => from !== 'runtime') ||
  changed.length + feeds.length + workflows.length + variables.length > 0 ||
  task !== undefined;

function isSame(one: ActionState, other: ActionState | undefined): boolean {
  if (other === undefined || one.action.kind !== other.action.kind || one.action.name !== other.action.name)
    return false;
  return (
    one.status === other.status &&
    isQuick(one) &&
    deepEqual(one.input ?? one.action.parameters, other.input ?? other.action.parameters) &&
    deepEqual(one.output, other.output) &&
    one.error?.message === other.error?.message
  );
}

/** What the model is told of it, at times. */
export const tellsOfSame = (row: number): string | undefined =>
  row > 0 && row % TELL_EVERY === 0
    ? `You have made the same calls with the same parameters in ${row} turns in a row, and the results were the same each time. Do something else, or answer with what you have. After ${MAX_SAME_TURNS} such turns the session ends.`
    : undefined;

export function stalledInRow({ id, actions, recent }: SessionState): RuntimeError {
  const last = actions.get(recent.at(-1) ?? '');
  const call =
    last === undefined
      ? ''
      : ` The last one was ${last.action.name} ${clip(JSON.stringify(last.input ?? {}), 200)}.`;
  return new RuntimeError(
    'stalled',
    `The model made the same calls with the same parameters in ${MAX_SAME_TURNS} turns in a row, and the results were the same each time.${call}`,
    { hint: `Tell it what to do instead: telltale steer ${id} "…". Then resume it: telltale resume ${id}` },
  );
}
