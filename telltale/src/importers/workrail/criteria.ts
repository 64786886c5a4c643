import type { Json, JsonObject } from '../../lib/json.ts';
import { createNames, identifierOf } from '../names.ts';
import type { Criteria, Criterion, Rule } from './workflow-schema.ts';

/** The artifact that judges the notes of steps by their criteria. Each step with criteria has a method. */
export class Checks {
  readonly name: string;
  readonly #names = createNames('_');
  readonly #methods: Record<string, JsonObject> = {};
  readonly #functions: string[] = [];

  constructor(workflow: string) {
    this.name = `${workflow}-checks`;
  }

  /** The method that judges a step. */
  add(step: string, criteria: readonly JsonObject[]): string {
    const method = this.#names.take(`check_${identifierOf(step)}`);
    this.#methods[method] = { description: `Whether the notes of ${step} meet its criteria.` };
    const body = `return judge(${sourceOf(criteria)}, context);`;
    this.#functions.push(`export function ${method}(context) {\n  ${body}\n}\n`);
    return method;
  }

  /** Undefined if no step has criteria. */
  manifest(workflow: string): JsonObject | undefined {
    if (this.#functions.length === 0) return undefined;
    const description = `Judges the notes of steps of ${workflow} by the criteria that it had in WorkRail.`;
    const source = `${this.#functions.join('\n')}\n${CHECKS_SOURCE}`;
    return { kind: 'Artifact', name: this.name, description, methods: this.#methods, source };
  }
}

/** The value in JavaScript. `${` is escaped, because a manifest would read an environment variable there. */
const sourceOf = (value: Json): string =>
  JSON.stringify(value, null, 2).replaceAll('\n', '\n  ').replaceAll('${', '$\\u007b');

interface CriteriaNames {
  variable(name: string): string;
  /** Called with rules that WorkRail reads in another way than it looks, and with those that cannot be checked. */
  note(outcome: 'changed' | 'left', how: string): void;
}

/** Criteria in the form that the artifact reads: each with a message, and without rules that it cannot check. */
export const readCriteria = (written: Criteria, names: CriteriaNames): readonly Checked[] =>
  (Array.isArray(written) ? written : [written]).flatMap((each: Criterion) => readCriterion(each, names));

export type Checked = JsonObject & { readonly message: string };

function readCriterion(criterion: Criterion, names: CriteriaNames): readonly Checked[] {
  if (typeof criterion === 'string') return readRule({ type: 'regex', pattern: criterion }, names);
  if ('type' in criterion) return readRule(criterion, names);
  const { and, or, not = [] } = criterion;
  const inner = readCriteria(and ?? or ?? [not].flat(), names);
  if (inner.length === 0) return [];
  const messages = inner.map(({ message }) => message);
  if (and !== undefined) return [{ and: inner, message: messages.join(' ') }];
  if (or !== undefined) return [{ or: inner, message: `One of these: ${messages.join(' Or: ')}` }];
  return [{ not: inner, message: `Not this: ${messages.join(' ')}` }];
}

/** The key that a rule of each type needs. */
const NEEDED = { contains: 'value', regex: 'pattern', length: 'type', schema: 'schema' } as const;

function readRule(rule: Rule, { variable, note }: CriteriaNames): readonly Checked[] {
  const { type, condition } = rule;
  if (typeof condition === 'string')
    note('changed', `the condition "${condition}" is text, which WorkRail takes no notice of`);
  const needed = NEEDED[type];
  if (type === 'schema') note('left', 'no schema is checked: let the step require a key with this schema');
  else if (rule[needed] === undefined) note('left', `a rule "${type}" has no "${needed}"`);
  if (type === 'schema' || rule[needed] === undefined) return [];
  const checked = { ...rule, condition: typeof condition === 'object' ? condition : undefined };
  // The artifact reads variables by their names here.
  const named = JSON.stringify({ ...checked, message: messageOf(rule) });
  return [JSON.parse(named, (key, each) => (key === 'var' ? variable(each) : each)) as Checked];
}

function messageOf({ type, message, value, pattern, min = 0, max }: Rule): string {
  if (message !== undefined && message !== '') return message;
  if (type === 'contains') return `It contains "${value}".`;
  if (type === 'regex') return `It matches /${pattern}/.`;
  return `It has at least ${min}${max === undefined ? '' : ` and at most ${max}`} characters.`;
}

/** The part of the artifact that is the same for every workflow: it judges notes by WorkRail's criteria. */
export const CHECKS_SOURCE = `function judge(criteria, { judged, variables }) {
  const all = { ...variables, ...judged.context_updates };
  const wrong = criteria.filter((each) => !passes(each, judged.notes ?? '', all)).map(({ message }) => message);
  if (wrong.length === 0) return { assessment: 'pass', reasoning: 'The notes meet all criteria.' };
  const reasoning = wrong.join(' ');
  const instruction = 'Complete the step again with notes that meet this: ' + reasoning;
  return { assessment: 'retry', reasoning, instruction };
}

function passes(rule, notes, variables) {
  const inner = (each) => passes(each, notes, variables);
  if (rule.and) return rule.and.every(inner);
  if (rule.or) return rule.or.some(inner);
  if (rule.not) return !rule.not.every(inner);
  if (rule.condition && !holds(rule.condition, variables)) return true;
  if (rule.type === 'contains') return notes.includes(rule.value);
  if (rule.type === 'regex') return new RegExp(rule.pattern, rule.flags).test(notes);
  return notes.length >= (rule.min ?? 0) && notes.length <= (rule.max ?? Infinity);
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
`;
