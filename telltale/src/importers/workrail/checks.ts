import type { Json, JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { createNames, identifierOf } from '../names.ts';
import { CHECKS_SOURCE, KNOWN_KEYWORDS } from './checks-source.ts';
import type { Condition } from './shape-condition.ts';
import type { Criteria, Criterion, Rule } from './shape-criteria.ts';

/** The artifact that judges the notes of steps by their criteria, one method a step. */
export interface Checks {
  /** The method that judges a step. */
  add(step: string, criteria: readonly CheckedCriterion[]): string;
  /** Undefined where no step is judged. */
  manifest(name: string, workflow: string): JsonObject | undefined;
}

type CheckedCriterion = JsonObject;

export function createChecks(): Checks {
  const names = createNames('_');
  const methods = new Map<
    string,
    { readonly step: string; readonly criteria: readonly CheckedCriterion[] }
  >();
  return {
    add(step, criteria) {
      const method = names.take(`check_${identifierOf(step)}`);
      methods.set(method, { step, criteria });
      return method;
    },
    manifest(name, workflow) {
      if (methods.size === 0) return undefined;
      const each = [...methods];
      const functions = each.map(
        ([method, { criteria }]) =>
          `export function ${method}(context) {\n  return judge(${indented(criteria)}, context);\n}\n`,
      );
      return {
        kind: 'Artifact',
        name,
        description: `Judges the notes of steps of ${workflow} by the criteria that it had in WorkRail.`,
        methods: Object.fromEntries(
          each.map(([method, { step }]) => [
            method,
            { description: `Whether the notes of ${step} will do.` },
          ]),
        ),
        source: `${functions.join('\n')}\n${CHECKS_SOURCE}`,
      };
    },
  };
}

/** A `${` in it would be taken for a variable of the environment when the manifest is loaded. */
const indented = (value: Json): string =>
  JSON.stringify(value, null, 2).replaceAll('\n', '\n  ').replaceAll('${', '$\\u007b');

export interface ReadCriteria {
  readonly criteria: readonly CheckedCriterion[];
  /** What the agent is told beforehand. */
  readonly messages: readonly string[];
  /** Rules that cannot be judged, and why. */
  readonly refused: readonly string[];
  /** What counts for nothing, there as here. */
  readonly ignored: readonly string[];
}

/** Criteria in the one form that the artifact knows, without what it could not judge. */
export function readCriteria(written: Criteria, named: (variable: string) => string): ReadCriteria {
  const messages: string[] = [];
  const refused: string[] = [];
  const ignored: string[] = [];
  const all = (criteria: readonly Criterion[]): readonly CheckedCriterion[] =>
    criteria.flatMap((each) => one(each));
  const one = (criterion: Criterion): readonly CheckedCriterion[] => {
    const rule = typeof criterion === 'string' ? patternRule(criterion) : criterion;
    if ('type' in rule) {
      const problem = problemOf(rule);
      if (problem === undefined) messages.push(messageOf(rule));
      else refused.push(problem);
      const { condition: when } = rule;
      if (typeof when === 'string')
        ignored.push(`the condition "${when}" is text, which WorkRail takes no notice of`);
      const condition = typeof when === 'object' ? renamed(when, named) : undefined;
      return problem === undefined ? [plain({ ...rule, condition, message: messageOf(rule) })] : [];
    }
    if (rule.and !== undefined) return [{ and: all(rule.and) }];
    if (rule.or !== undefined) return [{ or: all(rule.or) }];
    const [inner] = rule.not === undefined ? [] : silent(() => one(rule.not as Criterion));
    return inner === undefined ? [] : [{ not: inner }];
  };
  /** What must not be is not what the agent is asked for. */
  const silent = <T>(make: () => T): T => {
    const before = messages.length;
    const made = make();
    const not = messages.splice(before).map((message) => `Not this: ${message}`);
    messages.push(...not);
    return made;
  };
  const criteria = all(Array.isArray(written) ? (written as readonly Criterion[]) : [written as Criterion]);
  return { criteria, messages, refused, ignored };
}

/** The condition, with its variables under the names that they have here. */
const renamed = (condition: Condition, named: (variable: string) => string): Condition => ({
  ...condition,
  ...(condition.var === undefined ? {} : { var: named(condition.var) }),
  ...(condition.and === undefined ? {} : { and: condition.and.map((each) => renamed(each, named)) }),
  ...(condition.or === undefined ? {} : { or: condition.or.map((each) => renamed(each, named)) }),
  ...(condition.not === undefined ? {} : { not: renamed(condition.not, named) }),
});

const patternRule = (pattern: string): Rule => ({ type: 'regex', pattern });

const messageOf = ({ type, message, value, pattern, min, max }: Rule): string => {
  if (message !== undefined && message !== '') return message;
  switch (type) {
    case 'contains':
      return `It contains "${value}".`;
    case 'regex':
      return `It matches /${pattern}/.`;
    case 'length':
      return `It has ${min === undefined ? '' : `at least ${min}`}${min !== undefined && max !== undefined ? ' and ' : ''}${max === undefined ? '' : `at most ${max}`} characters.`;
    case 'schema':
      return 'It is JSON of the schema that is asked for.';
  }
};

function problemOf({ type, value, pattern, flags, schema, condition }: Rule): string | undefined {
  const bad = typeof condition === 'object' ? badPattern(condition) : undefined;
  if (bad !== undefined) return `the condition of a rule has ${bad}`;
  switch (type) {
    case 'contains':
      return value === undefined ? 'a rule "contains" has no "value"' : undefined;
    case 'length':
      return undefined;
    case 'regex':
      if (pattern === undefined) return 'a rule "regex" has no "pattern"';
      return isPattern(pattern, flags) ? undefined : `/${pattern}/${flags ?? ''} is not a regular expression`;
    case 'schema': {
      if (schema === undefined) return 'a rule "schema" has no "schema"';
      const unknown = [...new Set(keywords(schema))].filter((each) => !KNOWN_KEYWORDS.has(each));
      return unknown.length === 0 ? undefined : `its schema uses ${unknown.join(', ')}`;
    }
  }
}

const badPattern = (condition: Condition): string | undefined => {
  const { matches, and = [], or = [], not } = condition;
  if (matches !== undefined && !isPattern(matches)) return `/${matches}/, which is not a regular expression`;
  return [...and, ...or, ...(not === undefined ? [] : [not])]
    .map(badPattern)
    .find((each) => each !== undefined);
};

function isPattern(pattern: string, flags?: string): boolean {
  try {
    new RegExp(pattern, flags);
    return true;
  } catch {
    return false;
  }
}

function keywords(schema: JsonObject): readonly string[] {
  const { properties, items } = schema;
  const inner = [...(isMap(properties) ? Object.values(properties) : []), ...(isMap(items) ? [items] : [])];
  return [
    ...Object.keys(schema),
    ...inner.flatMap((each) => (isMap(each) ? keywords(each as JsonObject) : [])),
  ];
}

/** Without what is undefined. */
const plain = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
