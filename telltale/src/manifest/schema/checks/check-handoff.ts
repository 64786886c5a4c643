import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { NOT_AGENTS } from '../handoff.ts';
import { checkNames } from './check-names.ts';
import { checkUnique } from './check-unique.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';

type Members = ReadonlyMap<string, readonly string[]>;

const TEST_ROOTS = ['metadata', 'vars', 'actions', 'agent'];
const SPEAKER_ROOTS = ['speaker', 'agents', 'rounds', 'last', 'metadata', 'vars', 'agent'];
const SPEAKER_WORDS: readonly unknown[] = ['round_robin', 'random', ...NOT_AGENTS];

/** What "handoff" and "group" say against themselves, and against the rest of the agent. */
export function checkHandoff(agent: DocumentNode, members: Members): readonly Issue[] {
  const entries = agent.at('handoff').items();
  const group = agent.at('group');
  return [
    ...entries.flatMap((entry) => checkTarget(entry, agent)),
    ...[...entries, ...group.at('on_message').items()].flatMap((entry) =>
      checkNames(entry.at('if'), { roots: TEST_ROOTS, members }),
    ),
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

/** Entries that are checked after one that always holds. */
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
