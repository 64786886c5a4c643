import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js';
import { err, ok, type Result } from '../../lib/errors.ts';
import { type ConditionConditionIssue, positionOf } from '../issue.ts';
import { compile } from './compile.ts';
import type { FrameRun } from './frame.ts';
import {
  type ExpressionCode,
  MAX_ARGUMENTS,
  MAX_DEPTH,
  MAX_EXPRESSION_LENGTH,
  MAX_LITERAL_ITEMS,
  MAX_NODES,
  Refusal,
} from './limits.ts';
import { macroUse, type NameUse, readNames } from './names.ts';

/** A CEL expression that was read, checked and made ready to run any number of times. */
export interface Expression {
  readonly source: string;
  /** What it reads from its context, in the order in which it stands there. */
  readonly names: readonly NameUse[];
  /** @internal */
  readonly run: FrameRun;
}

const parser = new Environment({
  unlistedVariablesAreDyn: true,
  homogeneousAggregateLiterals: false,
  limits: {
    maxAstNodes: MAX_NODES,
    maxDepth: MAX_DEPTH,
    maxListElements: MAX_LITERAL_ITEMS,
    maxMapEntries: MAX_LITERAL_ITEMS,
    maxCallArguments: MAX_ARGUMENTS,
  },
});

/** Reads a CEL expression. Syntax, functions, their arguments and literal patterns are checked here, names are not. */
export function parseExpression(source: string): Result<Expression, ConditionConditionIssue<ExpressionCode>> {
  if (source.length > MAX_EXPRESSION_LENGTH) return err(tooLong(source));
  try {
    const tree = readTree(source);
    const run = compile(tree, { slots: new Map(), taken: 0, nesting: 0, compile });
    return ok({ source, names: readNames(tree), run });
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    return err({ ...thrown.issue, ...positionOf(source, thrown.issue.offset ?? 0) });
  }
}

/** Throws a `Refusal` where it cannot be read. */
export function readTree(source: string): ASTNode {
  try {
    return parser.parse(source).ast;
  } catch (thrown) {
    throw thrown instanceof ParseError ? syntaxError(thrown, source) : thrown;
  }
}

const tooLong = (source: string): ConditionConditionIssue<ExpressionCode> => ({
  code: 'too_long',
  message: `The expression has ${source.length} characters; ${MAX_EXPRESSION_LENGTH} are allowed.`,
  hint: 'Compute a part beforehand, in a variable or a step.',
  ...positionOf(source, MAX_EXPRESSION_LENGTH),
});

const TOKENS: ReadonlyMap<string, string> = new Map([
  ['EOF', 'the end'],
  ['NUMBER', 'a number'],
  ['STRING', 'a string'],
  ['BYTES', 'bytes'],
  ['BOOLEAN', 'true or false'],
  ['NULL', 'null'],
  ['IDENTIFIER', 'a name'],
  ['PLUS', '"+"'],
  ['MINUS', '"-"'],
  ['MULTIPLY', '"*"'],
  ['DIVIDE', '"/"'],
  ['MODULO', '"%"'],
  ['EQ', '"=="'],
  ['NE', '"!="'],
  ['LT', '"<"'],
  ['LE', '"<="'],
  ['GT', '">"'],
  ['GE', '">="'],
  ['AND', '"&&"'],
  ['OR', '"||"'],
  ['NOT', '"!"'],
  ['IN', '"in"'],
  ['LPAREN', '"("'],
  ['RPAREN', '")"'],
  ['LBRACKET', '"["'],
  ['RBRACKET', '"]"'],
  ['LBRACE', '"{"'],
  ['RBRACE', '"}"'],
  ['DOT', '"."'],
  ['COMMA', '","'],
  ['COLON', '":"'],
  ['QUESTION', '"?"'],
]);

const WORDS: ReadonlyMap<string, string> = new Map([
  ['and', 'Write && for "and".'],
  ['or', 'Write || for "or".'],
  ['not', 'Write ! for "not".'],
  ['is', 'Write == to compare.'],
  ['eq', 'Write == to compare.'],
  ['AND', 'Write && for "and".'],
  ['OR', 'Write || for "or".'],
  ['NOT', 'Write ! for "not".'],
]);

/** What is written for an operator elsewhere; the parser may stop at its first character or at its second. */
const OPERATORS: readonly (readonly [RegExp, string])[] = [
  [/^=>/, 'Write >= to compare.'],
  [/^=</, 'Write <= to compare.'],
  [/^<>/, 'Write != to compare.'],
  [/^\?\./, 'For a value that may be missing write has(a.b) ? a.b : other.'],
];

const NEXT_CHARACTERS: ReadonlyMap<string, string> = new Map([
  ['=', 'Write == to compare.'],
  ['&', 'Write && for "and".'],
  ['|', 'Write || for "or".'],
  ...Array.from('`“”„‘’«»', (mark) => [mark, 'Strings stand in double or single quotes.'] as const),
  ['$', 'Names stand without a dollar here: vars.name, not $name.'],
  ['?', 'For a value that may be missing write has(a.b) ? a.b : other.'],
]);

