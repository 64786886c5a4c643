import type { Issue } from '../../issue.ts';
import { quoted } from '../../printable.ts';
import { APPROVAL_DECIDES } from './check-guarded-variables.ts';
import { type DocumentNode, warningAt } from './document-node.ts';

const RUNTIMES_OWN = /^genesis_/;

/**
 * Artifacts that judge an agent's work or let its actions pass, although it may rewrite them: the decision is in the
 * model's hand then. A warning, since an agent that changes its own rules may be what is wanted.
 */
export function checkRewritableGuards(
  guards: readonly { readonly node: DocumentNode; readonly what: string }[],
  agent: DocumentNode,
): readonly Issue[] {
  const { value } = agent.at('permissions').at('artifacts');
  if (!Array.isArray(value) || !value.includes('write')) return [];
  const owner = quoted(agent.at('name').text() ?? '?');
  return guards.flatMap(({ node, what }) => {
    const asked = node.at('invoke');
    const name = asked.text();
    if (name === undefined || RUNTIMES_OWN.test(name)) return [];
    const message = `The artifact ${quoted(name)} is used by ${what}, but the agent ${owner} may rewrite it.`;
    const hint =
      'Remove "write" from "permissions: { artifacts }", or let a command, a model or a person decide.';
    return [warningAt(asked, 'model_controlled', message, { hint })];
  });
}

/** What is decided for the agent in the steps of a workflow. */
export const guardsOf = (workflow: DocumentNode, steps: readonly DocumentNode[]) => [
  ...steps.map((step) => ({ node: step.at('verify'), what: 'a verifier' })),
  ...steps
    .filter((step) => step.at('type').value === 'approval')
    .flatMap((step) => APPROVAL_DECIDES.map((key) => ({ node: step.at(key), what: 'an approval' }))),
  ...[workflow, ...steps].flatMap(hookGuards),
];

/** What is asked before each action, and may refuse it. */
export const hookGuards = (node: DocumentNode) =>
  node
    .at('hooks')
    .at('before_action')
    .items()
    .map((hook) => ({ node: hook, what: 'the hook before_action' }));
