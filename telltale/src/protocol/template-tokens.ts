import { isBlank } from './foreign/source.ts';

/**
 * Tokens of chat templates, which servers that do not know a model's template let through as text, with the role that
 * follows where a message begins; and byte order marks.
 */
const TOKEN =
  /<\|channel\|>(?:final|commentary)[^<]{0,16}<\|message\|>|<(?:\|[\w/]{1,48}\||｜[^｜<>\s]{1,48}｜)>|<\/?s>|<[be]os>|<(?:start|end)_of_turn>|\[\/?INST\]|\ufeff/y;
const ROLE = /[ \t]{0,8}(?:assistant|model)\b/y;
const BEGINS_MESSAGE = /^<(?:\|(?:im_start|start|start_header_id)\||start_of_turn)>$/;
const LONGEST = 60;

/** How many characters the token of a chat template takes that stands at `at`; 0 where none does. */
export function templateTokenAt(text: string, at: number): number {
  TOKEN.lastIndex = at;
  const token = TOKEN.exec(text)?.[0];
  if (token === undefined) return 0;
  if (!BEGINS_MESSAGE.test(token)) return token.length;
  ROLE.lastIndex = at + token.length;
  return token.length + (ROLE.exec(text)?.[0].length ?? 0);
}

/**
 * A text without the tokens and the white space before its first and behind its last word: what is left of an answer
 * that is nothing but `<|im_end|>` is nothing.
 */
export function withoutTemplateTokens(text: string): string {
  let from = 0;
  for (let length = 1; length > 0; from += length) {
    while (from < text.length && isBlank(text.charCodeAt(from))) from++;
    length = templateTokenAt(text, from);
  }
  let to = text.length;
  for (;;) {
    while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
    const start = startOfTokenBefore(text, from, to);
    if (start === to) return text.slice(from, to);
    to = start;
  }
}

/** Where the token begins that ends at `to`; `to` where none does. */
function startOfTokenBefore(text: string, from: number, to: number): number {
  for (let at = to - 1; at >= from && at > to - LONGEST; at--) {
    const c = text[at];
    if (c !== '<' && c !== '[') continue;
    return at + templateTokenAt(text, at) === to ? at : to;
  }
  return to;
}
