import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Runtime, RuntimeOptions, Session } from '../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { encodeEvent } from '../../src/log/codec.ts';
import type { EventOf } from '../../src/log/event.ts';
import type { SessionPrompt } from '../../src/log/session-prompt.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { appendCommitted } from '../../src/store/upkeep/append-committed.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { sse, startProviderServer } from '../models/provider-server.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';
import { speak } from './speak.ts';

// That every turn of every session which tests run with `runAgent` is rebuilt as it was sent is checked there:
// unlike-prompts.ts. Here is what else a prompt tells, and sessions that are run in other ways.

const FILES = tool('echo', 'return input.text ?? "nothing";', 'description: Says it again.\n');
const IMPORT = 'import: { tools: [./tools/*.yml] }\n';

async function opened(options: RuntimeOptions = {}): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory', random: () => 0, ...options });
  onTestFinished(() => runtime.close());
  return runtime;
}

const texts = ({ messages }: SessionPrompt): readonly string[] =>
  messages.map(({ content }) => content.map((part) => ('text' in part ? part.text : part.input)).join('|'));

describe.each(['tags', 'tools', 'step'] as const)('the prompt of a turn in %s', (dialect) => {
  const turns = [
    {
      text: speak(dialect, [{ call: 'echo', input: { text: 'first' }, run: { id: 'a' } }]),
      usage: { input: 1_000, output: 10, cached: 800 },
    },
    speak(dialect, [{ respond: 'Done.' }]),
  ];

  const ran = async () => {
    const cwd = agentFolder(`dialect: ${dialect}\ninstructions: Be kind.\n${IMPORT}`, FILES);
    const agent = await loadAgent('agent.yml', { cwd });
    const runtime = await opened({ cwd });
    const session = runtime.start(agent, { input: 'Do it.', model: scripted(turns) });
    expect((await session.result).status).toBe('completed');
    return { runtime, session };
  };

  it('has the parts, the messages, the tools and the options, with tokens that add up', async () => {
    const { runtime, session } = await ran();
    const prompt = await session.prompt(1);
    expect(prompt).toMatchObject({
      session: session.id,
      agent: 'tester',
      dialect,
      turn: 1,
      last: 2,
      match: 'same',
      options: dialect === 'step' ? { toolChoice: 'step' } : {},
      messages: [{ role: 'user', turn: 1, new: true }],
    });
    expect(texts(prompt)[0]).toContain('Do it.');
    expect(prompt.system[0]).toMatchObject({ name: 'instructions', text: 'Be kind.\n\n' });
    const { tools, system, messages, tokens } = prompt;
    expect(tools.map(({ name }) => name).includes('echo')).toBe(dialect === 'tools');
    const sum = (parts: readonly { tokens: number }[]) => parts.reduce((all, part) => all + part.tokens, 0);
    expect(tokens).toEqual({
      system: sum(system),
      tools: sum(tools),
      messages: sum(messages),
      new: sum(messages),
      total: sum(system) + sum(tools) + sum(messages),
    });
    expect(sum(messages)).toBeGreaterThan(0);
    expect(await runtime.prompt(session.id, 1)).toEqual(prompt);
  });

  it('says what is new since the turn before, and what the cache served', async () => {
    const { session } = await ran();
    const prompt = await session.prompt();
    expect(prompt).toMatchObject({ turn: 2, usage: { estimated: true } });
    expect(await session.prompt(1)).toMatchObject({ usage: { input: 1_000, cached: 800 } });
    expect(prompt.messages.map((message) => [message.turn, message.new])).toEqual([
      [1, false],
      ...prompt.messages.slice(1).map(() => [2, true]),
    ]);
    expect(prompt.messages[1]?.role).toBe('assistant');
    expect(texts(prompt).slice(1).join('\n')).toContain('first');
    const calls = prompt.messages.flatMap(({ content }) => content.filter(({ type }) => type === 'call'));
    const results = prompt.messages.flatMap(({ content }) => content.filter(({ type }) => type === 'result'));
    expect([calls.length, results.length]).toEqual(dialect === 'tags' ? [0, 0] : [1, 1]);
    if (calls[0]?.type === 'call' && results[0]?.type === 'result') expect(results[0].call).toBe(calls[0].id);
  });
});

