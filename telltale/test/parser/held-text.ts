/**
 * Rule 2.2 of protocol.md on its own: which text may be held back until more of the stream is in. It is
 * written as patterns, apart from both parsers.
 */
import type { ParserEvent } from '../../src/parser/intents.ts';

const W = '[ \\t\\r\\n]';
const NAMES = ['thought', 'think', 'thinking', 'action', 'metadata', 'response', 'result', 'context_feed'];
const CONTROL = ['if', 'else', 'foreach', 'parallel'];
const ALL = [...NAMES, ...CONTROL];
const ATTRIBUTE = '[A-Za-z_][A-Za-z0-9_.:-]*';
const TAG_LIMIT = 4096;

/** What was held, from its `<` on, after the events so far. */
function mayBeTag(held: string, inResponse: boolean): boolean {
  const is = (pattern: string) => new RegExp(`^(?:${pattern})$`).test(held);
  if (ALL.some((name) => `</${name}`.startsWith(held) || `<${name}`.startsWith(held))) return true;
  const names = `(?:${ALL.join('|')})`;
  // A closing tag; one that stands in code waits for the end of its line.
  if (is(`</${names}${W}*(?:>[ \\t\\r]*)?`)) return held.length < TAG_LIMIT || held.includes('>');

  const uncertain = `<(?:${NAMES.join('|')})(?:${W}+final)*(?:${W}*/?|${W}+${ATTRIBUTE}${W}*)`;
  if (is(uncertain)) return held.length < TAG_LIMIT;
  if (inResponse) return false; // It would be text anyway: it leaves once it is certain which tag it is.

  const value = `=${W}*(?:"[^"]*"|'[^']*'|[^"' \\t\\r\\n<>][^ \\t\\r\\n<>]*)`;
  const inside = `(?:${value}|[^=<>])*(?:=${W}*(?:"[^"]*|'[^']*)?)?`;
  const assigned = `(?:${W}+final)*${W}+${ATTRIBUTE}${W}*(?==)${inside}`;
  if (is(`<(?:${CONTROL.join('|')})[ \\t\\r\\n/]${inside}|<(?:${NAMES.join('|')})${assigned}`))
    return held.length < TAG_LIMIT;

  // An action with a name and nothing in it waits for the end of its line, or for another tag there.
  const empty = `<action(?:${assigned})>(?:${W}*</action${W}*>)?[ \\t\\r]*`;
  const [action] = new RegExp(`^${empty}`).exec(held) ?? [];
  if (action !== undefined && /\bname[ \t\r\n]*=/.test(action)) {
    const next = held.slice(action.length);
    if (next === '' || (next.startsWith('<') && mayBeTag(next, false))) return true;
    if (/^[ \t\r\n]*<(?:$|\/)/.test(next))
      return `</action`.startsWith(next.trim()) || /^<\/action[ \t\r\n]*$/.test(next.trim());
  }

  const fence = `(?:\`+|~+)?[ \\t\\r\\n]*[^ \\t\\r\\n{<]*${W}*`;
  return is(`<(?:action|metadata)(?:${assigned}|${W}*)>${W}*${fence}`);
}

/** Whether `held`, the end of what was `read`, may still be undelivered after the events `before`. */
export function mayBeHeld(held: string, read: string, before: readonly ParserEvent[]): boolean {
  const last = before.at(-1);
  // A `<foreach>` begins a run without an event. The line break at the end of an open thought or response is in what was
  // read, but not in what is held: where the stream ends, it is dropped.
  const afterTag = read.slice(0, read.lastIndexOf(held)).endsWith('>');
  const inRun = (last?.type === 'text' || last?.type === 'delta') && !afterTag;
  const open = before.filter((event) => event.type === 'open' || event.type === 'close');
  const inResponse = open.at(-1)?.type === 'open' && last !== undefined && speaks(open.at(-1)) === 'response';

  // At the start of a run any white space, later one line break (or the first half of one) that may be the last.
  const blank = inRun ? /^(?:\r?\n|\r)?/ : /^[ \t\r\n]*/;
  const rest = held.replace(blank, '');
  return (
    rest === '' || /^[\ud800-\udbff]$/.test(rest) || (rest.startsWith('<') && mayBeTag(rest, inResponse))
  );
}

const speaks = (event: ParserEvent | undefined) =>
  event?.type === 'open' || event?.type === 'close' ? event.tag : undefined;
