import { readComparisons } from '../../expressions/cel/check-expression.ts';
import type { NameUse } from '../../expressions/cel/names.ts';
import { parseExpression } from '../../expressions/cel/parse-expression.ts';
import { TYPE_NAMES } from '../../expressions/cel/value.ts';
import type { PathSegment } from '../../expressions/issue.ts';
import { parseTemplate } from '../../expressions/templates/parse-template.ts';
import { nearest, suggest } from '../../lib/nearest.ts';
import { type Diagnostic, type Finding, type Issue, quoted } from '../diagnostic.ts';
import {
  checkComparison,
  checkConditionValues,
  type Declared,
  fieldViolation,
  titleOf,
  unknownName,
} from '../schema/checks/check-condition-values.ts';
import { checkRewritableGuards, guardsOf } from '../schema/checks/check-hooks.ts';
import { stepLists } from '../schema/checks/check-states.ts';
import { checkRequiredKeys } from '../schema/checks/check-tasks.ts';
import {
  APPROVAL_DECIDES,
  checkGuardedVariables,
  declaredVariables,
} from '../schema/checks/check-variables.ts';
import { STEP_ROOTS, templatesOf } from '../schema/checks/check-workflow-names.ts';
import {
  type DocumentNode,
  documentNode,
  errorAt,
  textsUnder,
  warningAt,
} from '../schema/checks/document-node.ts';
import type { AgentScope } from './check-references.ts';
import type { ProjectDocument } from './project-document.ts';

/**
 * Checks what a workflow reads from, or does to, the state of the agents that import it: the conditions of its triggers
 * and the values it sets. If it fits none of them, that is an error. If it fits some, it is a warning for the others,
 * because it may not be meant for them.
 */
export function checkAgentState(
  documents: readonly ProjectDocument[],
  scopes: readonly AgentScope[],
): Diagnostic[] {
  return documents.flatMap((each) => {
    if (each.kind !== 'Workflow') return [];
    const found = scopes
      .filter(({ documents: inside }) => inside.has(each))
      .map((scope) => checkAgainst(documentNode(each.document.value), scope));
    const wrongIn = new Map<string, number>();
    for (const issues of found)
      for (const key of new Set(issues.map(keyOf))) wrongIn.set(key, (wrongIn.get(key) ?? 0) + 1);
    const first = new Map(
      found
        .flat()
        .map((issue) => [keyOf(issue), issue] as const)
        .reverse(),
    );
    return [...first].reverse().map(([key, issue]) => {
      const { path, at, offset } = issue;
      const severity = wrongIn.get(key) === found.length ? issue.severity : 'warning';
      const query = { path, at, ...(offset === undefined ? {} : { offset }) };
      return each.document.diagnose(query, findingOf(issue, severity));
    });
  });
}

const keyOf = ({ path, code }: Issue): string => `${code} ${JSON.stringify(path)}`;

const findingOf = ({ code, message, hint }: Issue, severity: Finding['severity']): Finding => ({
  severity,
  code,
  message,
  ...(hint === undefined ? {} : { hint }),
});

function checkAgainst(workflow: DocumentNode, { agent }: AgentScope): readonly Issue[] {
  const manifest = documentNode(agent.document.value);
  const owner = quoted(agent.name ?? '?');
  const metadata: Declared = {
    what: 'metadata field',
    agent: owner,
    named: new Map(manifest.at('metadata').at('fields').entries()),
  };
  const variables: Declared = {
    what: 'context variable',
    agent: owner,
    named: new Map(
      [manifest, workflow]
        .flatMap((each) => declaredVariables(each.at('context_variables')))
        .map(({ name, node }) => [name, node] as const),
    ),
  };
  const triggers = [workflow.at('trigger'), ...workflow.at('triggers').items()];
  const steps = stepLists(workflow).flatMap((list) => list.steps);
  return [
    ...triggers.flatMap((trigger) => checkTrigger(trigger, metadata, variables)),
    ...steps.flatMap((step) => {
      const type = step.at('type').value;
      if (type === 'set_metadata') return checkSet(step.at('values'), metadata);
      return type === 'set_variable' ? checkSet(step.at('values'), variables) : [];
    }),
    ...steps.flatMap((step) => checkAgentReferences(step, metadata, variables)),
    ...checkToldChannels(steps, manifest),
    ...checkGuards(workflow, manifest, steps),
    ...checkRewritableGuards(guardsOf(workflow, steps), manifest),
    ...checkLeadingReads(workflow, manifest, steps),
  ];
}

