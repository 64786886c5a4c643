import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime, defineAgent, type Session } from '../../../src/index.ts';
import { createMemoryStore } from '../../../src/testing/run-agent.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { runTeam } from '../children/run-team.ts';
import { tool } from '../run-agent.ts';
import { speak } from '../speak.ts';

const final = (text: string) => `<response final="true">${text}</response>`;
const handoff = (to: string, more: object = {}, id = 'h1') =>
  `<action type="internal" id="${id}">${JSON.stringify({ name: 'handoff', parameters: { to, ...more } })}</action>`;
const action = (id: string, name: string, mode = 'async', parameters: object = {}) =>
  `<action id="${id}" mode="${mode}">${JSON.stringify({ name, parameters })}</action>`;
const DIALECTS = ['tags', 'tools', 'step'] as const;
const SLOW = tool('slow', 'await new Promise((done) => setTimeout(done, 60)); return "late";');
const BROKEN = tool('broken', 'throw new Error("No disk.");');

describe.each(DIALECTS)('a handoff in the dialect %s', (dialect) => {
  const to = (agent: string, id: string) => ({
    call: 'handoff',
    type: 'internal' as const,
    input: { to: agent },
    run: { id },
  });

  it('is refused to the agent itself, to strangers, and to agents that only others may hand over to', async () => {
    const ran = await runTeam(
      { billing: { turns: [] }, manager: { turns: [] } },
      {
        manifest: `dialect: ${dialect}\nhandoff: [billing, { to: manager, if: "false" }]\n`,
        turns: [
          speak(dialect, [to('tester', 'a'), to('nobody', 'b'), to('manager', 'c')]),
          speak(dialect, [{ respond: 'I answer myself.' }]),
        ],
      },
    );
    expect(ran.of('action.failed').map(({ error }) => error.code)).toEqual([
      'self_handoff',
      'not_permitted',
      'not_permitted',
    ]);
    expect(ran.of('handoff')).toEqual([]);
    expect(ran.result).toMatchObject({ status: 'completed', result: 'I answer myself.' });
  });

  it('takes place once in a turn: a second one fails, and the first one counts', async () => {
    const ran = await runTeam(
      {
        billing: { manifest: `dialect: ${dialect}\n`, turns: [speak(dialect, [{ respond: 'Nothing.' }])] },
        manager: { turns: [] },
      },
      {
        manifest: `dialect: ${dialect}\nhandoff: [billing, manager]\n`,
        turns: [speak(dialect, [to('billing', 'a'), to('manager', 'b')])],
      },
    );
    expect(ran.of('action.failed').map(({ id, error }) => [id, error.code])).toEqual([['b', 'handed_over']]);
    expect(ran.of('handoff').map((event) => event.to)).toEqual(['billing']);
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Nothing.' });
  });
});

describe.each(['tags', 'tools'] as const)(
  'a handoff behind a final response, in the dialect %s',
  (dialect) => {
    const to = { call: 'handoff', type: 'internal' as const, input: { to: 'billing' } };

    it('takes place: the response is the last word of the agent', async () => {
      const ran = await runTeam(
        { billing: { turns: [final('Nothing.')] } },
        {
          manifest: `dialect: ${dialect}\nhandoff: [billing]\n`,
          turns: [speak(dialect, [{ respond: 'One moment.' }, to])],
        },
      );
      expect(ran.of('response').map(({ text }) => text)).toEqual(['One moment.']);
      expect(ran.of('handoff')).toHaveLength(1);
      expect(ran.of('fault')).toEqual([]);
      expect(ran.result).toMatchObject({ status: 'completed', result: 'Nothing.' });
    });
  },
);

