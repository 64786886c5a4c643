import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import type { Session } from '../../../src/agent/runtime-types.ts';
import type { ObservedEvent } from '../../../src/log/event.ts';
import { crashEverywhere } from '../../../src/testing/crash.ts';
import { createMemoryStore } from '../../../src/testing/run-agent.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { runTeam } from '../children/run-team.ts';
import { speak } from '../speak.ts';

const final = (text: string) => `<response final="true">${text}</response>`;
const handoff = (to: string, more: object = {}, id = 'h1') =>
  `<action type="internal" id="${id}">${JSON.stringify({ name: 'handoff', parameters: { to, ...more } })}</action>`;

const seen = (session: Session, is: (event: ObservedEvent) => boolean): Promise<ObservedEvent> =>
  new Promise((resolve) => {
    const forget = session.subscribe((event) => {
      if (!is(event)) return;
      forget();
      resolve(event);
    });
  });
const waits = (session: Session) =>
  seen(session, (event) => event.type === 'session.waiting' && event.for === 'message');

/** Says these, one after the other, each once the session waits; then finishes. */
const saying =
  (...texts: readonly string[]) =>
  async (session: Session) => {
    let idle = waits(session);
    for (const text of texts) {
      await idle;
      idle = waits(session);
      await session.say(text);
    }
    await idle;
    session.finish();
  };

