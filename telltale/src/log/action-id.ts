import { type ActionState, type DeclaredAction, isShown } from './action.ts';
import { TURN_BROKEN_OFF } from './fold-turns.ts';
import type { SessionState } from './state.ts';
import type { News } from './turn-record.ts';

/**
 * A model may use an id of an earlier turn again. The first action of an id has that id on the log; each later one has
 * the id and its turn, `read@5`, so that every action is known by an id of its own. No model can write an `@` into an id.
 */
export const idInTurn = (written: string, turn: number): string => `${written}@${turn}`;

const TURN = /@(\d+)/g;

/** The id as the model wrote it. */
export const writtenId = (id: string): string => (id.includes('@') ? id.replaceAll(TURN, '') : id);

/**
 * What an id that a model writes stands for now: the newest of the actions, or groups, that have it. `read@2` is the one
 * of turn 2.
 */
export function newestOf(
  { actions, reused }: Pick<SessionState, 'actions' | 'reused'>,
  asked: string,
): string {
  if (asked.includes('@')) {
    if (actions.has(asked)) return asked;
    const first = writtenId(asked);
    return idInTurn(first, actions.get(first)?.turn ?? 0) === asked ? first : asked;
  }
  if (reused === undefined) return asked;
  const bracket = asked.indexOf('[');
  const base = bracket === -1 ? asked : asked.slice(0, bracket);
  return (reused.get(base) ?? base) + asked.slice(base.length);
}

/** An id for a model to name the action by, and no newer one of the same id. */
export function idFor(state: Pick<SessionState, 'actions' | 'reused'>, id: string): string {
  const written = writtenId(id);
  if (newestOf(state, written) === id) return written;
  return id === written ? idInTurn(id, state.actions.get(id)?.turn ?? 0) : id;
}

/** The action that was declared in `turn` under an id as it was written there. */
export function declaredIn(
  actions: ReadonlyMap<string, ActionState>,
  turn: number,
  written: string,
): string | undefined {
  for (const id of [idInTurn(written, turn), written]) if (actions.get(id)?.turn === turn) return id;
  return undefined;
}

/** All ids that an action takes: its own, and those of what it stands in or is going to make. */
export function* idsOf(action: DeclaredAction): Iterable<string> {
  yield action.id;
  if (action.group !== undefined) yield action.group;
  if (action.within !== undefined) yield* action.within;
  if (action.base !== undefined) yield action.base;
  if (isShown(action)) return;
  // A `<foreach>` may have made none of its actions, but their ids are given out, and those of what they stand in.
  const { actions } = action.parameters;
  if (Array.isArray(actions))
    for (const made of actions as unknown as readonly DeclaredAction[]) yield* idsOf(made);
}

/**
 * The first of the turns whose ids the turn in hand shares: what goes on with a turn that broke off, or follows a held final or a
 * reminder, may repeat what was said before, which must not be done twice.
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

/** It broke off, or its final response did not count: it was held, or a guided step is still open. */
const goesOn = ({ broken, held, faults }: Readonly<News>): boolean =>
  held !== undefined ||
  faults.some(({ code }) => code === 'step_open') ||
  (broken !== undefined && broken.error.code !== TURN_BROKEN_OFF);

/** The runtime tells a model of other things, too, but only one that did nothing is reminded. */
const isReminded = ({ messages, faults }: Readonly<News>): boolean =>
  messages.some(({ from }) => from === 'runtime') || faults.some(({ code }) => code === 'no_tags');

function hasActed(actions: SessionState['actions'], turn: number): boolean {
  for (const known of actions.values()) if (known.turn === turn) return true;
  return false;
}