describe('a handoff beside other things of the same turn', () => {
  it('waits for the actions of the turn, and takes place although one of them failed', async () => {
    const ran = await runTeam(
      { billing: { turns: [final('Nothing.')] } },
      {
        manifest: 'tools: [./tools/*.yml]\nhandoff: [billing]\n',
        files: { ...SLOW, ...BROKEN },
        turns: [`${action('s', 'slow')}${action('b', 'broken')}${handoff('billing')}`],
      },
    );
    const at = (type: string) => ran.types.indexOf(type as never);
    expect(ran.of('action.completed').map(({ id }) => id)).toContain('s');
    expect(ran.of('action.failed').map(({ id }) => id)).toEqual(['b']);
    expect(ran.types.lastIndexOf('action.completed')).toBeLessThan(at('handoff'));
    expect(at('action.failed')).toBeLessThan(at('handoff'));
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Nothing.' });
  });

  it('leaves an action in the background alone: its result is there when the agent speaks again', async () => {
    const ran = await runTeam(
      {
        billing: {
          manifest: 'handoff: [{ to: tester, always: true }]\nimport: { agents: [../agent.yml] }\n',
          turns: [final('Nothing.')],
        },
      },
      {
        manifest: 'tools: [./tools/*.yml]\nhandoff: [billing]\n',
        files: SLOW,
        turns: [`${action('s', 'slow', 'background')}${handoff('billing')}`, final('It is $s.')],
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'It is late.' });
  });

  it('does not take place where it is skipped', async () => {
    const ran = await runTeam(
      { billing: { turns: [] } },
      {
        manifest: 'tools: [./tools/*.yml]\nhandoff: [billing]\n',
        files: BROKEN,
        turns: [
          `${action('b', 'broken')}<action type="internal" id="h" depends_on="b">{"name": "handoff", "parameters": {"to": "billing"}, "depends_on": ["b"]}</action>`,
          final('I answer myself.'),
        ],
      },
    );
    expect(ran.of('handoff')).toEqual([]);
    expect(ran.result).toMatchObject({ status: 'completed', result: 'I answer myself.' });
  });
});

describe('agents that hand the conversation back and forth', () => {
  it('are stopped with the chain of names, also where their models decide', async () => {
    const ran = await runTeam(
      {
        b: {
          manifest: 'handoff: [tester]\nimport: { agents: [../agent.yml] }\n',
          turns: [handoff('tester'), handoff('tester', {}, 'h2'), handoff('tester', {}, 'h3')],
        },
      },
      {
        manifest: 'limits: { handoffs: 4 }\nhandoff: [b]\n',
        turns: [handoff('b'), handoff('b', {}, 'h2'), handoff('b', {}, 'h3')],
      },
    );
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'limit_handoffs' } });
    expect(ran.result.error?.message).toContain('tester → b → tester → b → tester');
    expect(ran.of('handoff')).toHaveLength(4);
  });

  it('begin to count anew with each message of the person', async () => {
    const back = {
      manifest: 'handoff: [{ to: tester, always: true }]\nimport: { agents: [../agent.yml] }\n',
    };
    const ran = await runTeam(
      { b: { ...back, turns: [final('b1'), final('b2')] } },
      {
        manifest: 'limits: { handoffs: 2 }\nhandoff: [b]\n',
        turns: [handoff('b'), final('a1'), handoff('b', {}, 'h2'), final('a2')],
        start: { chat: true },
        async during(session) {
          await waits(session);
          await session.say('Again.');
          await waits(session);
          session.finish();
        },
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'a2' });
    expect(ran.of('handoff')).toHaveLength(4);
  });
});

const waits = (session: Session): Promise<void> =>
  new Promise((resolve) => {
    const forget = session.subscribe((event) => {
      if (event.type !== 'session.waiting' || event.for !== 'message') return;
      forget();
      resolve();
    });
  });

describe('a handoff of an agent that works for somebody', () => {
  const refused: string[] = [];
  it('stays within the sub-agent: its caller gets the answer of whoever speaks last there', async () => {
    const ran = await runTeam(
      {
        desk: {
          manifest: 'handoff: [expert]\nimport: { agents: [./expert.yml] }\n',
          turns: [handoff('expert')],
        },
        expert: { turns: [final('42')] },
      },
      {
        turns: [
          '<action type="agent" mode="sync" id="d">{"name": "desk", "parameters": {"input": "How many?"}}</action>',
          final('It is $d.'),
        ],
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'It is 42.' });
    expect(ran.of('handoff')).toEqual([]);
    expect(ran.childOf('d', 'handoff')).toMatchObject([{ from: 'desk', to: 'expert' }]);
    expect(ran.childOf('d.speaker.expert', 'session.completed')).toHaveLength(1);
  });

  it('is refused while a workflow gives the agent its tasks', async () => {
    const ran = await runTeam(
      {
        desk: {
          manifest: 'handoff: [expert]\nimport: { agents: [./expert.yml] }\n',
          turns: [
            handoff('expert'),
            '<action type="internal">{"name": "complete_step", "parameters": {"notes": "I looked at all of it, and there was nothing more to see there."}}</action>',
          ],
        },
        expert: { turns: [] },
      },
      {
        manifest: 'workflows: [./look.flow.yml]\n',
        files: {
          'look.flow.yml':
            'kind: Workflow\nname: look\nsteps: [{ name: look, type: task, agent: desk, prompt: Look. }]\n',
        },
        turns: ['<action type="workflow" mode="sync" id="w">{"name": "look"}</action>', final('Looked.')],
        async after(_, runtime) {
          for (const { stream } of await runtime.store.list({ kind: 'session' })) {
            const events = await runtime.events(stream);
            if (events[0]?.type !== 'session.started' || events[0].agent !== 'desk') continue;
            refused.push(
              ...events.flatMap((each) => (each.type === 'action.failed' ? [each.error.code] : [])),
            );
            expect(events.some(({ type }) => type === 'handoff')).toBe(false);
          }
        },
      },
    );
    expect(ran.result.status).toBe('completed');
    expect(refused).toEqual(['not_permitted']);
  });
});

