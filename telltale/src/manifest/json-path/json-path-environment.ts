import type { JSONPathEnvironment } from 'json-p3';
import { compilePattern, type Pattern } from '../../conditions/linear-regex.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { jsonP3 } from './json-p3.ts';

const MAX_PATTERNS = 32;
/** Characters times instructions of all patterns of one search: 2 s at the very worst. */
const MAX_PATTERN_WORK = 16_777_216;

/** The functions that take a pattern, and what they make of it. */
export const PATTERN_FUNCTIONS: ReadonlyMap<string, (pattern: string) => string> = new Map([
  ['match', (pattern) => `\\A(?:${pattern})\\z`],
  ['search', (pattern) => pattern],
]);

/** Of one path. The library's own `match` and `search` run JavaScript's regular expressions, which can hang. */
export function createEnvironment(): JSONPathEnvironment {
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
