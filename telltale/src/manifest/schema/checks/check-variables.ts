import type { Json } from '../../../kernel/json.ts';
import type { Issue } from '../../issue.ts';
import { isMap } from '../is-map.ts';
import { showValue } from '../show-value.ts';
import { checkEventMatch } from './check-event-match.ts';
import { variablesRead } from './check-names.ts';
import { checkUnique } from './check-unique.ts';
import { type DocumentNode, errorAt } from './document-node.ts';
import { findCycles, showCycle } from './find-cycles.ts';

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

/** Everything that sets or resets a derived variable. */
export function triggersOf(variable: DocumentNode): readonly DocumentNode[] {
  const triggers = variable.at('triggers').items();
  return [
    ...triggers,
    ...triggers.flatMap((trigger) => trigger.at('reset_on').items()),
    ...variable.at('reset_on').items(),
  ];
}

/** Names declared twice, defaults of the wrong type, variables that define each other. */
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

/** Bare names in CEL that mean something else already. */
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