describe('a next_speaker that goes wrong', () => {
  const team = {
    writer: { turns: [final('Draft 1.'), final('Draft 2.')] },
    critic: { turns: [final('Too long.'), final('Better.')] },
  };
  const group = (source: string, more = '') => ({
    manifest: `group: { agents: [writer, critic], next_speaker: { invoke: chair, method: next, fallback: user${more} } }
---
kind: Artifact
name: chair
methods: { next: {} }
source: ${JSON.stringify(source)}
`,
    turns: [],
  });

  it.each([
    ['throws', 'export function next() { throw new Error("No idea."); }'],
    ['gives nonsense', 'export function next() { return { who: "writer" }; }'],
    ['gives an agent that is not in the group', 'export function next() { return "tester"; }'],
    ['takes too long', 'export function next() { for (;;) {} }'],
  ])('falls back where the artifact %s, and the log says why', async (_, source) => {
    const ran = await runTeam(team, group(source));
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Draft 1.' });
    expect(ran.of('handoff').map(({ to }) => to)).toEqual(['writer']);
    expect(ran.of('invoke')).toMatchObject([
      { where: 'group: next_speaker', result: 'user', fallback: { message: expect.stringMatching(/./) } },
    ]);
  });

  it('has to say what counts then', async () => {
    const { manifest } = group('export function next() { return "writer"; }');
    await expect(
      runTeam(team, { manifest: manifest.replace(', fallback: user', ''), turns: [] }),
    ).rejects.toThrow(/fallback/);
  });

  it('falls back where a test cannot be evaluated: it counts as false, and the log says so', async () => {
    const ran = await runTeam(
      { billing: { turns: [] } },
      {
        manifest: `context_variables: { runtime: [{ name: owed, type: any, default: "unknown" }] }
handoff: [{ to: billing, if: "vars.owed > 3" }]
`,
        turns: [final('Here.')],
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Here.' });
    expect(ran.of('audit').map(({ what }) => what)).toEqual([
      expect.stringContaining('agent tester: handoff 0 counts as false'),
    ]);
  });
});

describe('the limits of a conversation', () => {
  it('hold for all of its agents: what each of them uses counts', async () => {
    const busy = '<action>{"name":"list_actions"}</action>';
    const ran = await runTeam(
      { billing: { turns: Array.from({ length: 40 }, () => busy) } },
      { manifest: 'limits: { tokens: 6000 }\nhandoff: [billing]\n', turns: [handoff('billing')] },
    );
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'limit_tokens' } });
    expect(ran.result.error?.message).toContain('6000 tokens');
    expect(ran.childOf('speaker.billing', 'session.failed')).toHaveLength(1);
  });

  it('include the budget: it is one for all', async () => {
    const busy = '<action>{"name":"list_actions"}</action>';
    const ran = await runTeam(
      {
        billing: {
          manifest: 'budget: { balance: 100, costs: { turn: 1 } }\n',
          turns: Array.from({ length: 40 }, () => busy),
        },
      },
      {
        manifest: 'budget: { balance: 4, costs: { turn: 1 } }\nhandoff: [billing]\n',
        turns: [handoff('billing')],
      },
    );
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'limit_budget' } });
    expect(ran.childOf('speaker.billing', 'turn.completed').length).toBeLessThanOrEqual(3);
  });
});