/** The variables that decide an agent's approvals and verifiers must not be under its model's control. */
function checkGuards(
  workflow: DocumentNode,
  agent: DocumentNode,
  steps: readonly DocumentNode[],
): readonly Issue[] {
  const own = declaredVariables(workflow.at('context_variables')).map(({ name }) => name);
  const above = declaredVariables(agent.at('context_variables')).filter(({ name }) => !own.includes(name));
  if (above.length === 0) return [];
  const approvals = steps
    .filter((step) => step.at('type').value === 'approval')
    .flatMap((step) => APPROVAL_DECIDES.map((key) => step.at(key)));
  const verifiers = steps.map((step) => step.at('verify'));
  return [
    ...checkGuardedVariables(approvals, 'an approval', above),
    ...checkGuardedVariables(verifiers, 'a verifier', above),
    ...checkRequiredKeys(steps, above, agent.at('name').text()),
  ];
}

function checkTrigger(trigger: DocumentNode, metadata: Declared, variables: Declared): readonly Issue[] {
  const test = checkAgentTest(trigger.at('test'), metadata, variables);
  switch (trigger.at('type').value) {
    case 'metadata_match':
      return [...checkConditionValues(trigger.at('conditions'), metadata), ...test];
    case 'variable_match':
      return [...checkConditionValues(trigger.at('conditions'), variables), ...test];
    case 'event':
      return test;
    default:
      return [];
  }
}

/** Values that are only known at run time are checked then. */
function checkSet(values: DocumentNode, declared: Declared): readonly Issue[] {
  return values.entries().flatMap(([name, given]) => {
    const field = declared.named.get(name);
    if (field === undefined) return [unknownName(given, name, declared)];
    if (given.value === undefined || given.value === null || holdsReference(given)) return [];
    const why = fieldViolation(field)(given.value);
    if (why === undefined) return [];
    const message = `${titleOf(name, declared)} cannot have this value: ${why}.`;
    return [errorAt(given, 'bad_value', message, { hint: 'Write a value that the field accepts.' })];
  });
}

const holdsReference = ({ value }: DocumentNode): boolean => JSON.stringify(value ?? null).includes('$');

/**
 * Without channels, `to` is only a word on the log. With channels, a name that is none of them notifies all of them.
 */
function checkToldChannels(steps: readonly DocumentNode[], agent: DocumentNode): readonly Issue[] {
  const names = agent
    .at('notifications')
    .at('channels')
    .entries()
    .map(([name]) => name);
  if (names.length === 0) return [];
  return steps.flatMap((step) => {
    const to = step.at('to');
    const name = to.text();
    if (step.at('type').value !== 'notify' || name === undefined || name.includes('$')) return [];
    if (names.includes(name)) return [];
    const message = `The agent ${quoted(agent.at('name').text() ?? '?')} has no channel ${quoted(name)}, so all of its channels are notified.`;
    return [warningAt(to, 'unknown_channel', message, { hint: () => suggest(name, names, 'Channels') })];
  });
}

/** Parts of `agent` that a session only has once it runs. */
const LATER: readonly string[] = ['metadata', 'iteration_count', 'actions_executed', 'thoughts', 'responses'];

/** Keys whose text is CEL, anywhere in a workflow. Words like `always` read nothing. */
const CEL_KEYS: ReadonlySet<unknown> = new Set(['if', 'condition', 'while', 'until']);
/** Keys that contain the user's own data. */
const DATA: ReadonlySet<unknown> = new Set(['parameters', 'requires', 'input', 'args', 'values', 'data']);

/**
 * A run sees `agent` as it was when the run started, and a guiding run starts with the session. So it never sees what
 * happens in the session later.
 */
function checkLeadingReads(
  workflow: DocumentNode,
  agent: DocumentNode,
  steps: readonly DocumentNode[],
): readonly Issue[] {
  const name = workflow.at('name').text();
  const isStartedOtherwise = workflow.has('trigger') || workflow.has('triggers');
  if (name === undefined || agent.at('workflow').text() !== name || isStartedOtherwise) return [];
  const metadata = agent.at('metadata');
  // Then a session starts with values of another session.
  const isTakenOver = metadata.at('scope').text() === 'agent' || metadata.has('inherit');
  const empty = new Set(LATER.filter((part) => part !== 'metadata' || !isTakenOver));
  const told = (place: DocumentNode, read: string, offset: number): readonly Issue[] =>
    empty.has(read.replace('agent.', '')) ? [frozen(place, read, offset)] : [];
  const tests = [...textsUnder(workflow)].flatMap(([text, place]) => {
    if (!CEL_KEYS.has(place.path.at(-1)) || place.path.some((key) => DATA.has(key))) return [];
    const parsed = parseExpression(text);
    if (!parsed.ok) return [];
    return parsed.value.names.flatMap(({ root, path: [part], offset }) =>
      told(place, root === 'agent' ? `agent.${part}` : root, offset),
    );
  });
  const texts = steps.flatMap(templatesOf).flatMap(({ text, place }) => {
    const parsed = parseTemplate(text);
    if (!parsed.ok) return [];
    return parsed.value.pieces.flatMap((piece) =>
      piece.kind === 'reference' && piece.root === 'agent'
        ? told(place, `agent.${piece.path[0]}`, piece.offset)
        : [],
    );
  });
  return [...tests, ...texts];
}

