import { checkExpression, type KnownNames } from '../../../expressions/cel/check-expression.ts';
import { parseExpression } from '../../../expressions/cel/parse-expression.ts';
import type { Json } from '../../../lib/json.ts';
import type { Issue } from '../../diagnostic.ts';
import { isMap } from '../plain-values.ts';
import { showValue } from '../show-value.ts';
import { checkEventMatch } from './check-workflow-names.ts';
import { type DocumentNode, errorAt, findCycles, showCycle, textsUnder } from './document-node.ts';

/** Keys whose text is CEL, in which names without a prefix are variables. */
const CEL_KEYS: readonly (string | number | undefined)[] = [
  'if',
  'condition',
  'test',
  'while',
  'until',
  'expression',
];

/**
 * The keys of an approval that decide whether, whom and for how long it asks. The message to the person may contain
 * anything.
 */
export const APPROVAL_DECIDES = ['if', 'condition', 'assignee', 'options', 'timeout', 'on_timeout'];

/**
 * A variable that decides a permission, an approval or a verifier must not be under the model's control: the model may
 * not write it, and it may not be derived, directly or indirectly, from what an agent says or declares.
 */
export function checkGuardedVariables(
  guards: readonly DocumentNode[],
  what: string,
  variables: readonly DeclaredVariable[],
): readonly Issue[] {
  return checkGuards(guards, what, modelControlled(variables));
}

/** The same, given the names under the model's control, each with the reason. */
export function checkGuards(
  guards: readonly DocumentNode[],
  what: string,
  controlled: ReadonlyMap<string, string>,
): readonly Issue[] {
  return guards.flatMap((guard) =>
    [...textsUnder(guard)].flatMap(([text, place]) =>
      [...new Set(namesIn(text, place))].flatMap((name) => {
        const why = controlled.get(name);
        if (why === undefined) return [];
        const message = `The variable "${name}" is used by ${what}, and ${why}.`;
        const hint = 'Add "writers: [workflow, user]" to it, or use another variable.';
        return [errorAt(place, 'model_controlled', message, { hint })];
      }),
    ),
  );
}

function namesIn(text: string, place: DocumentNode): readonly string[] {
  return CEL_KEYS.includes(place.path.at(-1)) ? variablesRead(text) : variablesMentioned(text);
}

/**
 * The variables under the model's control, each with the reason: those that it writes, then those derived from them.
 */
function modelControlled(variables: readonly DeclaredVariable[]): ReadonlyMap<string, string> {
  const why = new Map<string, string>();
  const readers = new Map<string, string[]>();
  for (const variable of variables) {
    const direct = directControl(variable);
    if (direct !== undefined) why.set(variable.name, direct);
    for (const read of variablesRead(variable.node.at('expression').text() ?? ''))
      readers.set(read, [...(readers.get(read) ?? []), variable.name]);
  }
  const waiting = [...why.keys()];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    for (const reader of readers.get(name) ?? []) {
      if (why.has(reader)) continue;
      why.set(reader, `it is derived from "${name}": ${why.get(name)?.split('": ').at(-1)}`);
      waiting.push(reader);
    }
  }
  return why;
}

/** Events that contain a model's own words. */
const OF_A_MODEL =
  /^(?:child\.)?(?:thought|text|response|model\.output|action\.declared|metadata\.changed|metadata\.rejected|variable\.changed)$/;

/** Types of triggers that fire on an event, and the key that names the event. */
const BEGINS: ReadonlyMap<string, string> = new Map([
  ['event', 'event'],
  ['timer_expired', 'since'],
]);

function directControl({ node, class: kind }: DeclaredVariable): string | undefined {
  if (kind !== 'derived') {
    const writers = node.at('writers').value;
    if (writers === undefined) return 'the model may write it, because it has no "writers"';
    return Array.isArray(writers) && writers.includes('model') ? 'the model may write it' : undefined;
  }
  const types = triggersOf(node).map((trigger) => trigger.at('type').text());
  if (types.includes('agent_text')) return "it is derived from an agent's text";
  const said = triggersOf(node)
    .map((trigger) => trigger.at(BEGINS.get(trigger.at('type').text() ?? '') ?? '').text() ?? '')
    .find((event) => OF_A_MODEL.test(event));
  if (said !== undefined) return `it is derived from the event ${said}, which a model can cause`;
  const readsMetadata = variablesRead(node.at('expression').text() ?? '').includes('metadata');
  return types.includes('metadata_match') || readsMetadata
    ? 'it is derived from metadata, which the model declares'
    : undefined;
}

export const VARIABLE_CLASSES = ['defined', 'runtime', 'derived'] as const;

export const MAX_VARIABLES = 500;

export interface DeclaredVariable {
  readonly name: string;
  readonly class: (typeof VARIABLE_CLASSES)[number];
  readonly node: DocumentNode;
}

export function declaredVariables(contextVariables: DocumentNode): readonly DeclaredVariable[] {
  return VARIABLE_CLASSES.flatMap((kind) =>
    contextVariables
      .at(kind)
      .items()
      .slice(0, MAX_VARIABLES)
      .flatMap((node) => {
        const name = node.at('name').text();
        return name === undefined ? [] : [{ name, class: kind, node }];
      }),
  );
}

