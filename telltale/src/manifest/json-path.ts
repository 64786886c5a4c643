import { createRequire } from 'node:module';
import type { JSONPathEnvironment, JSONPathQuery, jsonpath } from 'json-p3';
import { compilePattern, type Pattern } from '../expressions/linear-regex.ts';
import { err, ok, type Result, RuntimeError } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { quoted } from './diagnostic.ts';

const MAX_PATH_LENGTH = 512;

const EXAMPLES = 'Write it like $.items[*].name or $.items[?@.level == "error"] (RFC 9535).';

/** Parses a JSONPath (RFC 9535) for one search. Checks the syntax, functions, patterns, and the cost of a search. */
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
  // The library appends the part of the path and its offset to the message.
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

/** The path that a common mistake was meant to be: without the "$", or with spaces around it. */
function slip(path: string): string | undefined {
  const trimmed = path.trim();
  const meant = /^[$]/.test(trimmed) ? trimmed : `$${/^[.[]/.test(trimmed) ? '' : '.'}${trimmed}`;
  return meant !== path && parseJsonPath(meant).ok ? `Did you mean ${quoted(meant)}?` : undefined;
}

const MAX_SEGMENTS = 16;
/** How often one step may visit a value: `[*, *]` visits each value twice, and so does the next step. */
const MAX_WIDTH = 4;
const MAX_FILTER_DEPTH = 4;

type JsonPathExpression = InstanceType<typeof jsonpath.expressions.FilterExpression>;

type JsonPathFunctionCall = InstanceType<typeof jsonpath.expressions.FunctionExtension>;

type Refuse = (why: string, offset: number, hint?: string) => JsonPathRefusal;

interface Cost {
  readonly refuse: Refuse;
  descents: number;
  width: number;
}

/**
 * Refuses a path whose search takes more than linear time: `..` twice, a search of the whole value in each filter, or
 * the same values repeatedly. The library would search for hours. Literal patterns are parsed too.
 */
function checkCost(query: JSONPathQuery, refuse: Refuse): void {
  checkQuery(query, { refuse, descents: 0, width: 1 }, 0);
}

function checkQuery({ segments }: JSONPathQuery, cost: Cost, depth: number): void {
  const first = segments[0]?.token.index ?? 0;
  if (depth > MAX_FILTER_DEPTH)
    throw cost.refuse(`has filters nested deeper than ${MAX_FILTER_DEPTH}`, first);
  const tooMany = segments[MAX_SEGMENTS];
  if (tooMany !== undefined) throw cost.refuse(`has more than ${MAX_SEGMENTS} steps`, tooMany.token.index);
  const { FilterSelector } = jsonP3().jsonpath.selectors;
  for (const segment of segments) {
    const { index } = segment.token;
    const descends = segment.toString().startsWith('..');
    if (descends && depth > 0) throw cost.refuse('has ".." inside a filter', index);
    if (descends && ++cost.descents > 1) throw cost.refuse('has ".." more than once', index);
    const wide = segment.selectors.filter((selector) => !isSingle(selector)).length;
    cost.width *= Math.max(1, wide);
    if (cost.width > MAX_WIDTH || segment.selectors.length > MAX_SEGMENTS)
      throw cost.refuse('selects the same values again and again', index);
    for (const selector of segment.selectors)
      if (selector instanceof FilterSelector) checkFilter(selector.expression, cost, depth);
  }
}

function isSingle(selector: unknown): boolean {
  const { NameSelector, IndexSelector } = jsonP3().jsonpath.selectors;
  return selector instanceof NameSelector || selector instanceof IndexSelector;
}

function checkFilter(expression: JsonPathExpression, cost: Cost, depth: number): void {
  const { expressions } = jsonP3().jsonpath;
  const { index } = expression.token;
  if (expression instanceof expressions.LogicalExpression) checkFilter(expression.expression, cost, depth);
  else if (expression instanceof expressions.PrefixExpression) checkFilter(expression.right, cost, depth);
  else if (expression instanceof expressions.InfixExpression) {
    const { left, right, logical } = expression;
    // This would compare two parts of the whole value again for each filtered value.
    if (!logical && isRoot(left) && isRoot(right))
      throw cost.refuse('has a filter that does not use the value it filters (@)', index);
    for (const side of [left, right]) if (logical || !isSingularRoot(side)) checkFilter(side, cost, depth);
  } else if (expression instanceof expressions.FunctionExtension) {
    const isPattern = PATTERN_FUNCTIONS.has(expression.name);
    checkPattern(expression, cost);
    for (const argument of expression.args)
      if (!isPattern || !isSingularRoot(argument)) checkFilter(argument, cost, depth);
  } else if (isRoot(expression)) throw cost.refuse('searches the whole value inside a filter', index);
  else if (expression instanceof expressions.RelativeQuery && !expression.path.singularQuery())
    checkQuery(expression.path, cost, depth + 1);
}