it('is, word for word, what a provider receives over HTTP', async () => {
  const server = await startProviderServer();
  onTestFinished(() => server.close());
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const say = (id: string, name: string, input: object) => [
    chunk({ role: 'assistant', content: 'Well. ' }),
    chunk({
      tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
    }),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ];
  const turns = [
    say('c1', 'echo', { text: 'one' }),
    say('c2', 'echo', { text: 'two' }),
    say('c3', 'respond', { text: 'Done.' }),
  ];
  server.answer = (response) => {
    sse(response, turns[server.requests.length - 1] ?? []);
    response.end();
  };
  const cwd = agentFolder('', {
    ...FILES,
    'agent.yml': `kind: Agent\nname: tester\nmodel: openai-compatible/m\ndialect: tools\n${IMPORT}`,
  });
  const runtime = await opened({ cwd, env: { OPENAI_COMPATIBLE_BASE_URL: server.url } });
  const session = runtime.start(await loadAgent('agent.yml', { cwd }), { input: 'Do it.' });
  expect(await session.result).toMatchObject({ status: 'completed', turns: 3 });
  expect(server.requests).toHaveLength(3);
  for (const [index, { body }] of server.requests.entries()) {
    const { messages, tools } = JSON.parse(body);
    const prompt = await runtime.prompt(session.id, index + 1);
    const shown = [
      { role: 'system', content: prompt.system.map(({ text }) => text).join('') },
      ...prompt.messages.flatMap(({ role, content }): object[] => {
        if (role === 'user') return [{ role, content: texts({ messages: [{ content }] } as never)[0] }];
        return content.flatMap((part): object[] => {
          if (part.type === 'text') return [{ said: part.text }];
          if (part.type === 'call') return [{ id: part.id, name: part.name, input: JSON.parse(part.input) }];
          return part.type === 'result' ? [{ call: part.call, text: part.text }] : [];
        });
      }),
    ];
    const received = messages.flatMap((message: Record<string, never>): object[] => {
      const { role, content, tool_calls: calls = [], tool_call_id: call } = message;
      if (role === 'tool') return [{ call, text: content }];
      if (role !== 'assistant') return [{ role, content }];
      return [
        { said: content },
        ...(calls as { id: string; function: { name: string; arguments: string } }[]).map((each) => ({
          id: each.id,
          name: each.function.name,
          input: JSON.parse(each.function.arguments),
        })),
      ];
    });
    expect(received).toEqual(shown);
    expect(tools.map((each: { function: { name: string } }) => each.function.name)).toEqual(
      prompt.tools.map(({ name }) => name),
    );
    expect(JSON.stringify(prompt)).not.toContain(server.url);
  }
});

