import { suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { isNamedSchema } from '../agent-input.ts';
import { NOT_AGENTS } from '../handoff.ts';
import { isModelRef } from '../model-ref.ts';
import { showValue } from '../show-value.ts';
import { checkConditionValues, checkMetadata } from './check-condition-values.ts';
import { checkFeedIds, checkFeedNames, checkFeeds } from './check-feeds.ts';
import { checkHooks, checkRewritableGuards, hookGuards } from './check-hooks.ts';
import { checkNetwork, checkObjectSchema } from './check-tool.ts';
import {
  checkGuardedVariables,
  checkNames,
  checkUnique,
  checkVariables,
  type DeclaredVariable,
  declaredVariables,
  triggersOf,
} from './check-variables.ts';
import { type DocumentNode, errorAt, findCycles, showCycle, warningAt } from './document-node.ts';

/** The checks that span an agent: names, references, cycles, and who controls what. */
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
      warningAt(item, 'contradiction', `"${item.value}" is both allowed and blocked, so it is blocked.`, {
        hint: 'Remove it from one of the lists.',
      }),
    );
}

/** Short model names that the agent does not declare. */
function checkModels(agent: DocumentNode): readonly Issue[] {
  const names = agent
    .at('models')
    .entries()
    .map(([name]) => name);
  const used = [
    ...agent.at('fallback_models').items(),
    ...agent
      .at('prompts')
      .entries()
      .map(([, prompt]) => prompt.at('model')),
    ...agent
      .at('context_feeds')
      .items()
      .filter((feed) => feed.at('source').at('type').value === 'llm')
      .map((feed) => feed.at('source').at('params').at('model')),
  ];
  return used.flatMap((place) => {
    const name = place.text();
    if (name === undefined || isModelRef(name) || names.includes(name) || name.includes('$')) return [];
    const hint = `${suggest(name, names, 'Names in "models"')} Or write "provider/model".`;
    return [errorAt(place, 'unknown_model', `There is no model "${name}" in "models".`, { hint })];
  });
}

const ROOTS = ['metadata', 'vars', 'actions', 'agent'];

/** Templates whose base template is missing, or that are based on each other. */
function checkActionTemplates(
  templates: DocumentNode,
  members: ReadonlyMap<string, readonly string[]>,
  variables: readonly string[],
): readonly Issue[] {
  const known = new Map(templates.entries());
  const parents = (template: DocumentNode) => [
    template.at('template'),
    template.at('compensate').at('template'),
  ];
  const graph = new Map(
    [...known].map(([name, template]) => [name, parents(template).flatMap((parent) => parent.text() ?? [])]),
  );
  const unknown = [...known.values()].flatMap(parents).flatMap((parent) => {
    const name = parent.text();
    if (name === undefined || known.has(name)) return [];
    return [
      errorAt(parent, 'unknown_template', `There is no action template "${name}".`, {
        hint: () => suggest(name, [...known.keys()], 'Templates'),
      }),
    ];
  });
  const cycles = findCycles(graph).flatMap((cycle) => {
    const template = known.get(cycle[0] ?? '');
    if (template === undefined) return [];
    const message = `These action templates refer to each other in a cycle: ${showCycle(cycle)}.`;
    return [
      errorAt(template, 'cycle', message, {
        hint: 'Break the cycle: one of them must not refer to another.',
        at: 'key',
      }),
    ];
  });
  const names = [...known.values()].flatMap((template) =>
    [template, template.at('compensate')].flatMap((each) =>
      checkNames(each.at('if'), { roots: [...ROOTS, ...variables], members }),
    ),
  );
  return [...unknown, ...cycles, ...names];
}

/** The placeholders in the arguments of a channel's command. */
const PLACEHOLDERS = ['message', 'type', 'agent', 'session', 'run', 'url', 'id'];

