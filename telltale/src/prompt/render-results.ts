import { isJsonObject } from '../lib/json.ts';
import { type ActionState, isReported, isShown, writtenId } from '../log/action.ts';
import { MAX_IDS_LISTED, MAX_NAME_SHOWN, MIN_SHOWN } from './limits.ts';
import { type Fitting, fitted } from './part-limits.ts';
import { lineBreaksIn, resultStatus, type ShownResult, showResult, withLineNumbers } from './show-result.ts';
import { clip, cutLines, cutText, type Escape, escapeAttribute, escapesIn } from './text.ts';

/** About what a result takes beside its text: its tags, and the line that says what is left out. */
const FRAME = 180;

/** Where the manifest leaves little room, a result gets at least this part of it. */
const FLOOR_PART = 4;

export interface ResultStyle {
  readonly safe: Escape;
  /** Whether the model may call `read_output`. */
  readonly canReadOutput: boolean;
}

type RenderResultsStyle = ResultStyle & Fitting;

/** Whether the model is told of an action at all: its result, and that it runs. */
export const isTold = ({ action }: ActionState): boolean => isReported(action) && isShown(action);

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
  const states: ActionState[] = [];
  for (const id of ids) {
    const state = actions.get(id);
    if (state === undefined || !isTold(state) || resultStatus(state) === undefined) continue;
    states.push(state);
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
  style: RenderResultsStyle,
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
  style: RenderResultsStyle,
  left: ResultRoom,
): readonly string[] {
  const rendered: string[] = [];
  for (const state of ended) {
    if (left.left <= 0) return [...rendered, unshown(ended.slice(rendered.length), style)];
    const text = renderResult(state, shareOf(left, style), style);
    rendered.push(taken(left, text));
  }
  return rendered;
}

/** The result as the answer to a native call, which names what was called. One that is `ok` does not say so. */
export function renderAnswer(state: ActionState, style: RenderResultsStyle, room: ResultRoom): string {
  if (room.left <= 0) return unshown([state], style);
  return taken(room, renderResult(state, shareOf(room, style), style, 'answer'));
}

/** The most that the next result may take. */
function shareOf({ left, count, floor }: ResultRoom, { maxResult }: RenderResultsStyle): number {
  const share = Math.floor(left / count) - FRAME;
  return Math.min(maxResult, Math.max(floor, share));
}

function taken(room: ResultRoom, text: string): string {
  room.left -= text.length;
  room.count--;
  return text;
}

function renderResult(state: ActionState, max: number, style: RenderResultsStyle, as?: 'answer'): string {
  const { name } = state.action;
  const status = resultStatus(state);
  const isPlainAnswer = as === 'answer' && status === 'ok';
  const { text, attributes, omitted, escaped } = shownPart(state, max, style);
  const all = {
    id: writtenId(state.action.id),
    ...(as === 'answer' ? {} : { name: style.safe(clip(name, MAX_NAME_SHOWN)) }),
    ...(isPlainAnswer ? {} : { status }),
    ...(isPlainAnswer || state.ms === undefined ? {} : { ms: Math.round(state.ms) }),
    ...attributes,
    ...(omitted > 0 ? { truncated: omitted } : {}),
    ...(escaped > 0 ? { escaped } : {}),
  };
  const written = Object.entries(all).map(([key, value]) => `${key}="${escapeAttribute(String(value))}"`);
  // A text of several lines stands on lines of its own.
  const body = text.includes('\n') ? `\n${text}${text.endsWith('\n') ? '' : '\n'}` : text;
  return `<result ${written.join(' ')}>${body}</result>`;
}

/** The text of a result, at most about `max` characters of it. */
function shownPart(state: ActionState, max: number, { safe, canReadOutput }: RenderResultsStyle) {
  const page = readPage(state) ?? pageOf(state);
  const { firstLine } = page;
  const numbers = firstLine === undefined ? 0 : numbersIn(page.text, firstLine);
  // Numbers take room, too.
  const room = numbers === 0 ? max : Math.floor((max * page.text.length) / (page.text.length + numbers));
  const { head, tail, omitted } =
    firstLine === undefined ? cutText(page.text, room) : cutLines(page.text, room);
  let escaped = 0;
  const show = (part: string, before: string) => {
    const shown = safe(part);
    escaped += escapesIn(part, shown);
    return firstLine === undefined ? shown : withLineNumbers(shown, firstLine + lineBreaksIn(before));
  };
  const { attributes, left } = page;
  if (omitted === 0) {
    const text = show(head, '');
    return left === 0
      ? { text, attributes, omitted, escaped }
      : { text: `${text}\n${rest(page, head.length, 'left')}`, attributes, omitted, escaped };
  }
  const shownHead = show(head, '');
  const shownTail = show(tail, page.text.slice(0, page.text.length - tail.length));
  const gap = rest({ ...page, left: omitted }, head.length, 'left out');
  const broken = shownHead.endsWith('\n') ? '' : '\n';
  const text = `${shownHead}${broken}${gap}\n${shownTail}`;
  return {
    text: left === 0 ? text : `${text}\n${rest(page, page.text.length, 'left')}`,
    attributes,
    omitted,
    escaped,
  };

  function rest({ left, id, offset }: RenderResultsPage, from: number, how: string): string {
    const more = canReadOutput
      ? `; read_output with {"id": ${JSON.stringify(id)}, "offset": ${offset + from}} shows them`
      : '';
    return `[… ${left} characters ${how}${safe(more)} …]`;
  }
}

/** Characters that the numbers of the lines take, each with a tab. */
function numbersIn(text: string, first: number): number {
  const lines = lineBreaksIn(text) + 1;
  return lines * (String(first + lines).length + 1);
}

/** A part of a result, or all of it. */
interface RenderResultsPage extends ShownResult {
  /** The action whose result it is. */
  readonly id: string;
  /** Where it begins there, and what there is behind it. */
  readonly offset: number;
  readonly left: number;
}

const pageOf = (state: ActionState): RenderResultsPage => ({
  ...showResult(state),
  id: writtenId(state.action.id),
  offset: 0,
  left: 0,
});

/** What `read_output` gave is shown as the result itself is, so that a page reads as the whole did. */
function readPage({ action, output, input, status }: ActionState): RenderResultsPage | undefined {
  if (action.kind !== 'internal' || action.name !== 'read_output') return undefined;
  if ((status !== 'completed' && status !== 'compensated') || !isJsonObject(output)) return undefined;
  const { text, line, offset, next_offset: next, total } = output;
  if (typeof text !== 'string' || typeof offset !== 'number' || typeof total !== 'number') return undefined;
  const id = input?.id;
  return {
    text,
    attributes: { offset, ...(typeof next === 'number' ? { next_offset: next } : {}), total },
    ...(typeof line === 'number' ? { firstLine: line } : {}),
    id: typeof id === 'string' ? id : action.id,
    offset,
    left: typeof next === 'number' ? total - next : 0,
  };
}

function unshown(states: readonly ActionState[], { safe, canReadOutput }: ResultStyle): string {
  const listed = states
    .slice(0, MAX_IDS_LISTED)
    .map((state) => `${clip(writtenId(state.action.id), MAX_NAME_SHOWN)} ${resultStatus(state)}`);
  const more = states.length > listed.length ? `, and ${states.length - listed.length} more` : '';
  const how = canReadOutput ? ' read_output shows each of them.' : '';
  return safe(
    `[… ${states.length} more actions ended, not shown here: ${listed.join(', ')}${more}.${how} …]`,
  );
}
