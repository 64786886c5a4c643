import { parseExpression } from '../../../expressions/cel/parse-expression.ts';
import { parseConditions } from '../../../expressions/maps/parse-conditions.ts';
import { FIELD_NAME, parsePath } from '../../../expressions/path.ts';
import { parseTemplate } from '../../../expressions/templates/parse-template.ts';
import { likeliest, nearest, suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { STEP_CONDITIONS } from '../steps/composite-steps.ts';
import { AGENT_MEMBERS } from './check-tool.ts';
import { type DocumentNode, errorAt, textsUnder } from './document-node.ts';

/** What every step sees, in addition to the items of the loops around it. */
export const STEP_ROOTS = ['agent', 'trigger', 'steps', 'vars', 'input', 'run'];

export interface NameScope {
  readonly steps: readonly string[];
  readonly variables: readonly string[];
  /** The names of the loops' items. */
  readonly items: readonly string[];
}

/**
 * The names in a condition. A name without a prefix is a context variable, perhaps the agent's, which this document
 * does not know. So only a similar name is an error, and an unknown member of something known.
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
    // A prefix of a known name counts as a misspelling only if it is the whole text. Elsewhere it may be a variable of
    // the agent.
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

/** The conditions of a step, including words that are not CEL. */
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

/** Keys with nested steps, which are checked on their own, and scripts, which have their own `${}`. */
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

/** The texts of a step that may contain `${…}`, each with its key, without the texts of nested steps. */
export function templatesOf(
  step: DocumentNode,
): readonly { readonly key: string; readonly text: string; readonly place: DocumentNode }[] {
  const own = step.entries().filter(([key]) => !NOT_TEMPLATES.includes(key));
  // CEL has no templates, but the arguments of an invocation in its place do.
  const asked = ['if', 'condition', 'while'].map((key) => [key, step.at(key).at('args')] as const);
  return [...own, ...asked].flatMap(([key, node]) =>
    [...textsUnder(node)].map(([text, place]) => ({ key, text, place })),
  );
}

/**
 * The `${…}` in a step's texts that remain after environment variables were inserted. They are resolved when the step
 * runs.
 */
export function checkStepReferences(step: DocumentNode, scope: NameScope): readonly Issue[] {
  // A compensation sees its step's output.
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

/** Checks that the fields a trigger matches exist on the event. */
export function checkEventMatch(trigger: DocumentNode): readonly Issue[] {
  const type = trigger.at('type').value === 'event' ? trigger.at('event').text() : undefined;
  const fields = type === undefined ? undefined : eventFields(type);
  if (type === undefined || fields === undefined) return [];
  const unknown = (place: DocumentNode, name: string, at: 'key' | 'value', offset?: number) =>
    errorAt(place, 'unknown_field', `An event of type ${type} has no field "${name}".`, {
      hint: () => suggest(name, fields, 'It has'),
      at,
      offset,
    });
  const inMap = (map: DocumentNode): readonly Issue[] =>
    map.entries().flatMap(([key, entry]) => {
      if (key === 'all' || key === 'any') return entry.items().flatMap(inMap);
      if (key === 'not') return inMap(entry);
      const path = parsePath(key, FIELD_NAME);
      const name = path.ok ? String(path.value[0]) : undefined;
      return name === undefined || fields.includes(name) ? [] : [unknown(entry, name, 'key')];
    });
  const match = trigger.at('match');
  const inMatch = match.value === undefined || !parseConditions(match.value).ok ? [] : inMap(match);
  const test = parseExpression(trigger.at('test').text() ?? '');
  const names = test.ok ? test.value.names : [];
  return [
    ...inMatch,
    ...names.flatMap(({ root, path: [member], offset }) =>
      root !== 'event' || typeof member !== 'string' || fields.includes(member)
        ? []
        : [unknown(trigger.at('test'), member, 'value', offset)],
    ),
  ];
}

/** The fields of every event: its position on the log, and its type. */
const HEAD = ['type', 'seq', 'at', 'session', 'turn', 'cause'] as const;

const RUN = ['run', 'workflow', 'told'] as const;
const OF_CHILD = ['action', 'child', 'event'] as const;

/** The other fields of session events, by type. A test compares this with the events themselves. */
export const EVENT_FIELDS = {
  'session.started': [
    'agent',
    'input',
    'manifest',
    'model',
    'parent',
    'seal',
    'environment',
    'vars',
    'classes',
    'user',
    'metadata',
    'states',
    'balance',
    'max_turns',
    'chat',
    'led',
    'forked',
  ],
  'session.completed': ['result'],
  'session.failed': ['error'],
  'session.stalled': ['error'],
  'session.cancelled': ['reason', 'by'],
  'session.resumed': ['by', 'max_turns', 'budget', 'chat', 'manifest', 'changed_files'],
  'session.waiting': ['for'],
  'turn.started': ['prompt', 'background', 'model'],
  'turn.completed': ['usage', 'cost_usd', 'ms', 'first_token_ms', 'finish'],
  'turn.failed': [
    'error',
    'retry_in',
    'again',
    'fallback',
    'exceeded',
    'kept',
    'groups',
    'usage',
    'cost_usd',
  ],
  'model.output': ['offset', 'text', 'parts'],
  thought: ['text', 'depth'],
  text: ['text'],
  response: ['text', 'final', 'held'],
  'message.received': ['from', 'text'],
  audit: ['who', 'what'],
  'review.requested': [
    'review',
    'action',
    'target',
    'what',
    'because',
    'input',
    'grants',
    'definition',
    'replaces',
    'always',
    'files',
    'uncovered',
  ],
  'review.resolved': ['review', 'answer', 'by', 'note', 'always', 'standing', 'key', 'away'],
  'review.voided': ['review', 'changed'],
  'action.declared': ['action'],
  'action.started': ['id', 'attempt', 'input'],
  'action.completed': ['id', 'output', 'ms', 'attempts'],
  'action.failed': ['id', 'error', 'ms', 'attempts'],
  'action.skipped': ['id', 'reason', 'because'],
  'action.retrying': ['id', 'attempt', 'error', 'delay_ms'],
  'action.cancelled': ['id', 'reason'],
  'action.interrupted': ['id', 'attempt'],
  'action.compensated': ['id', 'by'],
  'metadata.changed': ['changes', 'by', 'run'],
  'metadata.rejected': ['errors', 'by'],
  'variable.changed': ['name', 'class', 'from', 'to', 'by', 'run'],
  fault: ['code', 'message', 'groups'],
  'if.decided': ['test', 'held', 'problem'],
  'budget.charged': ['what', 'amount', 'balance'],
  'prompt.compacted': ['through', 'summary', 'usage', 'cost_usd', 'feed_tokens'],
  'timer.set': ['id', 'due', 'data'],
  'timer.fired': ['id'],
  'trigger.fired': ['trigger', 'workflow', 'run', 'seen', 'chain'],
  'trigger.suppressed': ['trigger', 'workflow', 'reason', 'message', 'chain'],
  'workflow.completed': [...RUN, 'output'],
  'workflow.failed': [...RUN, 'error'],
  'workflow.cancelled': [...RUN, 'reason'],
  'workflow.asked': ['run', 'workflow', 'key', 'what'],
  'feed.added': ['id', 'feed', 'by'],
  'feed.removed': ['id', 'by', 'declared'],
  'feed.updated': ['id', 'value', 'tokens', 'truncated', 'cached', 'loaded_at', 'told'],
  'feed.failed': ['id', 'error', 'times', 'told'],
  invoke: ['where', 'artifact', 'version', 'method', 'args', 'result', 'fallback', 'cached', 'ms', 'cost'],
  'hook.ran': ['hook', 'of', 'index', 'by', 'action', 'outcome', 'reason', 'fallback', 'input', 'ms'],
  'artifact.written': ['artifact', 'version', 'parent', 'restores', 'by'],
  'handoff.requested': ['to', 'reason', 'carry', 'summary', 'action'],
  handoff: ['from', 'to', 'agent_session', 'by', 'reason', 'carry', 'text'],
  custom: ['name', 'data'],
  'child.thought': OF_CHILD,
  'child.text': OF_CHILD,
  'child.response': OF_CHILD,
  'child.turn.completed': OF_CHILD,
  'child.turn.failed': OF_CHILD,
  'child.action.completed': OF_CHILD,
  'child.action.failed': OF_CHILD,
  'child.metadata.changed': OF_CHILD,
  'child.variable.changed': OF_CHILD,
  'child.turn.started': OF_CHILD,
  'child.action.declared': OF_CHILD,
  'child.action.started': OF_CHILD,
  'child.action.skipped': OF_CHILD,
  'child.action.cancelled': OF_CHILD,
  'child.action.interrupted': OF_CHILD,
  'child.review.requested': OF_CHILD,
  'child.review.resolved': OF_CHILD,
  'child.review.voided': OF_CHILD,
  'child.session.waiting': OF_CHILD,
} as const;

/** Every field of an event type. Undefined if the session's log has no such type. */
export const eventFields = (type: string): readonly string[] | undefined =>
  Object.hasOwn(EVENT_FIELDS, type)
    ? [...EVENT_FIELDS[type as keyof typeof EVENT_FIELDS], ...HEAD]
    : undefined;
