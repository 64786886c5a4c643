import type { Json } from '../../kernel/json.ts';

/** The JSON of an answer: all of it, what stands in a fence, or what is between the first and the last bracket. */
export function answerJson(text: string): Json | undefined {
  const fenced = /```[a-z]*\n([\s\S]*?)\n?```/i.exec(text)?.[1];
  const first = text.search(/[[{]/);
  const last = Math.max(text.lastIndexOf(']'), text.lastIndexOf('}'));
  const bracketed = first === -1 || last < first ? undefined : text.slice(first, last + 1);
  for (const candidate of [text, fenced, bracketed]) {
    const value = candidate === undefined ? undefined : parsed(candidate);
    if (value !== undefined) return value;
  }
  return undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
