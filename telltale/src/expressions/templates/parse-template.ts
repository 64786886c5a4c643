import { err, ok, type Result } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { type ConditionConditionIssue, type PathSegment, positionOf, quote } from '../issue.ts';
import { PLAIN_NAME, parsePath } from '../path.ts';

/** Characters of one reference, from `${` to `}`. */
const MAX_REFERENCE_LENGTH = 4_096;

export interface TemplateOptions {
  /** Names besides the reserved ones that mean the run: the `as` of a foreach. */
  readonly names?: Iterable<string>;
}

/**
 * Reads a string with `${…}` in it. Dollars before a brace come in pairs: `$${` is the text `${`, and `$$${a}` is a
 * dollar and a reference. Reports every reference that is wrong, with its offset.
 */
export function parseTemplate(
  source: string,
  { names = [] }: TemplateOptions = {},
): Result<Template, readonly ConditionConditionIssue<TemplateCode>[]> {
  const roots = new Set<string>([...RESERVED_ROOTS, ...names]);
  const pieces: TemplatePiece[] = [];
  const issues: ConditionConditionIssue<TemplateCode>[] = [];
  let text = '';
  let textOffset = 0;
  const flush = (upTo: number) => {
    if (text !== '') pieces.push({ kind: 'text', text, offset: textOffset });
    text = '';
    textOffset = upTo;
  };
  let at = 0;
  for (;;) {
    const brace = findDollarBrace(source, at);
    if (brace === undefined) break;
    text += source.slice(at, brace.from) + '$'.repeat(brace.literals);
    at = brace.open;
    if (!brace.reference) {
      text += '{';
      at++;
      continue;
    }
    const start = brace.open - 1;
    const close = findClose(source.slice(0, start + MAX_REFERENCE_LENGTH), brace.open + 1);
    if (close === -1) {
      issues.push(notClosed(source, start));
      break;
    }
    flush(close + 1);
    const read = readReference(source.slice(brace.open + 1, close), roots);
    if (read.ok) pieces.push({ ...read.value, source: source.slice(start, close + 1), offset: start });
    else issues.push({ ...read.error, ...positionOf(source, brace.open + 1 + (read.error.offset ?? 0)) });
    at = close + 1;
  }
  text += source.slice(at);
  flush(source.length);
  return issues.length === 0 ? ok({ source, pieces }) : err(issues);
}

interface DollarBrace {
  /** Where the run of dollars begins, and where the brace stands. */
  readonly from: number;
  readonly open: number;
  readonly literals: number;
  readonly reference: boolean;
}

function findDollarBrace(source: string, from: number): DollarBrace | undefined {
  const found = source.indexOf('${', from);
  if (found === -1) return undefined;
  let first = found;
  while (first > from && source[first - 1] === '$') first--;
  const dollars = found - first + 1;
  return { from: first, open: found + 1, literals: Math.floor(dollars / 2), reference: dollars % 2 === 1 };
}

const notClosed = (source: string, offset: number): ConditionConditionIssue<TemplateCode> => ({
  code: 'not_closed',
  message: 'A reference ${ is not closed.',
  hint: `Close it with }, within ${MAX_REFERENCE_LENGTH} characters, or write $\${ to get the two characters themselves.`,
  ...positionOf(source, offset),
});

type Piece = Omit<ParseTemplateReferencePiece, 'offset' | 'source'> | Omit<EnvPiece, 'offset' | 'source'>;
type Read<T> = Result<T, ConditionConditionIssue<TemplateCode>>;

const ENV = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;

/** Reads what stands between `${` and `}`; offsets count from the start of `inside`. */
function readReference(inside: string, roots: ReadonlySet<string>): Read<Piece> {
  const trimmed = inside.trim();
  if (trimmed === '') return err(empty);
  const [, name, fallback] = ENV.exec(trimmed) ?? [];
  if (name !== undefined && !roots.has(name)) {
    return ok({ kind: 'env', name, ...(fallback === undefined ? {} : { default: fallback }) });
  }
  if (name !== undefined && fallback !== undefined) return err(shellDefault(inside));
  const [first = '', ...rest] = splitAlternatives(inside);
  const head = readPath(first, 0, roots);
  if (!head.ok) return head;
  const otherwise: Alternative[] = [];
  let offset = first.length;
  for (const text of rest) {
    offset += 2;
    const alternative = readAlternative(text, offset, roots);
    if (!alternative.ok) return alternative;
    otherwise.push(alternative.value);
    offset += text.length;
  }
  return ok({ ...head.value, otherwise });
}

/** Where `inside` ends: the `}` that closes it, past quoted strings and brackets of a default. -1 if there is none. */
function findClose(text: string, from: number): number {
  if (/^\s*[A-Za-z_][A-Za-z0-9_]*:-/.test(text.slice(from, from + MAX_ENV_NAME)))
    return text.indexOf('}', from);
  let open = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"' || (char === "'" && beginsValue(text, at))) {
      at = closingQuote(text, at, char);
      if (at === -1) return -1;
    } else if (char === '{') open++;
    else if (char === '}' && open-- === 0) return at;
  }
  return -1;
}

const MAX_ENV_NAME = 256;

