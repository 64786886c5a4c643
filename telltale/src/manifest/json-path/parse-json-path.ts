import type { JSONPathQuery } from 'json-p3';
import { nearest } from '../../kernel/nearest.ts';
import { err, ok, type Result } from '../../kernel/result.ts';
import { quoted } from '../printable.ts';
import { jsonP3 } from './json-p3.ts';
import { checkCost } from './json-path-cost.ts';
import { createEnvironment } from './json-path-environment.ts';
import { type JsonPathIssue, JsonPathRefusal } from './json-path-issue.ts';

const MAX_PATH_LENGTH = 512;

const EXAMPLES = 'Write it like $.items[*].name or $.items[?@.level == "error"] (RFC 9535).';

/** Reads a JSONPath (RFC 9535) for one search. Syntax, functions, patterns and what a search would cost are checked here. */
export function parseJsonPath(path: string): Result<JSONPathQuery, JsonPathIssue> {
  if (path.length > MAX_PATH_LENGTH)
    return err(refused(path, `has more than ${MAX_PATH_LENGTH} characters`, MAX_PATH_LENGTH));
  try {
    const query = createEnvironment().compile(path);
    checkCost(query, (why, offset, hint) => new JsonPathRefusal(refused(path, why, offset, hint)));
    return ok(query);
  } catch (thrown) {
    if (thrown instanceof JsonPathRefusal) return err(thrown.issue);
    return err(unreadable(path, thrown));
  }
}

const refused = (path: string, why: string, offset: number, hint = EXAMPLES): JsonPathIssue => ({
  message: `The JSONPath ${quoted(path)} ${why}.`,
  hint,
  offset,
});

function unreadable(path: string, thrown: unknown): JsonPathIssue {
  const { jsonpath } = jsonP3();
  if (!(thrown instanceof jsonpath.JSONPathError)) throw thrown;
  const { kind, value, index } = thrown.token;
  const isLexical = kind === jsonpath.TokenKind.ERROR;
  // The library puts a stretch of the path and the offset behind its words.
  const words = (isLexical ? value : thrown.message.replace(/ \('.*':\d+\)$/s, '')).replaceAll(/\s+/g, ' ');
  const why = words.startsWith("can't backup") ? 'it ends where a name should follow' : words;
  return refused(
    path,
    `cannot be read: ${why}`,
    Math.min(index, Math.max(0, path.length - 1)),
    words.startsWith('no such function') ? functionHint(value) : (slip(path) ?? EXAMPLES),
  );
}

function functionHint(asked: string): string {
  const known = [...createEnvironment().functionRegister.keys()];
  const near = nearest(asked, known);
  return near === undefined ? `Functions: ${known.join(', ')}.` : `Did you mean "${near}"?`;
}

/** What people write by mistake and mean: without the "$", with a space around it. */
function slip(path: string): string | undefined {
  const trimmed = path.trim();
  const meant = /^[$]/.test(trimmed) ? trimmed : `$${/^[.[]/.test(trimmed) ? '' : '.'}${trimmed}`;
  return meant !== path && parseJsonPath(meant).ok ? `Did you mean ${quoted(meant)}?` : undefined;
}
