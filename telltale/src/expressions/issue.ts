/** One step into a JSON value: a key or an index. */
export type PathSegment = string | number;

/**
 * What is wrong with something a user or a model wrote: data, never thrown. `message` says what was found, `hint`
 * what to do. `offset` counts UTF-16 units into the text that was read (an expression, a template), `path` leads
 * into the JSON value that was read (a condition map), so that a manifest error can point at the very place.
 */
export interface ConditionConditionIssue<Code extends string = string> {
  readonly code: Code;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly offset?: number | undefined;
  /** Line and column of `offset`, both from 1. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly path?: readonly PathSegment[] | undefined;
}

/** Where `offset` stands in `text`. */
export function positionOf(text: string, offset: number): { offset: number; line: number; column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  let line = 1;
  for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line++;
  return { offset, line, column: offset - lineStart + 1 };
}

const MAX_QUOTED = 60;

/** `text` as it may stand in a message: in quotes, and cut where it is long. */
export function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);
}