describe('the prompts of a session', () => {
  const allOf = async (runtime: Runtime, session: string): Promise<readonly SessionPrompt[]> => {
    const { last } = await runtime.prompt(session);
    return Promise.all(Array.from({ length: last }, (_, index) => runtime.prompt(session, index + 1)));
  };

  it('are the same from another process, after a restart in the middle of a turn', async () => {
    const cwd = agentFolder(IMPORT, FILES);
    const store = createMemoryStore({ clock: createSystemClock() });
    const first = await opened({ cwd, store });
    const stuck = {
      id: 'scripted:none.yml',
      stream: async (request: { signal: AbortSignal }, sink: { text(delta: string): void }) => {
        sink.text('<action id="a" mode="sync">{"name":"echo","parameters":{"text":"x"}}</action>Then ');
        await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
        throw new Error('cut');
      },
    };
    const agent = await loadAgent('agent.yml', { cwd });
    const session = first.start(agent, { input: 'Do it.', model: stuck as never });
    await expect
      .poll(async () => (await first.events(session.id)).some(({ type }) => type === 'action.completed'))
      .toBe(true);
    await session.interrupt();
    await first.close();
    const second = await opened({ cwd, store });
    const turns = ['none', '<action id="b">{"name":"echo"}</action>', '<response>Done.</response>'];
    const resumed = await second.resume(session.id, { agent, model: scripted(turns) });
    expect((await resumed.result).status).toBe('completed');
    const prompts = await allOf(await opened({ cwd, store }), session.id);
    expect(prompts.length).toBeGreaterThan(1);
    expect(prompts.map(({ match }) => match)).toEqual(prompts.map(() => 'same'));
  });

  it('are shown of a chat that is steered, while it waits', async () => {
    const cwd = agentFolder('', {});
    const runtime = await opened({ cwd });
    const agent = await loadAgent('agent.yml', { cwd });
    const turns = ['<response>One.</response>', '<response>Two.</response>', '<response>Three.</response>'];
    const session = runtime.start(agent, { input: 'First?', model: scripted(turns), chat: true });
    for (const [index, text] of ['Second?', 'Third?'].entries()) {
      await expect.poll(async () => (await runtime.state(session.id)).turn).toBe(index + 1);
      await expect.poll(async () => (await runtime.state(session.id)).status).toBe('waiting');
      await (text === 'Third?' ? session.steer(text) : session.say(text));
    }
    await expect.poll(async () => (await runtime.state(session.id)).turn).toBe(3);
    const prompts = await allOf(runtime, session.id);
    expect(prompts.map(({ match }) => match)).toEqual(['same', 'same', 'same']);
    expect(texts(prompts[2] as SessionPrompt).at(-1)).toContain('Third?');
    session.finish();
    await session.result;
  });

  it('are those of their own of a fork, a sub-agent and an agent that a workflow leads', async () => {
    const notes = 'Looked at all of it with care, and wrote down what there was to find about it.';
    const cwd = agentFolder('', {
      'agent.yml': `kind: Agent\nname: boss\nmodel: scripted:boss.yml\nimport: { agents: [./helper.yml] }\n`,
      'boss.yml': `turns: [{ text: ${JSON.stringify(speak('tags', [{ call: 'helper', type: 'agent', input: { input: 'Look.' }, run: { id: 'h', mode: 'sync' } }]))} }, { text: "<response>Done.</response>" }]\n`,
      'helper.yml': `kind: Agent\nname: helper\nmodel: scripted:turns/helper.yml\nworkflow: way\nimport: { workflows: [./way.yml] }\n`,
      'turns/helper.yml': `turns: [{ text: ${JSON.stringify(speak('tags', [{ complete: notes }]))} }]\n`,
      'way.yml': 'kind: Workflow\nname: way\nsteps: [{ name: look, type: task, prompt: Look at it. }]\n',
    });
    const runtime = await opened({ cwd });
    const session = runtime.start(await loadAgent('agent.yml', { cwd }), { input: 'Do it.' });
    expect((await session.result).status).toBe('completed');
    const [child] = await runtime.store.list({ parent: session.id });
    const events = await runtime.events(session.id);
    const fork = await runtime.fork(
      session.id,
      events.find(({ type }) => type === 'turn.completed')?.seq ?? 0,
    );
    for (const id of [session.id, child?.stream ?? '', fork]) {
      const prompts = await allOf(runtime, id);
      expect(prompts.map(({ match }) => match)).toEqual(prompts.map(() => 'same'));
    }
    const led = await runtime.prompt(child?.stream ?? '');
    expect(led.system.some(({ text }) => text.includes('complete_step'))).toBe(true);
  });

  it('say what a summary has left of the conversation', async () => {
    const turns = [
      ...[1, 2, 3, 4].map((n) => `<action id="page${n}" mode="sync">{"name":"page"}</action>`),
      '<response>Read.</response>',
    ];
    const model = { ...scripted(turns), contextWindow: 4_000 };
    let prompts: readonly SessionPrompt[] = [];
    const { of } = await runAgent({
      manifest: IMPORT,
      files: tool('page', 'return "x ".repeat(1500);'),
      turns: [],
      model,
      async after(session, runtime) {
        prompts = await allOf(runtime, session);
      },
    });
    const [compacted] = of('prompt.compacted');
    const first = of('turn.started').find(({ seq }) => seq > (compacted?.seq ?? Number.POSITIVE_INFINITY));
    const prompt = prompts.find(({ turn }) => turn === first?.turn);
    expect(prompt).toMatchObject({ match: 'same' });
    // Nothing of it stands where it stood before.
    expect(prompt?.messages.every((message) => message.new)).toBe(true);
    expect(prompt?.tokens.new).toBe(prompt?.tokens.messages);
    expect(texts(prompt as SessionPrompt)[0]).toContain(
      `up to and with turn ${compacted?.through} was replaced by a summary`,
    );
  });
});

