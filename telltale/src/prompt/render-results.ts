import { type ActionState, isShown, isTracked } from '../events/action.ts';
import type { Json } from '../kernel/json.ts';
import { clip, cutText } from './cut-text.ts';
import { type Escape, escapeAttribute } from './escape.ts';
import { MAX_IDS_LISTED, MAX_NAME_SHOWN, MAX_RESULTS, MAX_SHOWN, MIN_SHOWN } from './limits.ts';
import { resultStatus, resultText } from './result-text.ts';

/** About what a result takes beside its text: its tags, and the line that says what is left out. */
const FRAME = 180;

export interface ResultStyle {
  readonly safe: Escape;
  /** Whether the model may call `read_output`. */
  readonly canReadOutput: boolean;
}

/** Whether the model is told of an action at all: its result, and that it runs. */
export const isTold = ({ action }: ActionState): boolean => isTracked(action) && isShown(action);

/**
 * The results of actions that ended. Their size is bounded: each is shown up to its part of what room is left, and
 * those for which there is none are named.
 */
export function renderResults(
  ids: readonly string[],
  actions: ReadonlyMap<string, ActionState>,
  style: ResultStyle,
): readonly string[] {
  const ended = ids.flatMap((id) => {
    const state = actions.get(id);
    return state !== undefined && isTold(state) && resultStatus(state) !== undefined ? [state] : [];
  });
  const rendered: string[] = [];
  let room = MAX_RESULTS;
  for (const [index, state] of ended.entries()) {
    if (room <= 0) return [...rendered, unshown(ended.slice(index), style)];
    const share = Math.floor(room / (ended.length - index)) - FRAME;
    const text = renderResult(state, Math.min(MAX_SHOWN, Math.max(MIN_SHOWN, share)), style);
    rendered.push(text);
    room -= text.length;
  }
  return rendered;
}

function renderResult(state: ActionState, max: number, { safe, canReadOutput }: ResultStyle): string {
  const { id, name } = state.action;
  const page = readPage(state);
  const text = page?.text ?? resultText(state);
  const { head, tail, omitted } = cutText(text, max);
  let attributes = `id="${escapeAttribute(id)}" name="${escapeAttribute(safe(clip(name, MAX_NAME_SHOWN)))}" status="${resultStatus(state)}"`;
  if (state.ms !== undefined) attributes += ` ms="${Math.round(state.ms)}"`;
  if (page !== undefined) attributes += ` ${page.place}`;
  if (omitted === 0) return `<result ${attributes}>${safe(head)}</result>`;
  const source = page?.id ?? id;
  const offset = (page?.offset ?? 0) + head.length;
  const more = canReadOutput
    ? `; read_output with {"id": ${JSON.stringify(source)}, "offset": ${offset}} shows them`
    : '';
  return `<result ${attributes} truncated="${omitted}">${safe(head)}\n[… ${omitted} characters left out${safe(more)} …]\n${safe(tail)}</result>`;
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
  if ((status !== 'completed' && status !== 'compensated') || !isObject(output)) return undefined;
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

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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
