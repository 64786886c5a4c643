import { err, ok, type Result } from '../../kernel/result.ts';
import { type Issue, positionOf } from '../issue.ts';
import { findClose, readReference } from './read-reference.ts';
import { RESERVED_ROOTS, type Template, type TemplateCode, type TemplatePiece } from './template.ts';

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
): Result<Template, readonly Issue<TemplateCode>[]> {
  const roots = new Set<string>([...RESERVED_ROOTS, ...names]);
  const pieces: TemplatePiece[] = [];
  const issues: Issue<TemplateCode>[] = [];
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

const notClosed = (source: string, offset: number): Issue<TemplateCode> => ({
  code: 'not_closed',
  message: 'A reference ${ is not closed.',
  hint: `Close it with }, within ${MAX_REFERENCE_LENGTH} characters, or write $\${ to get the two characters themselves.`,
  ...positionOf(source, offset),
});