describe('a handoff', () => {
  it('lets another agent answer, in a session of its own that knows the conversation', async () => {
    const ran = await runTeam(
      { billing: { turns: [final('You owe nothing.')] } },
      {
        manifest: 'handoff: [billing]\n',
        turns: [`${handoff('billing', { reason: 'An invoice' })}${final('One moment.')}`],
        start: { input: 'What do I owe?' },
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'You owe nothing.', turns: 1 });
    expect(ran.of('handoff')).toMatchObject([
      {
        from: 'tester',
        to: 'billing',
        agent_session: `${ran.result.session}.speaker.billing`,
        by: 'model',
        reason: 'An invoice',
        carry: 'messages',
      },
    ]);
    expect(ran.of('child.response')).toMatchObject([
      { action: 'speaker:billing', event: { text: 'You owe nothing.', final: true } },
    ]);
    const [started] = ran.childOf('speaker.billing', 'session.started');
    expect(started?.input).toContain('What do I owe?');
    expect(started?.input).toContain('tester: One moment.');
    expect(started?.input).toContain('An invoice');
    expect(ran.childOf('speaker.billing', 'session.completed')).toHaveLength(1);
  });

  it('moves a chat on: messages go to whoever speaks, and an agent that comes back remembers', async () => {
    const ran = await runTeam(
      {
        billing: {
          manifest: 'handoff: [tester]\nimport: { agents: [../agent.yml] }\n',
          turns: [final('It is 3 euros.'), `${handoff('tester')}${final('Back to tester.')}`, final('Paid.')],
        },
      },
      {
        manifest: 'handoff: [billing]\n',
        turns: [handoff('billing'), final('Tester here.'), handoff('billing', { carry: 'none' }, 'h2')],
        start: { chat: true, input: 'What do I owe?' },
        during: saying('And who pays?', 'Is it paid?'),
      },
    );
    expect(ran.of('handoff').map(({ from, to }) => `${from} → ${to}`)).toEqual([
      'tester → billing',
      'billing → tester',
      'tester → billing',
    ]);
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Paid.' });
    expect(ran.childOf('speaker.billing', 'session.started')).toHaveLength(1);
    expect(ran.childOf('speaker.billing', 'message.received').map(({ text }) => text)).toEqual([
      'And who pays?',
      expect.stringMatching(/^You have the conversation again[\s\S]*The user said last:\nIs it paid\?$/),
    ]);
    expect(ran.prompts[1]).toContain('billing: It is 3 euros.');
    expect(ran.prompts[1]).toContain('billing: Back to tester.');
    expect(ran.of('message.received').map(({ text }) => text)).toEqual(['And who pays?', 'Is it paid?']);
  });

  it.each([
    ['before', `${handoff('billing')}${final('One moment.')}`],
    ['behind', `${final('One moment.')}${handoff('billing')}`],
  ])('%s a final response goes on exactly once, wherever the process is killed', async (_, turn) => {
    const handedOver = {
      async setUp() {
        const billing = await defineAgent({
          name: 'billing',
          model: scripted([final('You owe nothing.'), final('And again.')]),
        });
        const agent = await defineAgent({
          name: 'triage',
          model: scripted([turn, final('Triage again.')]),
          handoff: ['billing'],
          agents: [billing],
        });
        return { agent };
      },
      input: 'What do I owe?',
    };
    await crashEverywhere(handedOver, ({ result, events }) => {
      expect(result).toMatchObject({ status: 'completed', result: 'You owe nothing.' });
      expect(events.filter(({ type }) => type === 'handoff')).toHaveLength(1);
      expect(events.filter(({ type }) => type === 'response')).toHaveLength(1);
      expect(events.flatMap((event) => (event.type === 'child.response' ? [event.event.text] : []))).toEqual([
        'You owe nothing.',
      ]);
    });
  });

  it('goes on in a chat that is let go of: the message goes to whoever speaks, once', async () => {
    const store = createMemoryStore();
    const billing = await defineAgent({
      name: 'billing',
      model: scripted([final('You owe nothing.'), final('Since March.')]),
    });
    const agent = await defineAgent({
      name: 'triage',
      model: scripted([handoff('billing')]),
      handoff: ['billing'],
      agents: [billing],
    });
    const first = await createRuntime({ store });
    const session = first.start(agent, { id: 'ses_chat', input: 'What do I owe?', chat: true });
    await waits(session);
    await session.interrupt();
    await first.close();
    await store.send('ses_chat', { kind: 'message', from: 'user', body: 'Since when?' });
    const second = await createRuntime({ store });
    const resumed = await second.resume('ses_chat', { agent, chat: true });
    const idle = waits(resumed);
    await seen(resumed, ({ type }) => type === 'child.response');
    await idle;
    resumed.finish();
    expect(await resumed.result).toMatchObject({ status: 'completed', result: 'Since March.' });
    const told = await second.events('ses_chat.speaker.billing');
    expect(told.flatMap((event) => (event.type === 'message.received' ? [event.text] : []))).toEqual([
      'Since when?',
    ]);
    await second.close();
  });

  it('waits with the agent that speaks for a person who has to approve', async () => {
    const ran = await runTeam(
      {
        billing: {
          manifest: 'import: { tools: [../tools/pay.yml] }\n',
          turns: ['<action id="p">{"name":"pay"}</action>', final('Paid.')],
        },
      },
      {
        manifest: 'handoff: [billing]\n',
        files: {
          'tools/pay.yml': 'kind: Tool\nname: pay\napproval: always\nimplementation: { script: "1" }\n',
        },
        turns: [handoff('billing')],
        runtime: { onWaiting: 'release' },
      },
    );
    expect(ran.result.status).toBe('waiting');
    expect(ran.of('session.waiting').map((event) => event.for)).toEqual([
      `agent ${ran.result.session}.speaker.billing`,
    ]);
  });

  it.each(['tools', 'step'] as const)('works in the dialect %s', async (dialect) => {
    const ran = await runTeam(
      { billing: { manifest: `dialect: ${dialect}\n`, turns: [speak(dialect, [{ respond: 'Nothing.' }])] } },
      {
        manifest: `dialect: ${dialect}\nhandoff: [billing]\n`,
        turns: [speak(dialect, [{ call: 'handoff', type: 'internal', input: { to: 'billing' } }])],
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Nothing.' });
  });

  it('is refused to strangers and to oneself, with the name that was meant', async () => {
    const ran = await runTeam(
      { billing: { turns: [] } },
      {
        manifest: 'handoff: [billing]\n',
        turns: [`${handoff('biling')}${handoff('tester', {}, 'h2')}`, final('I answer myself.')],
      },
    );
    expect(ran.of('action.failed').map(({ error }) => [error.code, error.hint])).toEqual([
      ['not_permitted', 'Did you mean "billing"?'],
      ['self_handoff', 'Answer the user, or name another agent.'],
    ]);
    expect(ran.result).toMatchObject({ status: 'completed', result: 'I answer myself.' });
  });

  it('is taught only where the agent declares one', async () => {
    const systems: string[] = [];
    for (const manifest of ['handoff: [{ to: billing, when: An invoice is asked for. }]\n', '']) {
      const model = scripted([final('Hi.')]);
      await runTeam(
        { billing: { turns: [] } },
        {
          manifest,
          turns: [],
          model: {
            ...model,
            stream: (request, sink) => {
              systems.push(request.system);
              return model.stream(request, sink);
            },
          },
        },
      );
    }
    expect(systems[0]).toContain('When: billing: An invoice is asked for');
    expect(systems[0]).not.toContain('- "billing" {');
    expect(systems[1]).not.toContain('handoff');
  });

  it('ends a circle of agents with the chain', async () => {
    const ran = await runTeam(
      {
        b: {
          manifest: 'handoff: [{ to: tester, always: true }]\nimport: { agents: [../agent.yml] }\n',
          turns: [final('b'), final('b')],
        },
      },
      {
        manifest: 'limits: { handoffs: 3 }\nhandoff: [{ to: b, always: true }]\n',
        turns: [final('a'), final('a')],
      },
    );
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'limit_handoffs' } });
    expect(ran.result.error?.message).toContain('tester → b → tester → b');
    expect(ran.childOf('speaker.b', 'session.cancelled')).toHaveLength(1);
  });

  it('ends with the conversation when that is cancelled', async () => {
    const busy = '<action>{"name":"list_actions"}</action>';
    const ran = await runTeam(
      { billing: { turns: Array.from({ length: 40 }, () => busy) } },
      {
        manifest: 'handoff: [billing]\n',
        turns: [handoff('billing')],
        async during(session) {
          await seen(session, ({ type }) => type === 'child.turn.completed');
          await session.cancel('enough');
        },
      },
    );
    expect(ran.result.status).toBe('cancelled');
    expect(ran.result.usage.output).toBeGreaterThan(0);
    expect(ran.childOf('speaker.billing', 'session.cancelled')).toMatchObject([{ by: 'parent' }]);
  });
});

