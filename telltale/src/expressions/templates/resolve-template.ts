import { err, ok, type Result } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { nearest } from '../../lib/nearest.ts';
import { type ConditionConditionIssue, type PathSegment, positionOf } from '../issue.ts';
import { formatPath } from '../path.ts';
import { asText, isPlainObject, readPath, step } from '../values.ts';
import type {
  Alternative,
  EnvPiece,
  ParseTemplateReferencePiece,
  Template,
  TemplateCode,
  TemplatePiece,
} from './parse-template.ts';

/** Values by the first name of a reference. */
export type TemplateScope = Readonly<Record<string, unknown>>;

/** Characters of a string that references were put into. */
const MAX_RESOLVED_LENGTH = 8_388_608;
const MAX_KEYS_SHOWN = 12;

/**
 * The template with its references resolved: the value itself where it is one reference and nothing else, else a
 * string, into which objects and lists go as compact JSON. The first reference that leads nowhere is the error.
 */
export function resolveTemplate(
  { source, pieces }: Template,
  scope: TemplateScope,
): Result<Json, ConditionConditionIssue<TemplateCode>> {
  const [only] = pieces;
  if (pieces.length === 1 && only?.kind === 'reference') return resolve(only, source, scope);
  let text = '';
  for (const piece of pieces) {
    if (piece.kind === 'text') text += piece.text;
    else if (piece.kind === 'env') return err(envLeft(piece, source));
    else {
      const value = resolve(piece, source, scope);
      if (!value.ok) return value;
      text += asText(value.value);
    }
    if (text.length > MAX_RESOLVED_LENGTH) return err(tooLarge(source, piece.offset));
  }
  return ok(text);
}

function resolve(
  piece: ParseTemplateReferencePiece,
  source: string,
  scope: TemplateScope,
): Result<Json, ConditionConditionIssue<TemplateCode>> {
  const value = readPath(step(scope, piece.root), piece.path);
  if (piece.otherwise.length === 0) {
    return value === undefined
      ? err(noSuchPath([piece.root, ...piece.path], piece, source, scope))
      : ok(value as Json);
  }
  if (value !== undefined && value !== null) return ok(value as Json);
  let last: Alternative = piece.otherwise[0] as Alternative;
  let found: unknown;
  for (const alternative of piece.otherwise) {
    last = alternative;
    found =
      alternative.kind === 'value'
        ? alternative.value
        : readPath(scope, [alternative.root, ...alternative.path]);
    if (found !== undefined && found !== null) return ok(found as Json);
  }
  if (found === undefined && last.kind === 'reference')
    return err(noSuchPath([last.root, ...last.path], piece, source, scope));
  return ok(null);
}

function noSuchPath(
  path: readonly PathSegment[],
  piece: ParseTemplateReferencePiece,
  source: string,
  scope: TemplateScope,
): ConditionConditionIssue<TemplateCode> {
  let at: unknown = scope;
  let depth = 0;
  for (let next = step(at, path[0] as PathSegment); next !== undefined && depth < path.length - 1; ) {
    at = next;
    depth++;
    next = step(at, path[depth] as PathSegment);
  }
  const missing = path[depth] as PathSegment;
  const there = path.slice(0, depth);
  const place = depth === 0 ? 'Here' : `"${formatPath(there)}"`;
  return {
    code: 'no_such_path',
    message: `"${formatPath(path)}" does not exist: ${place} ${describe(at, missing)}.`,
    hint: `${hintFor(at, missing, there, path.slice(depth + 1))} For a value that may be missing write \${${formatPath(path)} ?? default}.`,
    ...positionOf(source, piece.offset),
  };
}

function describe(at: unknown, missing: PathSegment): string {
  if (Array.isArray(at)) return `is a list of ${at.length} and has no ${formatPath([missing])}`;
  if (isPlainObject(at)) return `has no ${JSON.stringify(missing)}`;
  return `is ${at === null ? 'null' : `a ${typeof at}`}`;
}