/** An apostrophe opens a string only where a default begins: `?? it's` is bare text. */
const beginsValue = (text: string, at: number): boolean =>
  /\?\?\s*$/.test(text.slice(Math.max(0, at - 64), at));

function closingQuote(text: string, from: number, quoteChar: string): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === quoteChar) return at;
  }
  return -1;
}

/** Cuts at every `??` outside a quoted string. */
function splitAlternatives(inside: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < inside.length; at++) {
    const char = inside[at];
    if (char === '"' || (char === "'" && beginsValue(inside, at))) {
      const close = closingQuote(inside, at, char);
      if (close === -1) break;
      at = close;
    } else if (char === '?' && inside[at + 1] === '?') {
      parts.push(inside.slice(from, at));
      from = at + 2;
      at++;
    }
  }
  parts.push(inside.slice(from));
  return parts;
}

function readPath(
  text: string,
  offset: number,
  roots: ReadonlySet<string>,
): Read<Alternative & { kind: 'reference' }> {
  const start = offset + text.length - text.trimStart().length;
  const path = parsePath(text.trim(), PLAIN_NAME);
  if (!path.ok) return err({ ...path.error, offset: start + (path.error.offset ?? 0) });
  const [root, ...rest] = path.value;
  if (typeof root !== 'string' || !roots.has(root)) return err(unknownRoot(String(root), roots, start));
  return ok({ kind: 'reference', root, path: rest });
}

/** JSON, a string in single quotes, another reference, or bare text up to the `}`. */
function readAlternative(text: string, offset: number, roots: ReadonlySet<string>): Read<Alternative> {
  const trimmed = text.trim();
  const word = /^[A-Za-z_][A-Za-z0-9_-]*/.exec(trimmed)?.[0];
  if (word !== undefined && roots.has(word) && /^(?:[.[]|$)/.test(trimmed.slice(word.length)))
    return readPath(text, offset, roots);
  if (/^'.*'$/s.test(trimmed))
    return ok({ kind: 'value', value: trimmed.slice(1, -1).replace(/\\(['\\])/g, '$1') });
  try {
    return ok({ kind: 'value', value: JSON.parse(trimmed) as Json });
  } catch {
    if (/^["[{]/.test(trimmed))
      return err(badDefault(trimmed, offset + text.length - text.trimStart().length));
    return ok({ kind: 'value', value: trimmed });
  }
}

const empty: ConditionConditionIssue<TemplateCode> = {
  code: 'empty_reference',
  message: `A reference \${} names nothing.`,
  hint: `Write \${vars.name}, or $\${ to get the two characters themselves.`,
  offset: 0,
};

const shellDefault = (inside: string): ConditionConditionIssue<TemplateCode> => ({
  code: 'bad_default',
  message: `\${${inside}} gives a default as an environment variable does.`,
  hint: `For a reference write \${a.b ?? default}.`,
  offset: inside.indexOf(':-'),
});

const badDefault = (text: string, offset: number): ConditionConditionIssue<TemplateCode> => ({
  code: 'bad_default',
  message: `The default ${quote(text)} is no JSON.`,
  hint: 'Write JSON, a text without quotes, or a text in single quotes.',
  offset,
});

const unknownRoot = (
  root: string,
  roots: ReadonlySet<string>,
  offset: number,
): ConditionConditionIssue<TemplateCode> => ({
  code: 'unknown_root',
  message: `No reference begins with ${quote(root)}.`,
  hint: `${suggest(root, [...roots], 'They begin with')} An environment variable has no path: \${NAME}, \${NAME:-default}.`,
  offset,
});

/** A string with references that was read. `source` is what was written. */
export interface Template {
  readonly source: string;
  readonly pieces: readonly TemplatePiece[];
}

/** `offset` and `source` say where a piece stands in the template and how it is written there. */
export type TemplatePiece = TextPiece | ParseTemplateReferencePiece | EnvPiece;

export interface TextPiece {
  readonly kind: 'text';
  /** With `$${` already read as `${`. */
  readonly text: string;
  readonly offset: number;
}

/** `${steps.build.output ?? vars.fallback ?? "none"}`: resolved when a step runs. */
export interface ParseTemplateReferencePiece {
  readonly kind: 'reference';
  readonly root: string;
  readonly path: readonly PathSegment[];
  /** What to take instead where the value is missing or null, in this order. */
  readonly otherwise: readonly Alternative[];
  readonly source: string;
  readonly offset: number;
}

export type Alternative =
  | { readonly kind: 'reference'; readonly root: string; readonly path: readonly PathSegment[] }
  | { readonly kind: 'value'; readonly value: Json };

/** `${NAME}`, `${NAME:-default}`: an environment variable, put in when the file is loaded. */
export interface EnvPiece {
  readonly kind: 'env';
  readonly name: string;
  readonly default?: string;
  readonly source: string;
  readonly offset: number;
}

/** Names that always mean the run, never the environment. */
export const RESERVED_ROOTS = ['agent', 'steps', 'vars', 'run', 'trigger', 'input', 'item'] as const;

export type TemplateCode =
  | 'not_closed'
  | 'empty_reference'
  | 'unknown_root'
  | 'bad_path'
  | 'bad_default'
  | 'too_long'
  | 'no_such_path'
  | 'env_left'
  | 'env_unset'
  | 'too_large';