const vars = (...names: readonly string[]) =>
  `context_variables: { runtime: [${names.map((name) => `{ name: ${name}, default: null }`).join(', ')}] }\n`;

describe('conditions of a handoff', () => {
  it('are checked after the turn and before it, in order, over variables that the agents share', async () => {
    const set = (name: string, value: unknown) =>
      `<action type="internal">${JSON.stringify({ name: 'set_variable', parameters: { name, value } })}</action>`;
    const ran = await runTeam(
      {
        greeter: {
          manifest: `${vars('name')}protocol: { final_with_actions: accept }\nhandoff: [{ to: seller, if: "vars.name != null" }]\nimport: { agents: [./seller.yml] }\n`,
          turns: [`${set('name', 'Ana')}${final('Hello Ana.')}`],
        },
        seller: { manifest: vars('name'), turns: [final('What do you need, Ana?')] },
      },
      {
        manifest: `${vars('name')}handoff: [{ to: greeter, if: "vars.name == null", at: before_turn, reason: No name yet }]\n`,
        turns: [final('I was not to speak.')],
      },
    );
    expect(ran.of('handoff').map(({ from, to, by, reason }) => ({ from, to, by, reason }))).toEqual([
      { from: 'tester', to: 'greeter', by: 'rule', reason: 'No name yet' },
      { from: 'greeter', to: 'seller', by: 'rule', reason: 'vars.name != null' },
    ]);
    expect(ran.result).toMatchObject({ result: 'What do you need, Ana?' });
    expect(ran.of('variable.changed')).toMatchObject([{ name: 'name', to: 'Ana', by: 'child:greeter' }]);
    expect(ran.childOf('speaker.seller', 'session.started')[0]?.vars).toEqual({ name: 'Ana' });
  });

  it('may end the conversation of a chat', async () => {
    const ran = await runTeam(
      {},
      {
        manifest:
          'handoff: [{ to: end, if: "metadata.done == true" }]\nmetadata: { fields: { done: { type: boolean } } }\n',
        turns: [final('Go on.'), `<metadata>{"done": true}</metadata>${final('Bye.')}`],
        start: { chat: true },
        async during(session) {
          await waits(session);
          await session.say('That is all.');
        },
      },
    );
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Bye.' });
  });
});

describe('a group', () => {
  const team = {
    writer: { turns: [final('Draft 1.'), final('Draft 2.')] },
    critic: { turns: [final('Too long.'), final('APPROVED')] },
  };

  it('speaks by turns, each agent once, and begins anew with each message', async () => {
    const ran = await runTeam(team, {
      manifest: 'group: { agents: [writer, critic], next_speaker: round_robin }\n',
      turns: [],
      start: { chat: true },
      during: saying('Shorter.'),
    });
    expect(ran.of('handoff').map(({ to }) => to)).toEqual(['writer', 'critic', 'writer', 'critic']);
    expect(ran.result.result).toBe('APPROVED');
    expect(ran.of('response')).toEqual([]);
    const told = ran.childOf('speaker.writer', 'message.received')[0]?.text;
    expect(told).toContain('critic: Too long.');
    expect(told).toContain('user: Shorter.');
  });

  it('goes by a rule over who spoke and what was said', async () => {
    const ran = await runTeam(team, {
      manifest:
        "group:\n  agents: [writer, critic]\n  next_speaker: \"speaker == 'writer' ? 'critic' : last == 'APPROVED' ? 'end' : 'writer'\"\n",
      turns: [],
    });
    expect(ran.of('handoff').map(({ to }) => to)).toEqual(['writer', 'critic', 'writer', 'critic']);
    expect(ran.result).toMatchObject({ status: 'completed', result: 'APPROVED' });
  });

  it('fails with the names it has where the rule gives another one', async () => {
    const ran = await runTeam(team, {
      manifest: 'group: { agents: [writer, critic], next_speaker: "\'critc\'" }\n',
      turns: [],
    });
    expect(ran.result).toMatchObject({
      status: 'failed',
      error: { code: 'unknown_speaker', hint: 'Did you mean "critic"?' },
    });
  });

  it('may ask an artifact', async () => {
    const chair =
      'export function next(context) { return context.speaker === "writer" ? "critic" : "user"; }';
    const ran = await runTeam(team, {
      manifest: `group: { agents: [writer, critic], next_speaker: { invoke: chair, method: next, fallback: user } }
---
kind: Artifact
name: chair
methods: { next: {} }
source: ${JSON.stringify(chair)}
`,
      turns: [],
    });
    expect(ran.of('handoff').map(({ to }) => to)).toEqual(['writer', 'critic']);
  });
});
