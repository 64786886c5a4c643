import type { Json } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { err, ok, type Result } from '../../kernel/result.ts';
import { type Issue, quote } from '../issue.ts';
import { PLAIN_NAME, parsePath } from '../path.ts';
import type { Alternative, EnvPiece, ReferencePiece, TemplateCode } from './template.ts';

type Piece = Omit<ReferencePiece, 'offset' | 'source'> | Omit<EnvPiece, 'offset' | 'source'>;
type Read<T> = Result<T, Issue<TemplateCode>>;

const ENV = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;

/** Reads what stands between `${` and `}`; offsets count from the start of `inside`. */
export function readReference(inside: string, roots: ReadonlySet<string>): Read<Piece> {
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
export function findClose(text: string, from: number): number {
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

const empty: Issue<TemplateCode> = {
  code: 'empty_reference',
  message: `A reference \${} names nothing.`,
  hint: `Write \${vars.name}, or $\${ to get the two characters themselves.`,
  offset: 0,
};

const shellDefault = (inside: string): Issue<TemplateCode> => ({
  code: 'bad_default',
  message: `\${${inside}} gives a default as an environment variable does.`,
  hint: `For a reference write \${a.b ?? default}.`,
  offset: inside.indexOf(':-'),
});

const badDefault = (text: string, offset: number): Issue<TemplateCode> => ({
  code: 'bad_default',
  message: `The default ${quote(text)} is no JSON.`,
  hint: 'Write JSON, a text without quotes, or a text in single quotes.',
  offset,
});

const unknownRoot = (root: string, roots: ReadonlySet<string>, offset: number): Issue<TemplateCode> => ({
  code: 'unknown_root',
  message: `No reference begins with ${quote(root)}.`,
  hint: `${suggest(root, [...roots], 'They begin with')} An environment variable has no path: \${NAME}, \${NAME:-default}.`,
  offset,
});