/** Rules must name existing channels. Addresses and programs are checked too. */
const checkNotifications = (notifications: DocumentNode): readonly Issue[] => {
  const channels = notifications.at('channels').entries();
  const names = channels.map(([name]) => name);
  return [
    ...channels.flatMap(([, channel]) => [
      ...checkAddress(channel.at('webhook').at('url')),
      ...checkHeaders(channel.at('webhook').at('headers')),
      ...checkCommand(channel.at('command')),
    ]),
    ...notifications
      .at('rules')
      .items()
      .flatMap((rule) => rule.at('to').items())
      .filter((to) => to.text() !== undefined && !names.includes(to.text() ?? ''))
      .map((to) =>
        errorAt(to, 'unknown_name', `There is no channel "${to.text()}".`, {
          hint: () => suggest(to.text() ?? '', names, 'Channels'),
        }),
      ),
  ];
};

function checkAddress(url: DocumentNode): readonly Issue[] {
  const text = url.text();
  if (text === undefined || text === '') return [];
  const parsed = URL.parse(text);
  const bad = (why: string, hint: string) => [
    errorAt(url, 'bad_address', `${showValue(text)} ${why}.`, { hint }),
  ];
  if (parsed === null) return bad('is not an address', 'Write it like https://example.com/hook.');
  if (!/^https?:$/.test(parsed.protocol))
    return bad('is not an address that accepts a POST', 'Write an http:// or https:// address.');
  if (parsed.username !== '' || parsed.password !== '')
    // The value is not quoted, because everybody can read messages.
    return [
      errorAt(url, 'bad_address', 'The address contains a user name or a password.', {
        hint: 'Put them into "headers: { authorization: … }".',
      }),
    ];
  return [];
}

/** Headers that the runtime sets, and headers of the connection. */
const OWN = /^(?:webhook-.*|content-(?:type|length)|host|connection|transfer-encoding)$/i;
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const checkHeaders = (headers: DocumentNode): readonly Issue[] =>
  headers.entries().flatMap(([name, place]) => {
    if (!HEADER.test(name) || OWN.test(name))
      return [
        errorAt(place, 'not_allowed', `"${name}" cannot be a header of a webhook.`, {
          hint: OWN.test(name) ? 'Telltale sets it.' : 'A header name consists of letters, digits and "-".',
          at: 'key',
        }),
      ];
    if (!/[\r\n\0]/.test(place.text() ?? '')) return [];
    return [
      errorAt(place, 'not_allowed', `The header "${name}" has a value with several lines.`, {
        hint: 'Write it on one line.',
      }),
    ];
  });

function checkCommand(command: DocumentNode): readonly Issue[] {
  const [program, ...args] = command.items();
  if (program === undefined) return [];
  const text = program.text() ?? '';
  return [
    ...(text === '' || /\{[a-z]+\}/.test(text)
      ? [
          errorAt(program, 'bad_command', `The program of a channel cannot be ${showValue(program.value)}.`, {
            hint: 'Write the program itself. Only its arguments can contain placeholders.',
          }),
        ]
      : []),
    ...args.flatMap((arg) =>
      [...(arg.text() ?? '').matchAll(/\{([a-z_]+)\}/g)]
        .filter(([, name = '']) => !PLACEHOLDERS.includes(name))
        .map(([written, name = '']) =>
          errorAt(arg, 'unknown_name', `Unknown placeholder "${written}".`, {
            hint: () => suggest(name, PLACEHOLDERS, 'There are'),
          }),
        ),
    ),
  ];
}

type Members = ReadonlyMap<string, readonly string[]>;

const TEST_ROOTS = ['metadata', 'vars', 'actions', 'agent'];
const SPEAKER_ROOTS = ['speaker', 'agents', 'rounds', 'last', 'metadata', 'vars', 'agent'];
const SPEAKER_WORDS: readonly unknown[] = ['round_robin', 'random', ...NOT_AGENTS];

/** Contradictions within "handoff" and "group", and with the rest of the agent. */
function checkHandoff(agent: DocumentNode, members: Members): readonly Issue[] {
  const entries = agent.at('handoff').items();
  const group = agent.at('group');
  const conditions = entries.concat(group.at('on_message').items()).map((entry) => entry.at('if'));
  return [
    ...entries.flatMap((entry) => checkTarget(entry, agent)),
    ...conditions.flatMap((condition) => checkNames(condition, { roots: TEST_ROOTS, members })),
    ...checkReach(entries),
    ...checkGroup(group, members),
    ...checkLed(agent),
    ...checkAllowed(agent, entries),
  ];
}

