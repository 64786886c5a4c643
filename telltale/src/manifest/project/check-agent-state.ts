import type { Diagnostic, Finding } from '../diagnostic.ts';
import type { Issue } from '../issue.ts';
import { quoted } from '../printable.ts';
import {
  checkConditionValues,
  type Declared,
  titleOf,
  unknownName,
} from '../schema/checks/check-condition-values.ts';
import { fieldViolation } from '../schema/checks/check-field-value.ts';
import { APPROVAL_DECIDES, checkGuardedVariables } from '../schema/checks/check-guarded-variables.ts';
import { checkRewritableGuards, guardsOf } from '../schema/checks/check-rewritable-guards.ts';
import { checkRequiredKeys } from '../schema/checks/check-tasks.ts';
import { declaredVariables } from '../schema/checks/check-variables.ts';
import { type DocumentNode, documentNode, errorAt } from '../schema/checks/document-node.ts';
import { stepLists } from '../schema/checks/workflow-steps.ts';
import type { AgentScope } from './agent-scope.ts';
import { checkAgentReferences, checkAgentTest } from './check-agent-names.ts';
import { checkLeadingReads } from './check-leading-reads.ts';
import { checkToldChannels } from './check-told-channels.ts';
import type { ProjectDocument } from './project-document.ts';

/**
 * What a workflow asks of the state of the agents that import it, or does to it: its triggers' conditions, what it sets.
 * What fits none of them is an error; what fits some is a warning for the others, since it may never be meant for them.
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

/** What the agent's variables decide of its approvals and verifiers must not be in its model's hand. */
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

/** Values that are not known before the run are checked there. */
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