describe('a prompt that cannot be shown as it was sent', () => {
  const ended = async (manifest: string) => {
    const cwd = agentFolder(`protocol: {}\n${manifest}`);
    const runtime = await opened({ cwd });
    const agent = await loadAgent('agent.yml', { cwd });
    const model = scripted(['<response>Done.</response>']);
    const session = runtime.start(agent, { input: 'Do it.', model });
    await session.result;
    const rewrite = (text: string) =>
      writeFileSync(join(cwd, 'agent.yml'), `kind: Agent\nname: tester\nmodel: scripted:none.yml\n${text}`);
    return { cwd, runtime, session, rewrite };
  };

  it('says that it differs where the manifest has changed in what is told, and only there', async () => {
    const { cwd, runtime, session, rewrite } = await ended('instructions: Be kind.\n');
    const { hash } = await runtime.prompt(session.id);
    rewrite('instructions: Be rude.\n');
    expect(await runtime.prompt(session.id)).toMatchObject({
      match: 'differs',
      hash: { sent: hash.sent },
      differs: ['system'],
      note: `This is not what was sent. The system prompt differs: the manifest ${join(cwd, 'agent.yml')} has changed since.`,
    });
    rewrite('instructions: Be kind.\ndescription: For people.\n');
    const same = await runtime.prompt(session.id);
    expect(same).toMatchObject({ match: 'same', hash });
    expect(same.note).toBeUndefined();
    rewrite('instructions: Be rude.\n');
    // The session knows the agent that it ran.
    expect(await session.prompt()).toMatchObject({ match: 'same' });
  });

  it('is shown with the agent that is given, where its manifest has moved', async () => {
    const { cwd, runtime, session } = await ended('instructions: Be kind.\n');
    const agent = await loadAgent('agent.yml', { cwd });
    rmSync(join(cwd, 'agent.yml'));
    await expect(runtime.prompt(session.id)).rejects.toMatchObject({ code: 'bad_manifest' });
    expect(await runtime.prompt(session.id, 1, { agent })).toMatchObject({ match: 'same' });
  });

  it('needs the agent where it was written in code', async () => {
    const echo = defineTool({ name: 'echo', run: () => 'said' });
    const agent = await defineAgent({ name: 'coded', tools: [echo] });
    const store = createMemoryStore({ clock: createSystemClock() });
    const first = await opened({ store });
    const session = first.start(agent, { input: 'Do it.', model: scripted(['<response>Done.</response>']) });
    await session.result;
    expect(await session.prompt()).toMatchObject({ match: 'same' });
    const other = await opened({ store });
    await expect(other.prompt(session.id)).rejects.toMatchObject({
      code: 'agent_in_code',
      hint: 'Ask the program that has it: runtime.prompt(session, turn, { agent }).',
    });
    expect(await other.prompt(session.id, 1, { agent })).toMatchObject({ match: 'same' });
  });

  it('says which of its parts differ, wherever they stand', async () => {
    const echo = (description: string) =>
      tool('echo', 'return "long ".repeat(500);', `description: ${description}\n`);
    const before = 'dialect: tools\ninstructions: Be kind.\nimport: { tools: [./tools/*.yml] }\n';
    const turns = [
      speak('tools', [{ call: 'echo', run: { id: 'a' } }]),
      speak('tools', [{ respond: 'Done.' }]),
    ];
    const cwd = agentFolder(`protocol: {}\n${before}`, echo('Says it.'));
    const runtime = await opened({ cwd });
    const agent = await loadAgent('agent.yml', { cwd });
    const session = runtime.start(agent, { input: 'Do it.', model: scripted(turns) });
    await session.result;
    const differing = async (manifest: string, files = echo('Says it.')) => {
      const changed = await loadAgent('agent.yml', { cwd: agentFolder(`protocol: {}\n${manifest}`, files) });
      const { differs, note } = await runtime.prompt(session.id, 2, { agent: changed });
      return [differs, /^This is not what was sent\. (.*?) differs?: /.exec(note ?? '')?.[1]];
    };
    const kind = (manifest: string) => manifest.replace('Be kind.', 'Be rude.');
    const short = `${before}limits: { result: 1KiB }\n`;
    expect(await differing(before)).toEqual([undefined, undefined]);
    expect(await differing(kind(before))).toEqual([['system'], 'The system prompt']);
    expect(await differing(before, echo('Shouts.'))).toEqual([['tools'], 'The tools']);
    expect(await differing(short)).toEqual([['messages'], 'The messages']);
    expect(await differing(kind(short), echo('Shouts.'))).toEqual([
      ['system', 'tools', 'messages'],
      'The system prompt, the tools and the messages',
    ]);
    expect((await differing(before.replace('tools\n', 'step\n')))[0]).toContain('options');
  });

  it('is compared with the parts of the turn itself, which the log has where they are new', async () => {
    const cwd = agentFolder('instructions: Be kind.\n');
    const store = createMemoryStore({ clock: createSystemClock() });
    const first = await opened({ cwd, store });
    const kind = await loadAgent('agent.yml', { cwd });
    const says = (...turns: string[]) => scripted(turns.map((text) => `<response>${text}</response>`));
    const session = first.start(kind, { input: 'Do it.', model: says('One.', 'Two.'), chat: true });
    await expect.poll(async () => (await first.state(session.id)).status).toBe('waiting');
    await session.say('Again.');
    await expect.poll(async () => (await first.state(session.id)).turn).toBe(2);
    await expect.poll(async () => (await first.state(session.id)).status).toBe('waiting');
    await first.close();
    const rude = await loadAgent('agent.yml', { cwd: agentFolder('instructions: Be rude.\n') });
    const second = await opened({ cwd, store });
    const resumed = await second.resume(session.id, {
      acceptChanges: true,
      agent: rude,
      model: says('', '', 'Three.'),
    });
    await resumed.say('And again.');
    await expect.poll(async () => (await second.state(session.id)).turn).toBe(3);
    resumed.finish();
    await resumed.result;
    const starts = (await second.events(session.id)).filter((event) => event.type === 'turn.started');
    expect(starts.map(({ prompt }) => prompt.frame !== undefined)).toEqual([true, false, true]);
    const told = async (agent: typeof kind) =>
      Promise.all([1, 2, 3].map(async (turn) => (await second.prompt(session.id, turn, { agent })).differs));
    expect(await told(kind)).toEqual([undefined, undefined, ['system']]);
    expect(await told(rude)).toEqual([['system'], ['system'], undefined]);
  });

  /** The same session in the store of an earlier version, whose turns did not say all of this. */
  const earlier = async (
    { cwd, runtime, session }: Awaited<ReturnType<typeof ended>>,
    left: (prompt: EventOf<'turn.started'>['prompt']) => EventOf<'turn.started'>['prompt'],
  ) => {
    const store = createMemoryStore({ clock: createSystemClock() });
    const writer = await store.create(session.id, {
      kind: 'session',
      name: 'tester',
      status: 'running',
      title: '',
    });
    const lines = (await runtime.events(session.id)).map(({ seq, at, session: of, turn, cause, ...body }) => {
      const head = { seq, at, session: of, turn, cause };
      if (body.type !== 'turn.started') return encodeEvent(head, body);
      return encodeEvent(head, { ...body, prompt: left(body.prompt) });
    });
    await appendCommitted(writer, { expectedSeq: 0, events: lines, status: 'completed' });
    await writer.release();
    return (await opened({ cwd, store })).prompt(session.id);
  };

  it('says only that it differs where the log is of an earlier version, without hashes of its parts', async () => {
    const old = await ended('instructions: Be kind.\n');
    old.rewrite('instructions: Be rude.\n');
    const prompt = await earlier(old, ({ frame: _, ...prompt }) => prompt);
    expect(prompt).toMatchObject({
      match: 'differs',
      note: `This is not what was sent: the manifest ${join(old.cwd, 'agent.yml')} has changed since.`,
    });
    expect(prompt.differs).toBeUndefined();
  });

  it('says that nothing is known where the log is of an earlier version, without a hash', async () => {
    const prompt = await earlier(await ended(''), ({ tokens, reused_prefix }) => ({ tokens, reused_prefix }));
    expect(prompt).toMatchObject({ match: 'unknown', turn: 1 });
    expect(prompt.hash.sent).toBeUndefined();
    expect(prompt.note).toContain('The log has no hash of this prompt');
    expect(texts(prompt)[0]).toContain('Do it.');
  });

  it('is refused for turns and sessions that are not there', async () => {
    const { runtime, session } = await ended('');
    await expect(runtime.prompt(session.id, 2)).rejects.toMatchObject({
      code: 'turn_unknown',
      message: `${session.id} has no turn 2.`,
      hint: 'Its last turn is 1.',
    });
    await expect(runtime.prompt('ses_none')).rejects.toMatchObject({ code: 'session_unknown' });
    for (const turn of [0, 1.5, '1' as never])
      for (const asked of [runtime.prompt(session.id, turn), session.prompt(turn)])
        await expect(asked).rejects.toMatchObject({ code: 'bad_option' });
  });

  it('hides what the manifest has of the environment, where that is asked for', async () => {
    const cwd = agentFolder('instructions: "The word is ${WORD}."\n');
    const env = { WORD: 'swordfish' };
    const runtime = await opened({ cwd, env });
    const agent = await loadAgent('agent.yml', { cwd, env });
    const model = scripted(['<response>Done.</response>']);
    const session: Session = runtime.start(agent, { input: 'Do it.', model });
    await session.result;
    const shown = await runtime.prompt(session.id, 1, { hideEnvironment: true });
    expect(shown).toMatchObject({ match: 'same' });
    expect(JSON.stringify(shown)).not.toContain('swordfish');
    expect(shown.system[0]?.text).toContain('The word is ${WORD}.');
    expect((await session.prompt(1)).system[0]?.text).toContain('swordfish');
  });
});
