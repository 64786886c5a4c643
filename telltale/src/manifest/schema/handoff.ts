import { z } from 'zod';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { cel, invocation, test } from './decision.ts';
import { isMap } from './plain-values.ts';
import { name, nonEmptyText } from './values.ts';

/** Words in place of an agent's name: the person speaks next, or the conversation ends. */
export const NOT_AGENTS: readonly string[] = ['user', 'end'];

export const CARRIES = ['messages', 'summary', 'none'] as const;
export type Carry = (typeof CARRIES)[number];

const target = name('An agent, "user" (wait for the person) or "end" (the conversation is over).');

const carry = z
  .enum(CARRIES)
  .describe(
    'What the next agent is told of the conversation: its messages, a summary, or only the last one.',
  );

const SLIPS = {
  agent: 'The agent is "to".',
  target: 'The agent is "to".',
  target_agent: 'The agent is "to".',
  condition: 'CEL that the runtime checks is "if"; text that the model decides by is "when".',
  description: 'What the model decides by is "when".',
};

const entry = closed(
  {
    title: 'an entry of "handoff"',
    id: 'Handoff',
    description: 'An agent that the conversation may move to, and what decides it.',
    slips: { ...SLIPS, scope: 'It is "at".' },
    atMostOne: [['when', 'if', 'always']],
    demands: { at: ['if'] },
  },
  {
    to: target,
    when: nonEmptyText('The model decides; it is told when to hand over.').optional(),
    if: test(
      'The runtime decides, in the order of the list: CEL over vars, metadata, actions and agent.',
    ).optional(),
    always: z.literal(true).describe('Whenever no entry before it held: the default.').optional(),
    at: z
      .enum(['after_turn', 'before_turn'])
      .describe('When "if" is checked: once the agent has answered (the default), or before it is asked.')
      .optional(),
    carry: carry.optional(),
    reason: nonEmptyText('Why, for the next agent and the log; what decided it if absent.').optional(),
  },
);

const agentName = name('An agent that the model may hand the conversation to.');

/** The agents that the conversation may move to. An entry that is only a name leaves the decision to the model. */
export const handoff = z
  .array(choice([agentName, entry], (value) => (isMap(value) ? entry : agentName)))
  .prefault([])
  .describe('Agents that the conversation may move to: names, or entries { to, when | if | always }.');

const speakerRule = cel(
  'round_robin, random, or CEL over speaker, agents, rounds, last, vars, metadata and agent that gives a name, "user" or "end".',
);
const askedSpeaker = invocation(
  'SpeakerInvocation',
  name('Who speaks when the artifact is missing, fails or is too slow: an agent, "user" or "end".'),
);

const messageRule = closed(
  {
    title: 'an entry of "on_message"',
    description: 'Who gets a message of the person.',
    slips: SLIPS,
    exactlyOne: [['if', 'always']],
  },
  {
    to: name('An agent.'),
    if: test('CEL over vars, metadata, actions and agent.').optional(),
    always: z.literal(true).describe('Whenever no entry before it held.').optional(),
  },
);

/** Several agents in one conversation, and the rules for who speaks next. */
export const group = closed(
  {
    title: '"group"',
    id: 'Group',
    description: 'Several agents in one conversation, and who speaks after whom.',
    slips: {
      members: 'They are "agents".',
      speakers: 'They are "agents".',
      pattern: 'It is "next_speaker".',
      initial_agent: 'It is "start".',
      max_turns: 'It is "limits: { handoffs }" of this agent.',
      max_round: 'It is "limits: { handoffs }" of this agent.',
    },
  },
  {
    agents: z
      .array(name('An agent; this one only if it speaks, too.'))
      .min(1)
      .describe('Who takes part, in order.'),
    start: name('Who speaks first; the first of "agents" if absent.').optional(),
    next_speaker: choice([speakerRule, askedSpeaker], (value) => (isMap(value) ? askedSpeaker : speakerRule))
      .default('user')
      .register(z.globalRegistry, {
        description:
          'Who speaks after an agent that hands over to nobody: round_robin, random, CEL that gives a name, or an artifact. The person if absent.',
      }),
    on_message: z
      .array(messageRule)
      .prefault([])
      .describe('Who gets a message of the person; the last speaker if none holds.'),
    carry: carry.optional(),
  },
);
