import type { Json, JsonObject } from '../../lib/json.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { createNames, identifierOf } from '../names.ts';
import type { Criteria, Criterion, Rule, ShapeCondition } from './shape.ts';

/** The artifact that judges the notes of steps by their criteria, one method a step. */
export class Checks {
  readonly #names = createNames('_');
  readonly #methods = new Map<string, { readonly step: string; readonly criteria: readonly JsonObject[] }>();

  /** The method that judges a step. */
  add(step: string, criteria: readonly JsonObject[]): string {
    const method = this.#names.take(`check_${identifierOf(step)}`);
    this.#methods.set(method, { step, criteria });
    return method;
  }

  /** Undefined where no step is judged. */
  manifest(name: string, workflow: string): JsonObject | undefined {
    if (this.#methods.size === 0) return undefined;
    const each = [...this.#methods];
    const functions = each.map(
      ([method, { criteria }]) =>
        `export function ${method}(context) {\n  return judge(${indented(criteria)}, context);\n}\n`,
    );
    const methods = each.map(([method, { step }]) => [
      method,
      { description: `Whether the notes of ${step} will do.` },
    ]);
    return {
      kind: 'Artifact',
      name,
      description: `Judges the notes of steps of ${workflow} by the criteria that it had in WorkRail.`,
      methods: Object.fromEntries(methods),
      source: `${functions.join('\n')}\n${CHECKS_SOURCE}`,
    };
  }
}

/** A `${` in it would be taken for a variable of the environment when the manifest is loaded. */
const indented = (value: Json): string =>
  JSON.stringify(value, null, 2).replaceAll('\n', '\n  ').replaceAll('${', '$\\u007b');

interface ReadCriteria {
  readonly criteria: readonly JsonObject[];
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
  const all = (criteria: readonly Criterion[]): readonly JsonObject[] =>
    criteria.flatMap((each) => one(each));
  const one = (criterion: Criterion): readonly JsonObject[] => {
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
const renamed = (condition: ShapeCondition, named: (variable: string) => string): ShapeCondition => ({
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

const badPattern = (condition: ShapeCondition): string | undefined => {
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

/**
 * The part of the checking artifact that is the same for every workflow: judges notes by WorkRail's criteria. Plain
 * JavaScript for the sandbox, kept small so that whoever imports a workflow can read it.
 */
export const CHECKS_SOURCE = `function judge(criteria, { judged, variables }) {
  const notes = judged.notes ?? '';
  const wrong = faults(criteria, notes, { ...variables, ...judged.context_updates });
  if (wrong.length === 0) return { assessment: 'pass', reasoning: 'The notes are as they must be.' };
  return {
    assessment: 'retry',
    reasoning: wrong.join(' '),
    instruction: 'Complete the step again with notes that meet this: ' + wrong.join(' '),
  };
}

// What is wrong with the notes: nothing where they meet the criteria, or where these do not apply.
function faults(criteria, notes, variables) {
  if (Array.isArray(criteria)) return criteria.flatMap((each) => faults(each, notes, variables));
  if (criteria.and) return faults(criteria.and, notes, variables);
  if (criteria.or) {
    const all = criteria.or.map((each) => faults(each, notes, variables));
    return all.some((each) => each.length === 0) ? [] : ['One of these: ' + all.flat().join(' Or: ')];
  }
  if (criteria.not)
    return faults(criteria.not, notes, variables).length > 0 ? [] : ['Not this: ' + said(criteria.not)];
  if (criteria.condition && !holds(criteria.condition, variables)) return [];
  return meets(criteria, notes) ? [] : [said(criteria)];
}

function said(criteria) {
  if (Array.isArray(criteria)) return criteria.map(said).join(' ');
  return criteria.message ?? JSON.stringify(criteria.and ?? criteria.or ?? criteria.not ?? criteria);
}

function meets(rule, notes) {
  switch (rule.type) {
    case 'contains':
      return notes.includes(rule.value);
    case 'regex':
      return new RegExp(rule.pattern, rule.flags).test(notes);
    case 'length':
      return notes.length >= (rule.min ?? 0) && notes.length <= (rule.max ?? Infinity);
    case 'schema':
      try {
        return fits(rule.schema, JSON.parse(notes));
      } catch {
        return false;
      }
  }
}

function holds(condition, variables) {
  if (condition.and) return condition.and.every((each) => holds(each, variables));
  if (condition.or) return condition.or.some((each) => holds(each, variables));
  if (condition.not) return !holds(condition.not, variables);
  const value = variables[condition.var] ?? null;
  const text = value === null ? '' : String(value).trim().toLowerCase();
  const has = (key) => condition[key] !== undefined;
  const number = typeof value === 'number';
  if (has('equals')) return alike(value, condition.equals);
  if (has('not_equals')) return !alike(value, condition.not_equals);
  if (has('gt')) return number && value > condition.gt;
  if (has('gte')) return number && value >= condition.gte;
  if (has('lt')) return number && value < condition.lt;
  if (has('lte')) return number && value <= condition.lte;
  if (has('contains')) return text.includes(condition.contains.trim().toLowerCase());
  if (has('startsWith')) return text.startsWith(condition.startsWith.trim().toLowerCase());
  if (has('endsWith')) return text.endsWith(condition.endsWith.trim().toLowerCase());
  if (has('matches')) return new RegExp(condition.matches, 'i').test(value === null ? '' : String(value).trim());
  if (has('in')) return condition.in.some((each) => alike(value, each));
  return Boolean(value);
}

// "Large " is "large", the text "3" is 3, and "yes" is true.
function alike(a, b) {
  if (a === null || b === null) return a === b;
  if (typeof a === 'string' && typeof b === 'string') return a.trim().toLowerCase() === b.trim().toLowerCase();
  if (typeof b === 'string') return typeof a === 'string' ? false : alike(b, a);
  if (typeof a === 'string' && typeof b === 'number') return a.trim() !== '' && Number(a) === b;
  if (typeof a === 'string' && typeof b === 'boolean')
    return (b ? ['true', '1', 'yes'] : ['false', '0', 'no']).includes(a.trim().toLowerCase());
  return a === b;
}

// The keywords of JSON Schema that WorkRail's rules use.
function fits(schema, value) {
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [schema.type ?? []].flat();
  const isType = (each) => each === type || (each === 'integer' && Number.isInteger(value));
  if (types.length > 0 && !types.some(isType)) return false;
  if (schema.enum && !schema.enum.some((each) => JSON.stringify(each) === JSON.stringify(value))) return false;
  if (schema.const !== undefined && JSON.stringify(schema.const) !== JSON.stringify(value)) return false;
  if (type === 'string')
    return (
      value.length >= (schema.minLength ?? 0) &&
      value.length <= (schema.maxLength ?? Infinity) &&
      (schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value))
    );
  if (type === 'number') return value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity);
  if (type === 'array')
    return (
      value.length >= (schema.minItems ?? 0) &&
      value.length <= (schema.maxItems ?? Infinity) &&
      value.every((each) => fits(schema.items ?? {}, each))
    );
  if (type !== 'object') return true;
  const known = schema.properties ?? {};
  return (
    (schema.required ?? []).every((key) => Object.hasOwn(value, key)) &&
    Object.entries(value).every(([key, each]) =>
      Object.hasOwn(known, key) ? fits(known[key], each) : schema.additionalProperties !== false,
    )
  );
}
`;

/** The keywords that `fits` above knows. */
const KNOWN_KEYWORDS: ReadonlySet<string> = new Set(
  (
    'type enum const minLength maxLength pattern minimum maximum minItems maxItems items properties required ' +
    'additionalProperties title description $schema'
  ).split(' '),
);
