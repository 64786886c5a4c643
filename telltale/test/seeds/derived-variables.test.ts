import { expect, it } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import { type Ran, runAgent, tool } from '../agent/run-agent.ts';

/** The constructs of the seed about context variables that events set. */
const VARIABLES = {
  context_variables: {
    defined_variables: [{ name: 'customer', type: 'string', key: 'user', default: 'unknown' }],
    runtime_variables: [{ name: 'attempts', type: 'number', default: 0 }],
    derived_variables: [
      {
        name: 'interview_complete',
        description: 'Whether the interview is over.',
        default: false,
        triggers: [{ type: 'agent_text', agent: 'InterviewAgent', match: { equals: 'TERMINATE' } }],
      },
    ],
  },
};

const ASK =
  '<action type="agent" mode="sync" id="ask">{"name": "InterviewAgent", "parameters": {"topic": "x"}}</action>';
const DONE = '<response>Done.</response>';
const LOOK =
  '<action type="workflow" mode="sync" id="flow">{"name": "look"}</action>' +
  '<action type="agent" mode="sync" id="sub">{"name": "Reader", "parameters": {"topic": "x"}}</action>';

const interview = (says: string, more: Readonly<Record<string, string>> = {}, turns = [ASK, LOOK, DONE]) =>
  runAgent({
    manifest: 'import: { agents: [agents/*.yml], workflows: [look.yml], artifacts: [judge.yml] }\n',
    files: {
      'context_variables.json': JSON.stringify(VARIABLES),
      'agents/InterviewAgent.yml': 'kind: Agent\nname: InterviewAgent\nmodel: scripted:../interview.json\n',
      'agents/Reader.yml': `kind: Agent
name: Reader
model: scripted:../reader.json
metadata: { inherit: read }
context_variables: { runtime: [{ name: interview_complete }] }
`,
      'interview.json': JSON.stringify({ turns: [`<response>${says}</response>`] }),
      'reader.json': JSON.stringify({ turns: ['<response>$interview_complete</response>'] }),
      'look.yml': `kind: Workflow
name: look
steps:
  - { name: seen, type: script, script: "parameters.complete", parameters: { complete: "\${vars.interview_complete}" } }
  - { name: judge, type: script, script: "'judged'", if: { invoke: judge, method: complete, fallback: false } }
`,
      'judge.yml': `kind: Artifact
name: judge
language: js
methods: { complete: {} }
source: |
  export function complete(context) { return context.variables.interview_complete === true; }
`,
      ...more,
    },
    turns,
  });

const changes = ({ of }: Ran): readonly (readonly Json[])[] =>
  of('variable.changed').map(({ name, to, by }) => [name, to, by ?? null]);

it('an exact text of the named agent sets it to true, once and with the reason', async () => {
  const ran = await interview('TERMINATE');
  expect(changes(ran)).toEqual([['interview_complete', true, 'derived:agent_text']]);
});

it.each(['terminate', ' TERMINATE', 'TERMINATE.', 'Please TERMINATE'])(
  'no other text does: %j',
  async (says) => {
    expect(changes(await interview(says, {}, [ASK, DONE]))).toEqual([]);
  },
);

it('the same text of another agent does not', async () => {
  const ran = await interview('Hello.', {}, ['<response final="false">TERMINATE</response>', DONE]);
  expect(changes(ran)).toEqual([]);
});

it('every scope sees defaults and changes: prompts, sub-agents, workflows', async () => {
  const ran = await interview('TERMINATE');
  expect(ran.prompts[0]).toContain('interview_complete: false (Whether the interview is over.)');
  expect(ran.prompts[1]).toContain('interview_complete: true');
  const output = (id: string) => ran.of('action.completed').find((each) => each.id === id)?.output;
  expect([output('flow'), output('sub')]).toEqual(['judged', 'true']);
  expect(ran.of('action.failed')).toEqual([]);
  const first = await interview('Hello.', {}, [LOOK, DONE]);
  expect(
    first
      .of('action.completed')
      .map(({ output }) => output)
      .toSorted(),
  ).toEqual([false, 'false']);
});

it('all three classes are seeded with their defaults, and a resumed value is kept', async () => {
  const ran = await interview('Hello.', {}, ['<response>$customer $attempts $interview_complete</response>']);
  expect(ran.result.result).toBe('unknown 0 false');
});

it('without a declaration nothing of it is there', async () => {
  const ran = await interview('TERMINATE', { 'context_variables.json': '' }, [ASK, DONE]);
  expect(ran.of('variable.changed')).toEqual([]);
  expect(ran.prompts[0]).not.toContain('interview_complete');
});

it('turns, tool results, time and functions set variables, too', async () => {
  const ran = await runAgent({
    manifest: `import: { tools: [tools/*.yml], artifacts: [judge.yml] }
context_variables:
  derived:
    - { name: two_turns, default: false, triggers: [{ type: agent_turn_count, at_least: 2 }] }
    - { name: fetched, default: false, triggers: [{ type: tool_response, tool: fetch, status: ok }] }
    - { name: judged, default: false, triggers: [{ type: function, artifact: judge, method: now, fallback: false }] }
    - { name: late, default: false, triggers: [{ type: timer_expired, after: 1h }] }
`,
    files: {
      ...tool('fetch', 'return 1;'),
      'judge.yml':
        'kind: Artifact\nname: judge\nlanguage: js\nmethods: { now: {} }\nsource: "export const now = ({ recent_actions }) => recent_actions.length > 0;"\n',
    },
    turns: ['<action>{"name": "fetch"}</action>', '<response final="false">More.</response>', DONE],
  });
  expect(changes(ran).toSorted()).toEqual([
    ['fetched', true, 'derived:tool_response'],
    ['judged', true, 'derived:function'],
    ['two_turns', true, 'derived:agent_turn_count'],
  ]);
  expect(ran.of('timer.set')).toHaveLength(1);
});

it("a type of one's own is registered in one place", async () => {
  const ran = await runAgent({
    manifest:
      'context_variables: { derived: [{ name: loud, default: false, triggers: [{ type: "acme:loud", marks: 2 }] }] }\n',
    turns: ['<response>Stop!!</response>'],
    runtime: {
      derivedTriggers: {
        'acme:loud': {
          description: 'Somebody shouts.',
          schema: { type: 'object', properties: { marks: { type: 'integer' } } },
          parse: ({ marks }) => Number(marks),
          on: () => ['response'],
          matches: (marks: number, { event }) =>
            event.type === 'response' && event.text.endsWith('!'.repeat(marks)),
        },
      },
    },
  });
  expect(changes(ran)).toEqual([['loud', true, 'derived:acme:loud']]);
});