/** What stands in a string is no part of the expression. */
const STRING =
  /"""(?:\\[\s\S]|[^\\])*?"""|'''(?:\\[\s\S]|[^\\])*?'''|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'/g;

/** `not` by itself is a name: what follows it is what cannot stand there. */
const BEHIND_NOT = /\bnot\s+$/i;

/** The parser library's error in this project's words: what stands there, and what to write instead. */
function syntaxError(error: ParseError, source: string): Refusal {
  const offset = Math.min(error.range?.start ?? 0, source.length);
  const limit = /^Exceeded (\w+) \((\d+)\)/.exec(error.summary);
  if (limit !== null) return tooComplex(limit[1] ?? '', limit[2] ?? '', offset);
  if (error.code === 'invalid_macro_argument') return wrongVariable(error, offset);
  return new Refusal('syntax', `${describe(error, source, offset)}.`, offset, hintFor(error, source, offset));
}

/** The first argument of a macro is not a name. */
function wrongVariable({ summary }: ParseError, offset: number): Refusal {
  const name = /^(\w+)\(var/.exec(summary)?.[1] ?? 'bind';
  const { takes, hint } = macroUse(name) ?? { takes: summary, hint: undefined };
  return new Refusal('wrong_arguments', `${takes} The variable is a plain name.`, offset, hint);
}

function describe(error: ParseError, source: string, offset: number): string {
  const found = wordAt(source, offset);
  switch (error.code) {
    case 'expected_token': {
      const [, wanted = '', got = ''] = /^Expected (\w+), got (\w+)/.exec(error.summary) ?? [];
      return `${TOKENS.get(wanted) ?? wanted} should stand here, not ${token(got, source, offset)}`;
    }
    case 'unexpected_token':
    case 'unexpected_character':
      if (source.trim() === '') return 'The expression is empty';
      return found === '' ? 'The expression ends too early' : `${JSON.stringify(found)} cannot stand here`;
    case 'unterminated_string':
    case 'unterminated_triple_quoted_string':
      return 'A string is not closed';
    case 'reserved_identifier':
      return `"${found}" is a reserved word`;
    case 'newline_in_string':
      return 'A string holds a line break';
    default:
      return error.summary.replace(/\.$/, '');
  }
}

const token = (name: string, source: string, offset: number): string =>
  name === 'IDENTIFIER' && wordAt(source, offset) !== ''
    ? `the name "${wordAt(source, offset)}"`
    : (TOKENS.get(name) ?? name);

function hintFor(error: ParseError, source: string, offset: number): string | undefined {
  const word = wordAt(source, offset);
  if (error.code.startsWith('unterminated')) return 'Close it with the quote it began with.';
  if (error.code === 'newline_in_string') return 'Write \\n, or use three quotes.';
  if (error.code === 'invalid_escape_sequence')
    return 'Write \\\\ for a backslash, or put r before the quote: r"\\d".';
  if (error.code === 'reserved_identifier') return `Read it as a key: vars["${word}"].`;
  if (error.code === 'expected_token' && /got IN$/.test(error.summary)) return 'Read it as a key: x["in"].';
  if (
    source
      .slice(0, offset + 1)
      .replace(STRING, '""')
      .includes('{{')
  )
    return 'Names stand without braces here: vars.name, not {{ vars.name }}.';
  return (
    WORDS.get(word) ??
    OPERATORS.find(([written]) =>
      [offset, offset - 1].some((at) => written.test(source.slice(at, at + 2))),
    )?.[1] ??
    NEXT_CHARACTERS.get(source.charAt(offset)) ??
    (BEHIND_NOT.test(source.slice(0, offset)) ? WORDS.get('not') : undefined) ??
    (word === '' ? 'Something is missing at the end.' : undefined)
  );
}

/** The word or the character at `offset`, nothing at the end. */
const wordAt = (source: string, offset: number): string =>
  /^(?:[A-Za-z_][A-Za-z0-9_]*|[\s\S]?)/u.exec(source.slice(offset))?.[0] ?? '';

const LIMITS: ReadonlyMap<string, string> = new Map([
  ['maxAstNodes', 'parts'],
  ['maxDepth', 'levels of nesting'],
  ['maxListElements', 'elements in a list'],
  ['maxMapEntries', 'entries in a map'],
  ['maxCallArguments', 'arguments in a call'],
]);

const tooComplex = (limit: string, most: string, offset: number) =>
  new Refusal(
    'too_complex',
    `The expression has more than ${most} ${LIMITS.get(limit) ?? limit}.`,
    offset,
    'Split it, or compute a part beforehand in a variable or a step.',
  );