const frozen = (place: DocumentNode, read: string, offset: number): Issue =>
  warningAt(
    place,
    'as_it_began',
    `"${read}" keeps the value that it had when the run began. This workflow leads its session from the beginning, so this value never changes.`,
    { hint: 'Let a task provide the value ("requires"), and read that variable.', offset },
  );

/** The other names in tests, next to the variables, which have no prefix there. */
const TEST_ROOTS: readonly string[] = [...STEP_ROOTS, 'metadata', 'actions', 'event', ...TYPE_NAMES];

/**
 * Checks `metadata.NAME`, `vars.NAME` and bare variables in the test of a trigger: names that the agent does not have,
 * and comparisons with values they never have.
 */
function checkAgentTest(place: DocumentNode, metadata: Declared, variables: Declared): readonly Issue[] {
  const source = place.text() ?? '';
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  const unknown = parsed.value.names.flatMap((use): readonly Issue[] => {
    const read = readOf(use, metadata, variables);
    if (read === undefined || read.declared.named.has(read.name)) return [];
    const { offset } = use;
    const issue = { ...unknownName(place, read.name, read.declared), at: 'value', offset } as const;
    return [read.declared === metadata ? issue : mayBeGiven(issue)];
  });
  const known = new Set(parsed.value.names.map(({ offset }) => offset));
  const never = readComparisons(source).flatMap(({ name: use, operator, value }): readonly Issue[] => {
    // A name that a macro binds is not free.
    const read = known.has(use.offset) && use.path.length <= 1 ? readOf(use, metadata, variables) : undefined;
    const field = read?.declared.named.get(read.name);
    if (read === undefined || field === undefined || isInside(use)) return [];
    const asked = { name: read.name, field, declared: read.declared };
    return checkComparison(place, { operator, value }, asked).map((issue) => ({
      ...issue,
      offset: use.offset,
      severity: operator === '!=' ? 'warning' : issue.severity,
    }));
  });
  return [...unknown, ...never];
}

/** `state.done` looks into a variable; `metadata.done` is a field. */
const isInside = ({ root, path }: NameUse): boolean =>
  root !== 'metadata' && root !== 'vars' && path.length > 0;

/** The field or variable that a name refers to. */
function readOf(
  { root, path: [member] }: NameUse,
  metadata: Declared,
  variables: Declared,
): { readonly name: string; readonly declared: Declared } | undefined {
  if (root === 'metadata' || root === 'vars')
    return typeof member === 'string'
      ? { name: member, declared: root === 'vars' ? variables : metadata }
      : undefined;
  // If the name resembles something else, the document's own check reports it.
  const isOther = TEST_ROOTS.includes(root) || nearest(root, STEP_ROOTS) !== undefined;
  return isOther ? undefined : { name: root, declared: variables };
}

/** `${agent.metadata.NAME}` and `${agent.variables.NAME}` in the texts of a step. */
function checkAgentReferences(step: DocumentNode, metadata: Declared, variables: Declared): readonly Issue[] {
  return templatesOf(step).flatMap(({ text, place }) => {
    const parsed = parseTemplate(text);
    if (!parsed.ok) return [];
    return parsed.value.pieces.flatMap((piece) => {
      if (piece.kind !== 'reference') return [];
      const { offset } = piece;
      const others = piece.otherwise.flatMap((other) => (other.kind === 'reference' ? [other] : []));
      return [piece, ...others].flatMap(({ root, path }) => {
        const issue = root === 'agent' ? unknownMember(place, path, metadata, variables) : undefined;
        if (issue === undefined) return [];
        const isOptional = piece.otherwise.length > 0;
        return [{ ...issue, at: 'value', offset, ...(isOptional ? { severity: 'warning' } : {}) } as Issue];
      });
    });
  });
}

function unknownMember(
  place: DocumentNode,
  [part, name]: readonly PathSegment[],
  metadata: Declared,
  variables: Declared,
): Issue | undefined {
  if (typeof name !== 'string' || (part !== 'metadata' && part !== 'variables')) return undefined;
  const declared = part === 'metadata' ? metadata : variables;
  if (declared.named.has(name)) return undefined;
  const issue = unknownName(place, name, declared);
  return declared === metadata ? issue : mayBeGiven(issue);
}

/** Whoever starts a session may pass variables that no manifest declares. */
const mayBeGiven = (issue: Issue): Issue => ({ ...issue, severity: 'warning' });