const targetOf = (entry: DocumentNode): DocumentNode => (entry.text() === undefined ? entry.at('to') : entry);

function checkTarget(entry: DocumentNode, agent: DocumentNode): readonly Issue[] {
  const place = targetOf(entry);
  const own = agent.at('name').text();
  if (own === undefined || place.text() !== own) return [];
  return [
    errorAt(place, 'self_handoff', `The agent "${own}" cannot hand the conversation to itself.`, {
      hint: 'Name another agent, or leave the entry out: without a handoff it keeps the conversation.',
    }),
  ];
}

/** Entries after one that always holds are never reached. */
function checkReach(entries: readonly DocumentNode[]): readonly Issue[] {
  const first = entries.findIndex((entry) => entry.at('always').value === true);
  if (first < 0) return [];
  return entries
    .slice(first + 1)
    .filter((entry) => entry.at('always').value === true || isAfterTurn(entry))
    .map((entry) =>
      warningAt(entry, 'unreachable', 'This entry is never checked: an entry before it always holds.', {
        hint: 'Put the one with "always" last.',
      }),
    );
}

const isAfterTurn = (entry: DocumentNode): boolean =>
  entry.has('if') && entry.at('at').value !== 'before_turn';

function checkGroup(group: DocumentNode, members: Members): readonly Issue[] {
  const agents = group.at('agents').items();
  const names = agents.flatMap((each) => each.text() ?? []);
  const start = group.at('start');
  const next = group.at('next_speaker');
  const unlisted = (place: DocumentNode) => {
    const name = place.text();
    if (name === undefined || names.length === 0 || names.includes(name)) return [];
    return [
      errorAt(place, 'unknown_agent', `"${name}" is not one of the "agents" of this group.`, {
        hint: () => suggest(name, names, 'Agents'),
      }),
    ];
  };
  const fallback = next.at('fallback');
  return [
    ...checkUnique(agents, 'agents'),
    ...agents
      .filter((each) => NOT_AGENTS.includes(each.text() ?? ''))
      .map((each) =>
        errorAt(each, 'not_allowed', `"${each.text()}" is not an agent.`, {
          hint: '"user" and "end" are what "next_speaker" may give beside agents.',
        }),
      ),
    ...unlisted(start),
    ...(NOT_AGENTS.includes(fallback.text() ?? '') ? [] : unlisted(fallback)),
    ...(SPEAKER_WORDS.includes(next.value) ? [] : checkNames(next, { roots: SPEAKER_ROOTS, members })),
  ];
}

function checkLed(agent: DocumentNode): readonly Issue[] {
  const key = ['handoff', 'group'].find((each) => agent.has(each));
  if (key === undefined || agent.at('workflow').text() === undefined) return [];
  return [
    errorAt(agent.at(key), 'exclusive', `An agent that a workflow leads cannot have "${key}".`, {
      hint: 'Let another agent without "workflow" begin the conversation, or take "workflow" out.',
      at: 'key',
    }),
  ];
}

/** Entries that leave the decision to the model, which is not allowed to decide it. */
function checkAllowed(agent: DocumentNode, entries: readonly DocumentNode[]): readonly Issue[] {
  const forModel = entries.find((entry) => !entry.has('if') && !entry.has('always'));
  const settings = agent.at('internal_actions');
  const listed = (key: string) =>
    settings
      .at(key)
      .items()
      .some(({ value }) => value === 'handoff');
  const isOff =
    settings.at('enabled').value === false ||
    listed('blocked_actions') ||
    (settings.has('allowed_actions') && !listed('allowed_actions'));
  if (forModel === undefined || !isOff) return [];
  return [
    warningAt(
      forModel,
      'contradiction',
      'The model cannot hand over: "internal_actions" does not allow it the action "handoff".',
      { hint: 'Allow "handoff", or let the runtime decide: "if" or "always".' },
    ),
  ];
}