describe('a message of the person', () => {
  it('steers the agent that has the conversation, through the runtime, in the middle of its work', async () => {
    const gate = `const { existsSync } = await import('node:fs');
      while (!existsSync(new URL('../open', import.meta.url))) await new Promise((next) => setTimeout(next, 5));
      return 'open';`;
    const ran = await runTeam(
      {
        billing: {
          manifest: 'import: { tools: [../tools/gate.yml] }\n',
          turns: [`${action('g', 'gate', 'sync')}`, final('As you said.')],
        },
      },
      {
        manifest: 'handoff: [billing]\n',
        files: { ...tool('gate', gate) },
        turns: [`${handoff('billing')}${final('One moment.')}`],
        async during(session, runtime) {
          await expect.poll(async () => (await runtime.state(session.id)).thread?.speaker).toBe('billing');
          await runtime.steer(session.id, 'Use the second account.');
          const { manifest } = await runtime.state(session.id);
          writeFileSync(join(dirname(manifest.path), 'open'), '');
        },
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'As you said.' });
    expect(ran.childOf('speaker.billing', 'message.received')).toMatchObject([
      { from: 'steer', text: 'Use the second account.' },
    ]);
  });

  /** Where the person speaks: every place that the handoff passes. */
  const POINTS = [
    'append:handoff.requested',
    'committed:handoff.requested',
    'committed:response',
    'append:handoff',
    'committed:handoff',
    'handoff:billing',
    'committed:child.turn.started',
    'append:child.response',
    'committed:child.response',
  ];

  it.each(POINTS)(
    'is answered once by one of the agents, and lost by none, when it comes at %s',
    async (point) => {
      const store = createMemoryStore();
      const billing = await defineAgent({
        name: 'billing',
        model: scripted([final('One.'), final('Two.'), final('Three.')]),
      });
      const triageModel = scripted([
        `${handoff('billing')}${final('One moment.')}`,
        handoff('billing', {}, 'h2'),
      ]);
      const agent = await defineAgent({
        name: 'triage',
        model: triageModel,
        handoff: ['billing'],
        agents: [billing],
      });
      let said: Promise<void> | undefined;
      const session: { current?: Session } = {};
      const runtime = await createRuntime({
        store,
        crashPoint(name) {
          if (name === point) said ??= session.current?.say('And since when?');
        },
      });
      const chat = runtime.start(agent, { id: 'ses_chat', input: 'What do I owe?', chat: true });
      session.current = chat as Session;
      await expect
        .poll(async () => {
          const { thread, idle } = await runtime.state('ses_chat');
          return said !== undefined && idle && thread?.pending.length === 0;
        })
        .toBe(true);
      await said;
      chat.finish();
      expect((await chat.result).status).toBe('completed');
      const own = await runtime.events('ses_chat');
      const member = await runtime.events('ses_chat.speaker.billing');
      expect(own.filter(({ type }) => type === 'message.received')).toHaveLength(1);
      const toldIn = [...member].filter(
        (event) =>
          (event.type === 'session.started' && event.input.includes('And since when?')) ||
          (event.type === 'message.received' && event.text.includes('And since when?')),
      );
      expect(toldIn).toHaveLength(1);
      await runtime.close();
    },
  );
});

describe('an agent of a conversation that fails', () => {
  it('fails the conversation, which goes on at that agent when it is resumed', async () => {
    const store = createMemoryStore();
    const runtime = await createRuntime({ store });
    const agentWith = async (billingTurns: readonly string[]) =>
      defineAgent({
        name: 'triage',
        model: scripted([`${handoff('billing')}${final('One moment.')}`]),
        handoff: ['billing'],
        agents: [await defineAgent({ name: 'billing', model: scripted(billingTurns) })],
      });
    const failed = await runtime.start(await agentWith([]), { id: 'ses_desk', input: 'What do I owe?' })
      .result;
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'agent_failed' } });
    expect(failed.error?.message).toContain('billing');
    const agent = await agentWith([final('The script of turn 1.'), final('Nothing.')]);
    const resumed = await runtime.resume('ses_desk', { agent, acceptChanges: true });
    expect(await resumed.result).toMatchObject({ status: 'completed', result: 'Nothing.' });
    const events = await runtime.events('ses_desk');
    expect(events.filter(({ type }) => type === 'handoff')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'response')).toHaveLength(1);
    await runtime.close();
  });
});