/** A pattern inside the value is checked when the path runs. */
function checkPattern({ name, args }: JsonPathFunctionCall, { refuse }: Cost): void {
  const sourceOf = PATTERN_FUNCTIONS.get(name);
  const pattern = args[1];
  if (sourceOf === undefined || !(pattern instanceof jsonP3().jsonpath.expressions.StringLiteral)) return;
  const compiled = compilePattern(sourceOf(pattern.value));
  if (!compiled.ok)
    throw refuse(
      `has a pattern that cannot be used: ${lowerFirst(compiled.error.message)}`,
      pattern.token.index,
      compiled.error.hint,
    );
}

const isRoot = (
  expression: JsonPathExpression,
): expression is InstanceType<typeof jsonpath.expressions.RootQuery> =>
  expression instanceof jsonP3().jsonpath.expressions.RootQuery;

const isSingularRoot = (expression: JsonPathExpression): boolean =>
  isRoot(expression) && expression.path.singularQuery();

const lowerFirst = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1).replace(/\.$/, '')}`;

/** What is wrong with a JSONPath. */
export interface JsonPathIssue {
  readonly message: string;
  readonly hint: string;
  /** The offset in the path. */
  readonly offset: number;
}

/** Thrown while a path is checked, and caught where the check started. */
class JsonPathRefusal extends Error {
  readonly issue: JsonPathIssue;

  constructor(issue: JsonPathIssue) {
    super(issue.message);
    this.issue = issue;
  }
}

const MAX_PATTERNS = 32;
/** The limit for characters times instructions of all patterns in one search: 2 s at worst. */
const MAX_PATTERN_WORK = 16_777_216;

/** The functions with a pattern, and how they convert it. */
const PATTERN_FUNCTIONS: ReadonlyMap<string, (pattern: string) => string> = new Map([
  ['match', (pattern) => `\\A(?:${pattern})\\z`],
  ['search', (pattern) => pattern],
]);

/** For one path. The library's own `match` and `search` use JavaScript's regular expressions, which can hang. */
function createEnvironment(): JSONPathEnvironment {
  const { JSONPathEnvironment: Environment, jsonpath } = jsonP3();
  const environment = new Environment();
  const patterns = new Map<string, Pattern>();
  const patternOf = (source: string): Pattern => {
    const known = patterns.get(source);
    if (known !== undefined) return known;
    const result = compilePattern(source);
    if (!result.ok) throw new RuntimeError('bad_pattern', result.error.message, { hint: result.error.hint });
    if (patterns.size === MAX_PATTERNS) patterns.clear();
    patterns.set(source, result.value);
    return result.value;
  };
  let work = 0;
  const test = (text: string, source: string): boolean => {
    const pattern = patternOf(source);
    work += (text.length + 1) * pattern.programSize;
    if (work > MAX_PATTERN_WORK) throw tooMuchWork(source);
    return pattern.test(text);
  };
  const { LogicalType, ValueType } = jsonpath.FunctionExpressionType;
  for (const [name, sourceOf] of PATTERN_FUNCTIONS)
    environment.functionRegister.set(name, {
      argTypes: [ValueType, ValueType],
      returnType: LogicalType,
      call: (text: unknown, pattern: unknown) =>
        typeof text === 'string' && typeof pattern === 'string' && test(text, sourceOf(pattern)),
    });
  return environment;
}

const tooMuchWork = (source: string) =>
  new RuntimeError(
    'bad_pattern',
    `Searching for "${source.slice(0, 100)}" on all values would take too long.`,
    {
      hint: 'Take a part of the value first (head, tail), or use a smaller pattern.',
    },
  );

const load = createRequire(import.meta.url);

type JsonP3 = typeof import('json-p3');

/** Loaded with the first path, because few manifests have one. */
const jsonP3 = (): JsonP3 => load('json-p3') as JsonP3;
