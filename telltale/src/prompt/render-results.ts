import { type ActionState, isShown, isTracked } from '../events/action.ts';
import { added, NONE } from '../kernel/grow.ts';
import { isJsonObject } from '../kernel/json.ts';
import { clip, cutText } from './cut-text.ts';
import { type Escape, escapeAttribute } from './escape.ts';
import { MAX_IDS_LISTED, MAX_NAME_SHOWN, MAX_SHOWN, MIN_SHOWN } from './limits.ts';
import { type Fitting, fitted } from './part-limits.ts';
import { resultStatus, resultText } from './result-text.ts';

/** About what a result takes beside its text: its tags, and the line that says what is left out. */
const FRAME = 180;

/** Where the manifest leaves little room, a result gets at least this part of it. */
const FLOOR_PART = 4;

export interface ResultStyle {
  readonly safe: Escape;
  /** Whether the model may call `read_output`. */
  readonly canReadOutput: boolean;
}

/** Whether the model is told of an action at all: its result, and that it runs. */
export const isTold = ({ action }: ActionState): boolean => isTracked(action) && isShown(action);

/** The characters that the results of one turn share, and how many of them are still to be shown. */
export interface ResultRoom {
  left: number;
  count: number;
  /** No result is cut below this as long as there is room at all. */
  readonly floor: number;
}

export const roomFor = (count: number, chars: number): ResultRoom => ({
  left: chars,
  count,
  floor: Math.min(MIN_SHOWN, Math.floor(chars / FLOOR_PART)),
});

/** Those of these actions whose results there are to tell. */
export function endedOf(
  ids: readonly string[],
  actions: ReadonlyMap<string, ActionState>,
): readonly ActionState[] {
  let states: readonly ActionState[] = NONE;
  for (const id of ids) {
    const state = actions.get(id);
    if (state === undefined || !isTold(state) || resultStatus(state) === undefined) continue;
    states = added(states, state);
  }
  return states;
}

/**
 * The results of actions that ended. Their size is bounded: each is shown up to its part of what room is left, and
 * those for which there is none are named.
 */
export function renderResults(
  ids: readonly string[],
  actions: ReadonlyMap<string, ActionState>,
  style: ResultStyle & Fitting,
  room?: ResultRoom,
): readonly string[] {
  const ended = endedOf(ids, actions);
  if (room !== undefined) return renderWithin(ended, style, room);
  return fitted(
    style,
    (chars) => renderWithin(ended, style, roomFor(ended.length, chars)),
    (rendered) => rendered.join('\n\n'),
  );
}

function renderWithin(
  ended: readonly ActionState[],
  style: ResultStyle,
  left: ResultRoom,
): readonly string[] {
  let rendered: readonly string[] = NONE;
  for (const state of ended) {
    if (left.left <= 0) return [...rendered, unshown(ended.slice(rendered.length), style)];
    const text = renderResult(state, shareOf(left), style);
    rendered = added(rendered, taken(left, text));
  }
  return rendered;
}

/** The result as the answer to a native call: without a tag around it, which the call itself is. */
export function renderAnswer(state: ActionState, style: ResultStyle, room: ResultRoom): string {
  if (room.left <= 0) return unshown([state], style);
  return taken(room, shownResult(state, shareOf(room), style).text);
}

/** The most that the next result may take. */
function shareOf({ left, count, floor }: ResultRoom): number {
  const share = Math.floor(left / count) - FRAME;
  return Math.min(MAX_SHOWN, Math.max(floor, share));
}

function taken(room: ResultRoom, text: string): string {
  room.left -= text.length;
  room.count--;
  return text;
}

function renderResult(state: ActionState, max: number, style: ResultStyle): string {
  const { id, name } = state.action;
  const { text, place, omitted } = shownResult(state, max, style);
  let attributes = `id="${escapeAttribute(id)}" name="${escapeAttribute(style.safe(clip(name, MAX_NAME_SHOWN)))}" status="${resultStatus(state)}"`;
  if (state.ms !== undefined) attributes += ` ms="${Math.round(state.ms)}"`;
  if (place !== undefined) attributes += ` ${place}`;
  if (omitted > 0) attributes += ` truncated="${omitted}"`;
  return `<result ${attributes}>${text}</result>`;
}

/** The text of a result, at most about `max` characters of it. */
function shownResult(state: ActionState, max: number, { safe, canReadOutput }: ResultStyle) {
  const page = readPage(state);
  const { head, tail, omitted } = cutText(page?.text ?? resultText(state), max);
  if (omitted === 0) return { text: safe(head), place: page?.place, omitted };
  const source = page?.id ?? state.action.id;
  const offset = (page?.offset ?? 0) + head.length;
  const more = canReadOutput
    ? `; read_output with {"id": ${JSON.stringify(source)}, "offset": ${offset}} shows them`
    : '';
  const text = `${safe(head)}\n[… ${omitted} characters left out${safe(more)} …]\n${safe(tail)}`;
  return { text, place: page?.place, omitted };
}

interface Page {
  readonly text: string;
  readonly place: string;
  readonly id: string;
  readonly offset: number;
}

/** What `read_output` gave is shown as the text it is, not as JSON of it, so that a page reads as the result did. */
function readPage({ action, output, input, status }: ActionState): Page | undefined {
  if (action.kind !== 'internal' || action.name !== 'read_output') return undefined;
  if ((status !== 'completed' && status !== 'compensated') || !isJsonObject(output)) return undefined;
  const { text, offset, next_offset: next, total } = output;
  if (typeof text !== 'string' || typeof offset !== 'number' || typeof total !== 'number') return undefined;
  const id = input?.id;
  return {
    text,
    place: `offset="${offset}"${typeof next === 'number' ? ` next_offset="${next}"` : ''} total="${total}"`,
    id: typeof id === 'string' ? id : action.id,
    offset,
  };
}

function unshown(states: readonly ActionState[], { safe, canReadOutput }: ResultStyle): string {
  const listed = states
    .slice(0, MAX_IDS_LISTED)
    .map((state) => `${clip(state.action.id, MAX_NAME_SHOWN)} ${resultStatus(state)}`);
  const more = states.length > listed.length ? `, and ${states.length - listed.length} more` : '';
  const how = canReadOutput ? ' read_output shows each of them.' : '';
  return safe(
    `[… ${states.length} more actions ended, not shown here: ${listed.join(', ')}${more}.${how} …]`,
  );
}
