import type { Json } from '../../../kernel/json.ts';

/** Places in a text where JSON may begin; each costs one walk over the rest. */
const MAX_STARTS = 20;

/** The JSON values that a model's answer may mean, likeliest first: all of it, what is in fences, what is in brackets. */
export function* jsonIn(answer: string): Generator<Json> {
  const whole = parsed(answer);
  if (whole !== undefined) {
    yield whole;
    return;
  }
  for (const [, inside = ''] of answer.matchAll(/```[a-z]*\s*\n([\s\S]*?)```/gi)) {
    const fenced = parsed(inside);
    if (fenced !== undefined) yield fenced;
  }
  let at = 0;
  for (let starts = 0; starts < MAX_STARTS; starts++) {
    const found = answer.slice(at).search(/[[{]/);
    if (found === -1) return;
    at += found;
    const end = closing(answer, at);
    const value = end === undefined ? undefined : parsed(answer.slice(at, end));
    if (value !== undefined) yield value;
    at = value === undefined || end === undefined ? at + 1 : end;
  }
}

/** Where the bracket that opens at `from` is closed, past what is quoted. */
function closing(text: string, from: number): number | undefined {
  let open = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
    } else if (char === '[' || char === '{') open++;
    else if ((char === ']' || char === '}') && --open === 0) return at + 1;
  }
  return undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined; // no JSON: another place is looked at
  }
}