/** Every trigger that sets or resets a derived variable. */
export function triggersOf(variable: DocumentNode): readonly DocumentNode[] {
  const triggers = variable.at('triggers').items();
  return [
    ...triggers,
    ...triggers.flatMap((trigger) => trigger.at('reset_on').items()),
    ...variable.at('reset_on').items(),
  ];
}

/** Names declared twice, defaults of the wrong type, and variables that define each other. */
export function checkVariables(contextVariables: DocumentNode): readonly Issue[] {
  const variables = declaredVariables(contextVariables);
  const count = VARIABLE_CLASSES.reduce((sum, kind) => sum + contextVariables.at(kind).items().length, 0);
  if (count > MAX_VARIABLES)
    return [
      errorAt(
        contextVariables,
        'too_many',
        `There are ${count} context variables, but at most ${MAX_VARIABLES} are allowed.`,
        { hint: 'Combine related variables into one of type object.', at: 'key' },
      ),
    ];
  return [
    ...checkUnique(
      variables.map(({ node }) => node.at('name')),
      'context variables',
    ),
    ...variables.flatMap(checkReserved),
    ...variables.flatMap(checkDefault),
    ...variables.flatMap(({ node }) => triggersOf(node).flatMap(checkEventMatch)),
    ...checkExpressionCycles(variables),
  ];
}

/** Names that already mean something else in CEL. */
export const RESERVED: readonly string[] = [
  'agent',
  'trigger',
  'steps',
  'vars',
  'input',
  'run',
  'item',
  'metadata',
  'actions',
  'true',
  'false',
  'null',
  'in',
];

function checkReserved({ name, node }: DeclaredVariable): readonly Issue[] {
  if (!RESERVED.includes(name)) return [];
  const hint = `These names are reserved in conditions: ${RESERVED.join(', ')}.`;
  return [errorAt(node.at('name'), 'reserved_name', `A variable cannot be named "${name}".`, { hint })];
}

function checkDefault({ node }: DeclaredVariable): readonly Issue[] {
  const type = node.at('type').text();
  const given = node.at('default');
  if (given.value === undefined || given.value === null || type === undefined || fits(given.value, type))
    return [];
  const message = `The default ${showValue(given.value)} is not of type ${type}.`;
  return [errorAt(given, 'bad_default', message, { hint: 'Correct it, or remove it.' })];
}

function fits(value: Json, type: string): boolean {
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    case 'object':
      return isMap(value);
    case 'array':
      return Array.isArray(value);
    default:
      return true;
  }
}

function checkExpressionCycles(variables: readonly DeclaredVariable[]): readonly Issue[] {
  const derived = new Map(
    variables.filter((variable) => variable.class === 'derived').map((each) => [each.name, each]),
  );
  const graph = new Map(
    [...derived].map(([name, { node }]) => [name, variablesRead(node.at('expression').text() ?? '')]),
  );
  return findCycles(graph).flatMap((cycle) => {
    const first = derived.get(cycle[0] ?? '');
    if (first === undefined) return [];
    const message = `These derived variables define each other in a cycle: ${showCycle(cycle)}.`;
    return [
      errorAt(first.node.at('expression'), 'cycle', message, {
        hint: 'Break the cycle: use triggers for one of them.',
      }),
    ];
  });
}

/** An error for each repeated name. `what` is what has the name ("step"). */
export function checkUnique(names: readonly DocumentNode[], what: string): readonly Issue[] {
  const first = new Map<string, DocumentNode>();
  const issues: Issue[] = [];
  for (const place of names) {
    const name = place.text();
    if (name === undefined) continue;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, place);
    else
      issues.push(
        errorAt(place, 'duplicate', `There are two ${what} named "${name}".`, {
          hint: `The first is at ${showPath(earlier.path.slice(0, -1))}. Rename this one.`,
        }),
      );
  }
  return issues;
}

/** `steps[2].body[0]`. */
const showPath = (path: readonly (string | number)[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('') || 'the top';

/** The names in the CEL at `place` that will not exist. Empty if the CEL cannot be parsed. */
export function checkNames(place: DocumentNode, known: KnownNames): readonly Issue[] {
  const source = place.text();
  if (source === undefined) return [];
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  return checkExpression(parsed.value, known).map(({ message, hint, offset }) =>
    errorAt(place, 'unknown_name', message, { hint, offset }),
  );
}

/** The context variables that a CEL expression reads, bare or as `vars.NAME`. */
function variablesRead(source: string): readonly string[] {
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  return parsed.value.names.flatMap(({ root, path: [member] }) =>
    root === 'vars' ? (typeof member === 'string' ? [member] : []) : [root],
  );
}

/** The variables that a text refers to as `$name` or `${vars.name}`. */
function variablesMentioned(text: string): readonly string[] {
  return [...text.matchAll(/(?<!\$)\$(?:\{\s*(?:vars\.)?([A-Za-z_]\w*)|([A-Za-z_]\w*))/g)].map(
    ([, inBraces, bare]) => inBraces ?? bare ?? '',
  );
}