/** The path that exists and is nearest to what was written. */
function hintFor(
  at: unknown,
  missing: PathSegment,
  there: readonly PathSegment[],
  rest: readonly PathSegment[],
): string {
  if (!isPlainObject(at)) return there.length === 0 ? '' : `"${formatPath(there)}" is as far as it goes.`;
  const keys = Object.keys(at);
  const near = nearest(String(missing), keys);
  if (near === undefined) {
    const shown = keys.slice(0, MAX_KEYS_SHOWN).map((key) => formatPath([...there, key]));
    return shown.length === 0
      ? `"${formatPath(there)}" is empty.`
      : `There are: ${shown.join(', ')}${keys.length > MAX_KEYS_SHOWN ? ', …' : ''}.`;
  }
  const whole = readPath(at, [near, ...rest]) === undefined ? [...there, near] : [...there, near, ...rest];
  return `Did you mean "${formatPath(whole)}"?`;
}

const envLeft = (piece: EnvPiece, source: string): ConditionConditionIssue<TemplateCode> => ({
  code: 'env_left',
  message: `The environment variable ${piece.source} was not put in when the file was loaded.`,
  hint: 'Environment variables are read when a manifest is loaded, not when a step runs.',
  ...positionOf(source, piece.offset),
});

const tooLarge = (source: string, offset: number): ConditionConditionIssue<TemplateCode> => ({
  code: 'too_large',
  message: `The resolved text has more than ${MAX_RESOLVED_LENGTH} characters.`,
  hint: 'Refer to a part of the value.',
  ...positionOf(source, offset),
});

/**
 * The template with its environment variables put in as text: what they hold is never read as a reference. Reports
 * every variable that is unset and has no default; an empty variable takes its default too, as in a shell.
 */
export function fillEnvironment(
  template: Template,
  read: (name: string) => string | undefined,
): Result<Template, readonly ConditionConditionIssue<TemplateCode>[]> {
  const issues: ConditionConditionIssue<TemplateCode>[] = [];
  const pieces = template.pieces.map((piece): TemplatePiece => {
    if (piece.kind !== 'env') return piece;
    const value = read(piece.name);
    const text = value === undefined || (value === '' && piece.default !== undefined) ? piece.default : value;
    if (text === undefined) issues.push(unset(piece, template.source));
    return { kind: 'text', text: text ?? '', offset: piece.offset };
  });
  if (issues.length > 0) return err(issues);
  const joined = joinText(pieces);
  return ok({ source: formatTemplate(joined), pieces: joined });
}

/** Text beside text as one piece, so that a dollar of one and a brace of the next are seen together. */
function joinText(pieces: readonly TemplatePiece[]): readonly TemplatePiece[] {
  const joined: TemplatePiece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (piece.kind === 'text' && last?.kind === 'text')
      joined[joined.length - 1] = { ...last, text: last.text + piece.text };
    else if (piece.kind !== 'text' || piece.text !== '') joined.push(piece);
  }
  return joined;
}

const unset = (piece: EnvPiece, source: string): ConditionConditionIssue<TemplateCode> => ({
  code: 'env_unset',
  message: `The environment variable ${piece.name} is not set.`,
  hint: `Set it, or write a default: \${${piece.name}:-…}.`,
  ...positionOf(source, piece.offset),
});

/** The string that `parseTemplate` reads as `pieces`. */
export function formatTemplate(pieces: readonly TemplatePiece[]): string {
  let source = '';
  for (const [i, piece] of pieces.entries()) {
    if (piece.kind !== 'text') source += piece.source;
    else {
      const beforeReference = i + 1 < pieces.length && pieces[i + 1]?.kind !== 'text';
      source += escapeTemplate(piece.text, beforeReference);
    }
  }
  return source;
}

/** `text` so that a template holds it as it is: every dollar of a run before a brace is doubled. */
export function escapeTemplate(text: string, beforeReference = false): string {
  const escaped = text.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);
  return beforeReference ? escaped.replace(/\$+$/, (dollars) => dollars + dollars) : escaped;
}
