import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import { parseTemplate } from '../../../conditions/templates/parse-template.ts';
import { likeliest, nearest, suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { STEP_CONDITIONS } from '../steps/step-common.ts';
import { AGENT_MEMBERS } from './agent-members.ts';
import { type DocumentNode, errorAt, textsUnder } from './document-node.ts';

/** What every step sees; items of the loops around it come on top. */
export const STEP_ROOTS = ['agent', 'trigger', 'steps', 'vars', 'input', 'run'];

export interface NameScope {
  readonly steps: readonly string[];
  readonly variables: readonly string[];
  /** Names of the loops' items. */
  readonly items: readonly string[];
}

/**
 * The names a condition uses. A bare name is a context variable, perhaps one of the agent's, which this document
 * cannot know: only what is nearly right is an error, and members of what is known.
 */
export function checkConditionNames(
  place: DocumentNode,
  scope: NameScope,
  words: readonly string[] = [],
): readonly Issue[] {
  const source = place.text();
  if (source === undefined || words.includes(source)) return [];
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  const roots = [...STEP_ROOTS, 'metadata', ...scope.items, ...scope.variables];
  return parsed.value.names.flatMap(({ root, path: [member], offset }) => {
    if (roots.includes(root)) return checkMember(place, root, member, offset, scope);
    // The beginning of a word is one only where nothing else stands there: elsewhere it may be a variable of the agent.
    const isAlone = source.trim() === root;
    const near = nearest(root, [...roots, ...words]) ?? (isAlone ? likeliest(root, words) : undefined);
    if (near === undefined) return [];
    return [
      errorAt(place, 'unknown_name', `Unknown name "${root}".`, {
        hint: `Did you mean "${near}"?`,
        offset,
      }),
    ];
  });
}

/** The conditions of a step, with the words that are not CEL. */
export function checkStepConditions(step: DocumentNode, scope: NameScope): readonly Issue[] {
  const loop = step.at('type').value === 'loop';
  return [
    ...checkConditionNames(step.at('if'), scope),
    ...checkConditionNames(step.at('condition'), scope, STEP_CONDITIONS),
    ...(loop ? ['while', 'until'].flatMap((key) => checkConditionNames(step.at(key), scope)) : []),
    ...step
      .at('cases')
      .items()
      .flatMap((each) => checkConditionNames(each.at('if'), scope)),
    ...step
      .at('fragments')
      .items()
      .flatMap((each) => checkConditionNames(each.at('if'), scope)),
  ];
}

/** What holds other steps is looked at with them; scripts have a `${}` of their own. */
const NOT_TEMPLATES = [
  'script',
  'body',
  'catch',
  'finally',
  'default',
  'branches',
  'cases',
  'if',
  'condition',
  'while',
];

/** The texts of a step that may hold `${…}`, with the key that each stands under; not those of steps inside of it. */
export function templatesOf(
  step: DocumentNode,
): readonly { readonly key: string; readonly text: string; readonly place: DocumentNode }[] {
  const own = step.entries().filter(([key]) => !NOT_TEMPLATES.includes(key));
  // CEL has no templates; the arguments of an invocation in its place have.
  const asked = ['if', 'condition', 'while'].map((key) => [key, step.at(key).at('args')] as const);
  return [...own, ...asked].flatMap(([key, node]) =>
    [...textsUnder(node)].map(([text, place]) => ({ key, text, place })),
  );
}

/** The `${…}` in a step's texts: what is left of them after the environment was filled in is resolved when it runs. */
export function checkStepReferences(step: DocumentNode, scope: NameScope): readonly Issue[] {
  // What undoes a step sees what the step has brought.
  const undoing = { ...scope, items: [...scope.items, 'output'] };
  return templatesOf(step).flatMap(({ key, text, place }) =>
    checkReferences(text, place, key === 'compensate' ? undoing : scope),
  );
}

function checkReferences(text: string, place: DocumentNode, scope: NameScope): readonly Issue[] {
  const parsed = parseTemplate(text, { names: scope.items });
  if (!parsed.ok)
    return parsed.error.map(({ message, hint, offset }) =>
      errorAt(place, 'bad_reference', message, { hint, offset }),
    );
  return parsed.value.pieces.flatMap((piece) => {
    if (piece.kind === 'text') return [];
    if (piece.kind === 'env') return [unknownRoot(piece.name, piece.offset, place, scope)];
    const alternatives = piece.otherwise.flatMap((other) => (other.kind === 'reference' ? [other] : []));
    return [piece, ...alternatives].flatMap(({ root, path: [member] }) =>
      root === 'item' && !scope.items.includes('item')
        ? [unknownRoot(root, piece.offset, place, scope)]
        : checkMember(place, root, member, piece.offset, scope),
    );
  });
}

function unknownRoot(root: string, offset: number, place: DocumentNode, scope: NameScope): Issue {
  const roots = [...STEP_ROOTS, ...scope.items];
  const hint = scope.variables.includes(root)
    ? `Did you mean "\${vars.${root}}"?`
    : suggest(root, roots, 'References begin with');
  return errorAt(place, 'unknown_name', `Unknown reference "${root}".`, {
    hint,
    offset,
  });
}

function checkMember(
  place: DocumentNode,
  root: string,
  member: unknown,
  offset: number,
  scope: NameScope,
): readonly Issue[] {
  if (typeof member !== 'string') return [];
  if (root === 'agent' && !AGENT_MEMBERS.includes(member))
    return [
      errorAt(place, 'unknown_name', `"agent" has no "${member}".`, {
        hint: () => suggest(member, AGENT_MEMBERS, 'It has'),
        offset,
      }),
    ];
  if (root === 'steps' && !scope.steps.includes(member))
    return [
      errorAt(place, 'unknown_step', `There is no step "${member}".`, {
        hint: () => suggest(member, scope.steps, 'Steps'),
        offset,
      }),
    ];
  return [];
}
