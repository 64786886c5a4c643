import type { Issue } from '../../issue.ts';
import { isNamedSchema } from '../agent-input.ts';
import { checkActionTemplates } from './check-action-templates.ts';
import { checkNetwork } from './check-addresses.ts';
import { checkConditionValues } from './check-condition-values.ts';
import { checkFeedIds, checkFeedNames, checkFeeds } from './check-feeds.ts';
import { checkGuardedVariables } from './check-guarded-variables.ts';
import { checkHandoff } from './check-handoff.ts';
import { checkHooks } from './check-hooks.ts';
import { checkMetadata } from './check-metadata.ts';
import { checkModels } from './check-models.ts';
import { checkNames } from './check-names.ts';
import { checkNotifications } from './check-notifications.ts';
import { checkRewritableGuards, hookGuards } from './check-rewritable-guards.ts';
import { checkObjectSchema } from './check-tool.ts';
import { checkUnique } from './check-unique.ts';
import { checkVariables, type DeclaredVariable, declaredVariables, triggersOf } from './check-variables.ts';
import { type DocumentNode, warningAt } from './document-node.ts';

/** What no schema of one place can see: names, references, cycles, and who controls what. */
export function checkAgent(agent: DocumentNode): readonly Issue[] {
  const variables = declaredVariables(agent.at('context_variables'));
  const names = variables.map(({ name }) => name);
  const fields = agent
    .at('metadata')
    .at('fields')
    .entries()
    .map(([name]) => name);
  const members = new Map([
    ['metadata', fields],
    ['vars', names],
  ]);
  const feeds = agent.at('context_feeds').items();
  const mcpServers = agent
    .at('import')
    .at('tools')
    .items()
    .map((tool) => tool.at('mcp').at('name'));
  const input = agent.at('input');
  return [
    ...checkMetadata(agent.at('metadata')),
    ...checkVariables(agent.at('context_variables')),
    ...checkDerivedNames(agent, variables, members),
    ...checkFeeds(feeds),
    ...checkFeedIds(feeds, { variables: names, fields }),
    ...checkFeedNames(feeds, { roots: ['metadata', 'vars', 'agent', ...names], members }),
    ...checkActionTemplates(agent.at('action_templates'), members, names),
    ...checkModels(agent),
    ...checkObjectSchema(isNamedSchema(input.value) ? input.at('schema') : input),
    ...checkUnique(
      agent
        .at('components')
        .items()
        .map((component) => component.at('name')),
      'components',
    ),
    ...checkUnique(mcpServers, 'MCP servers'),
    ...checkGuardedVariables([agent.at('permissions')], 'a permission', variables),
    ...checkNetwork(agent.at('permissions').at('network')),
    ...checkHooks(agent.at('hooks')),
    ...checkRewritableGuards(hookGuards(agent), agent),
    ...checkHandoff(agent, members),
    ...checkInternalActions(agent.at('internal_actions')),
    ...checkNotifications(agent.at('notifications')),
  ];
}

function checkDerivedNames(
  agent: DocumentNode,
  variables: readonly DeclaredVariable[],
  members: ReadonlyMap<string, readonly string[]>,
): readonly Issue[] {
  const roots = ['metadata', 'vars', ...variables.map(({ name }) => name)];
  const named = new Map(agent.at('metadata').at('fields').entries());
  const declared = { what: 'metadata field', named };
  return variables.flatMap(({ node }) => [
    ...checkNames(node.at('expression'), { roots, members }),
    ...triggersOf(node)
      .filter((trigger) => trigger.at('type').value === 'metadata_match')
      .flatMap((trigger) => checkConditionValues(trigger.at('conditions'), declared)),
  ]);
}

function checkInternalActions(internal: DocumentNode): readonly Issue[] {
  const allowed = internal
    .at('allowed_actions')
    .items()
    .map((item) => item.value);
  return internal
    .at('blocked_actions')
    .items()
    .filter((item) => allowed.includes(item.value))
    .map((item) =>
      warningAt(item, 'contradiction', `"${item.value}" is both allowed and blocked; it is blocked.`, {
        hint: 'Leave it out of one list.',
      }),
    );
}
