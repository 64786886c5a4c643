import { err, ok, type Result } from '../lib/errors.ts';
import { type ConditionConditionIssue, type PathSegment, quote } from './issue.ts';

/** Steps a path may have. */
const MAX_STEPS = 32;

/** A name in the path of a template: letters, digits, `_` and `-`. Anything else is written `["…"]`. */
export const PLAIN_NAME = /[A-Za-z_][A-Za-z0-9_-]*/y;
/** A name in the key of a condition map: anything but what divides steps. */
export const FIELD_NAME = /[^.[\]"]+/y;

const INDEX = /\[(0|[1-9]\d{0,8})\]/y;
const QUOTED = /\[("(?:[^"\\]|\\.)*")\]/y;

/**
 * Reads `a.b[0]["any key"].c`. A key in brackets and quotes is a JSON string and may be anything, so that a key that
 * is empty, has a dot in it or is spelt like an operator can be named too.
 */
export function parsePath(
  text: string,
  name: RegExp,
): Result<readonly PathSegment[], ConditionConditionIssue<'bad_path'>> {
  const path: PathSegment[] = [];
  let at = 0;
  while (at < text.length) {
    if (path.length === MAX_STEPS) return err(badPath(text, at, `has more than ${MAX_STEPS} steps`));
    if (text[at] === '[') {
      const bracket = readBracket(text, at);
      if (bracket === undefined) return err(badPath(text, at, 'has a bracket that cannot be read'));
      path.push(bracket.segment);
      at = bracket.end;
      continue;
    }
    if (path.length > 0) {
      if (text[at] !== '.')
        return err(badPath(text, at, `has ${quote(text[at] ?? '')} where a step should begin`));
      at++;
    }
    const word = matchAt(name, text, at);
    if (word === undefined) return err(badPath(text, at, 'lacks a name'));
    path.push(word);
    at += word.length;
  }
  return path.length === 0 ? err(badPath(text, 0, 'is empty')) : ok(path);
}

function readBracket(text: string, at: number): { segment: PathSegment; end: number } | undefined {
  const index = matchAt(INDEX, text, at);
  if (index !== undefined) return { segment: Number(index.slice(1, -1)), end: at + index.length };
  const quoted = matchAt(QUOTED, text, at);
  if (quoted === undefined) return undefined;
  try {
    return { segment: JSON.parse(quoted.slice(1, -1)) as string, end: at + quoted.length };
  } catch {
    return undefined; // a string that JSON cannot read, such as "\q"
  }
}

/** What the sticky `pattern` matches at `at`. */
function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** A path as it is written: the inverse of `parsePath` with PLAIN_NAME. */
export function formatPath(path: readonly PathSegment[]): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(segment)) text += `[${JSON.stringify(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** `a.b + 1`: somebody takes a reference for an expression. */
const EXPRESSION = /^\s*[-+*/%<>=!&|?(]/;

const badPath = (text: string, offset: number, why: string): ConditionConditionIssue<'bad_path'> => ({
  code: 'bad_path',
  message: `The path ${quote(text)} ${why}.`,
  hint: EXPRESSION.test(text.slice(offset))
    ? 'A reference is a path like a.b[0].c and computes nothing: have a step of type script compute the value.'
    : 'Write it like a.b[0].c; a key with other characters goes in brackets and quotes: a["b.c"].',
  offset,
});
