import { describe, expect, it } from 'vitest';
import { createAgentShelf } from '../../src/agent/agent-cache.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createSessionParts } from '../../src/agent/open-runtime-works.ts';
import { createTokenizer } from '../../src/agent/tokenizer.ts';
import { openFrame } from '../../src/lib/calls.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { estimateTokens } from '../../src/lib/tokens.ts';
import { fold } from '../../src/log/reduce.ts';
import type { SessionState } from '../../src/log/state.ts';
import type { Model, ModelMessage, ModelRequest } from '../../src/models/model.ts';
import { createScriptedModel, type ScriptedModelOptions } from '../../src/models/scripted/scripted-model.ts';
import { createConversation } from '../../src/prompt/conversation.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { type Ran, type RunOptions, runAgent, tool } from './run-agent.ts';
import { call, step } from './speak.ts';

const FILES = {
  ...tool('echo', 'return input.text ?? input;'),
  ...tool('fail', 'throw new Error("no such luck");'),
  ...tool(
    'gate',
    'globalThis.gates ??= {}; return (globalThis.gates[input.n] ??= Promise.withResolvers()).promise;',
  ),
  ...tool(
    'open',
    'globalThis.gates ??= {}; (globalThis.gates[input.n] ??= Promise.withResolvers()).resolve("open"); return "done";',
  ),
};
const TOOLS = 'import: { tools: [./tools/*.yml] }\n';

interface Asked extends Ran {
  readonly requests: readonly (Pick<ModelRequest, 'tools' | 'toolChoice' | 'system'> & {
    readonly messages: readonly ModelMessage[];
  })[];
  /** The messages that turn `n` was asked with, beyond those of the turn before. */
  news(turn: number): readonly ModelMessage[];
}

async function ask(
  options: Omit<RunOptions, 'model' | 'turns'> & {
    readonly window?: number;
    readonly turns: ScriptedModelOptions['turns'];
  },
): Promise<Asked> {
  const requests: Asked['requests'][number][] = [];
  // All of a turn at once: more is there than is read where the runtime cuts it.
  const scripted = createScriptedModel({ id: 'scripted:test', turns: options.turns, chunk: 100_000 });
  const model: Model = {
    ...scripted,
    ...(options.window === undefined ? {} : { contextWindow: options.window }),
    stream(request, sink) {
      const { system, tools, toolChoice } = request;
      requests.push({
        system,
        messages: structuredClone([...request.messages]),
        ...(tools === undefined ? {} : { tools }),
        ...(toolChoice === undefined ? {} : { toolChoice }),
      });
      return scripted.stream(request, sink);
    },
  };
  // On this clock no time passes: a turn waits for its actions, however long they really take.
  const clock = createSimulatedClock();
  const ran = await runAgent({ files: FILES, clock, ...options, turns: [], model });
  const news = (turn: number) => {
    const before = requests[turn - 2]?.messages ?? [];
    const { messages = [] } = requests[turn - 1] ?? {};
    expect(messages.slice(0, before.length), 'the prompt was rewritten').toEqual(before);
    return messages.slice(before.length);
  };
  return { ...ran, requests, news };
}

const answersIn = (messages: readonly ModelMessage[]) =>
  messages.flatMap(({ answers = [] }) =>
    answers.map(({ text, failed }) => (failed ? ['failed', text] : text)),
  );

/** The result of a call, as the message that answers it has it. */
const answer = (id: string, text: string) =>
  expect.stringMatching(new RegExp(`^<result id="${id}">${text}</result>$`));

describe('in the dialect tools', () => {
  const manifest = `dialect: tools\n${TOOLS}metadata: { fields: { status: { values: [IDLE, CODING] } } }\n`;

  it('a model is given its tools with every request, and may choose', async () => {
    const { requests, of } = await ask({
      manifest,
      turns: [call('echo'), call('respond', { text: 'Done.' })],
    });
    const [first, second] = requests;
    expect(first?.tools?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['echo', 'fail', 'read_output', 'set_metadata', 'respond']),
    );
    // A built-in prompt that the manifest does not name can be called, but is not offered.
    expect(first?.tools?.map(({ name }) => name)).not.toContain('llm_summarize');
    expect(first?.toolChoice).toBeUndefined();
    expect(second?.tools).toBe(first?.tools);
    expect(of('turn.started')[0]?.prompt.tokens).toBeGreaterThan(
      estimateTokens(JSON.stringify(first?.tools)) + estimateTokens(first?.system ?? ''),
    );
    expect(first?.system).toContain('_run');
    expect(first?.system).not.toContain('<action');
    expect(first?.system).not.toContain('Summarizes a text');
  });

  it('every call is answered in the next message, and what is answered is not told again', async () => {
    const { news, result } = await ask({
      manifest,
      turns: [
        [
          'Some prose.',
          call('echo', { text: 'seen' }),
          call('fail'),
          call('echo', { _run: { depends_on: ['a2'] } }),
          call('echo', { _run: { mode: 'fire_and_forget' } }),
          call('ecko'),
          call('echo', { _run: { mod: 1 } }),
          call('echo', { _run: { template: 'none' } }),
          call('set_metadata', { status: 'CODING' }),
          call('set_metadata', { status: 'DANCING' }),
          call('respond', { text: 'Wait.', final: false }),
        ].join(''),
        call('respond', { text: 'Done.' }),
      ],
    });
    expect(result.status).toBe('completed');
    const [assistant, answers, block, ...more] = news(2);
    expect(more).toEqual([]);
    expect(assistant?.role).toBe('assistant');
    expect(answers?.role).toBe('tool');
    expect(answersIn(news(2))).toEqual([
      answer('a1', 'seen'),
      ['failed', expect.stringMatching(/^<result id="a2" status="error" ms="\d+">.*no such luck/)],
      ['failed', expect.stringContaining('it needs "a2"')],
      'started',
      ['failed', expect.stringContaining('Did you mean "echo"?')],
      ['failed', expect.stringContaining('Did you mean "mode"?')],
      ['failed', 'It did not run: see the mistakes below.'],
      'ok',
      ['failed', '"status" did not apply: see what was rejected below.'],
      'ok',
    ]);
    expect(answers?.answers?.map(({ name }) => name).slice(0, 3)).toEqual(['echo', 'fail', 'echo']);
    expect(answers?.text).toBe(answers?.answers?.map(({ text }) => text).join('\n'));
    expect(block?.role).toBe('user');
    expect(block?.text).not.toContain('seen');
    expect(block?.text).not.toContain('no such luck');
    expect(block?.text).not.toContain('Did you mean "mode"?');
    expect(block?.text).toContain('names the template "none"');
    expect(block?.text).toContain('DANCING');
  });

  it('where the answers say everything, no message of the user follows', async () => {
    const { news } = await ask({
      manifest,
      turns: [call('echo', { text: 'x' }), call('respond', { text: 'Done.' })],
    });
    expect(news(1).map(({ role }) => role)).toEqual(['user']);
    expect(news(2).map(({ role }) => role)).toEqual(['assistant', 'tool']);
  });

  it('what still runs is answered as running, and its result comes later as a block', async () => {
    const { news, result } = await ask({
      manifest,
      clock: createSystemClock(),
      turns: [
        call('gate', { n: 'late', _run: { id: 'g', mode: 'background' } }),
        call('open', { n: 'late', _run: { mode: 'sync' } }) +
          call('echo', { text: '$g', _run: { mode: 'sync' } }),
        call('respond', { text: 'It is $g.' }),
      ],
    });
    expect(answersIn(news(2))).toEqual(['running; its result will come as <result id="g">']);
    expect(news(2).map(({ role }) => role)).toEqual(['assistant', 'tool']);
    expect(answersIn(news(3))).toEqual([answer('a1', 'done'), answer('a2', 'open')]);
    expect(news(3).at(-1)?.text).toMatch(/^<result id="g" name="gate" status="ok" ms="\d+">open<\/result>$/);
    expect(result.result).toBe('It is open.');
  });

  it('long results are cut in answers as in blocks, and share the room', async () => {
    const long = tool('long', 'return "0123456789".repeat(4000);');
    const { news } = await ask({
      manifest,
      files: { ...FILES, ...long },
      turns: [
        call('long') + call('long', { _run: { id: 'other' } }),
        call('read_output', { id: 'other', offset: 24576 }),
        call('respond', { text: 'Done.' }),
      ],
    });
    const [first, second] = answersIn(news(2));
    expect(first).toContain('characters left out; read_output with {"id": "a1", "offset": 24576} shows them');
    expect(second).toContain('{"id": "other"');
    expect(answersIn(news(3))[0]).toContain('0123456789');
    const many = await ask({
      manifest,
      files: { ...FILES, ...long },
      turns: [call('long').repeat(30), call('respond', { text: 'Done.' })],
    });
    expect(many.news(2)[1]?.text.length).toBeLessThan(180_000);
  });

  it('ids that a call was given and became no action are free again, now and when the turn is read again', async () => {
    const { of, news } = await ask({
      manifest,
      turns: [
        call('echo', { _run: { template: 'none' } }) +
          call('fail') +
          call('respond', { text: 'Done.' }) +
          call('echo'),
        call('echo', { text: 'mine' }),
        call('respond', { text: 'Done.' }),
      ],
    });
    expect(of('action.declared').map(({ action }) => action.id)).toEqual(['a2', 'a1']);
    expect(answersIn(news(3))).toEqual([answer('a1', 'mine')]);
  });

  it('text without any call is the answer, and with bare_text: remind once it was asked for', async () => {
    const { result } = await ask({ manifest, turns: ['One.'] });
    expect(result).toMatchObject({ status: 'completed', result: 'One.', turns: 1 });
    const reminded = await ask({
      manifest: `${manifest}protocol: { bare_text: remind }\n`,
      turns: ['One.', 'Two.'],
    });
    expect(reminded.of('fault').map(({ message }) => message)[0]).toContain('Call "respond"');
    expect(reminded.result).toMatchObject({ status: 'completed', result: 'Two.', turns: 2 });
  });

  it('what follows a final response is not read, and is told in the words of the dialect', async () => {
    const { of, result } = await ask({
      manifest,
      turns: [
        call('fail') + call('respond', { text: 'Done.' }) + call('echo'),
        call('respond', { text: 'So.' }),
      ],
    });
    expect(of('action.declared')).toHaveLength(1);
    expect(of('fault').map(({ code }) => code)).toEqual(['after_final', 'final_undone']);
    expect(of('fault')[0]?.message).toContain('final "respond"');
    expect(result.result).toBe('So.');
  });

  it('with on_sync: observe the generation is cut behind the call', async () => {
    const { of, news } = await ask({
      manifest: `${manifest}protocol: { on_sync: observe }\n`,
      turns: [
        call('echo', { text: 'first', _run: { mode: 'sync' } }) + call('echo', { text: 'never' }),
        call('respond', { text: '$a1' }),
      ],
    });
    expect(of('action.declared')).toHaveLength(1);
    expect(of('turn.completed')[0]?.finish).toBe('cut');
    expect(answersIn(news(2))).toEqual([answer('a1', 'first')]);
  });

  it('a declared output is the output of respond', async () => {
    const output =
      'output: { schema: { type: object, properties: { n: { $ref: "#/$defs/n" } }, $defs: { n: { type: number } } } }\n';
    const { result, of, requests } = await ask({
      manifest: `${manifest}${output}`,
      turns: [
        call('respond', { text: 'It is 4.' }),
        call('respond', { output: { n: 'four' } }),
        call('respond', { text: 'There.', output: { n: 4 } }),
      ],
    });
    expect(result.result).toEqual({ n: 4 });
    expect(of('fault').map(({ code }) => code)).toEqual(['bad_output', 'bad_output']);
    expect(of('fault')[0]?.message).toContain('"output" in a call of "respond"');
    expect(
      of('response')
        .map(({ text, final }) => [text, final])
        .slice(2),
    ).toEqual([
      ['There.', false],
      ['{"n":4}', true],
    ]);
    const respond = requests[0]?.tools?.find(({ name }) => name === 'respond');
    expect(respond?.parameters).toMatchObject({
      properties: { output: { properties: { n: { $ref: '#/properties/output/$defs/n' } } } },
    });
  });

  it('a call that breaks off is not made, and the model sees what it had written', async () => {
    const text = `${call('echo', { text: 'whole', _run: { mode: 'sync' } })}${openFrame('c', 'echo')}{"text":"ha`;
    const { of, result, news } = await ask({
      manifest,
      clock: createSystemClock(),
      runtime: { random: () => 0 },
      turns: [{ text, failAfter: text.length }, call('respond', { text: 'Done.' })],
    });
    expect(result.status).toBe('completed');
    expect(of('fault').map(({ code }) => code)).toEqual(['truncated']);
    const [assistant, answers, block, ...more] = news(2);
    expect(more).toEqual([]);
    expect(assistant?.text).toContain('[a call of echo that broke off: {"text":"ha]');
    expect(answers?.answers?.map(({ text: each }) => each)).toEqual([answer('a1', 'whole')]);
    expect(block?.text).toContain('was not made: make it again');
  });
});

describe('in the dialect step', () => {
  const manifest = `dialect: step\n${TOOLS}context_variables:\n  runtime:\n    - { name: attempts, type: number, default: 0 }\n    - { name: locked, writers: [user] }\n`;

  it('a model must call step, and is told what it can call', async () => {
    const { requests } = await ask({
      manifest,
      turns: [step({ is_complete: true, notes: 'Nothing to do.' })],
    });
    const [first] = requests;
    expect(first?.toolChoice).toBe('step');
    expect(first?.tools?.map(({ name }) => name)).toEqual(['step']);
    expect(first?.system).toContain('"echo"');
    expect(first?.system).not.toContain('llm_summarize');
  });

  it('one answer tells what all its calls brought', async () => {
    const { news } = await ask({
      manifest,
      clock: createSystemClock(),
      turns: [
        step({
          thought: 'Two things.',
          tool_calls: [
            { name: 'echo', input: { text: 'one' }, id: 'one', mode: 'sync' },
            { name: 'gate', input: { n: 'step' }, id: 'g', mode: 'background' },
            { name: 'echo', input: {}, wrong: 1 },
          ],
        }),
        step({ tool_calls: [{ name: 'open', input: { n: 'step' }, mode: 'sync' }] }),
        step({ is_complete: true, notes: '$one and $g' }),
      ],
    });
    const [answer] = answersIn(news(2));
    expect(answer).toMatch(/^<result id="one" name="echo" status="ok" ms="\d+">one<\/result>\n/);
    expect(answer).toContain('- g is running; its result will come as <result id="g">');
    expect(answer).toContain('- bad_action: The call of "echo" did not run');
    expect(news(2).map(({ role }) => role)).toEqual(['assistant', 'tool']);
  });

  it('is_complete counts only once the calls of its step have succeeded', async () => {
    const { of, result } = await ask({
      manifest,
      turns: [
        step({ tool_calls: [{ name: 'fail', input: {} }], is_complete: true, notes: 'n', response: 'Well.' }),
        step({ is_complete: true, notes: 'It failed.' }),
      ],
    });
    expect(of('fault').map(({ code, message }) => [code, message.slice(0, 27)])).toEqual([
      ['final_undone', '"is_complete" did not count'],
    ]);
    expect(of('response').map(({ text, final }) => [text, final])).toEqual([
      ['Well.', false],
      ['It failed.', true],
    ]);
    expect(result.result).toBe('It failed.');
  });

  it('context_updates set variables that it may set, and no others', async () => {
    const { of, result } = await ask({
      manifest,
      turns: [
        step({ context_updates: { attempts: 2, locked: 1, attempt: 3 } }),
        step({ context_updates: { attempts: 'many' } }),
        step({ is_complete: true, notes: 'After $attempts.', context_updates: { attempts: null } }),
      ],
    });
    expect(of('variable.changed').map(({ name, from, to, by }) => ({ name, from, to, by }))).toEqual([
      { name: 'attempts', from: 0, to: 2, by: 'model' },
      { name: 'attempts', from: 2, to: 0, by: 'model' },
    ]);
    expect(of('fault').map(({ code, message }) => [code, /^"\w+"/.exec(message)?.[0]])).toEqual([
      ['bad_variable', '"locked"'],
      ['bad_variable', '"attempt"'],
      ['bad_variable', '"attempts"'],
    ]);
    expect(result.result).toBe('After 0.');
  });
});

describe.each(['tools', 'step'] as const)('a conversation in the dialect %s', (dialect) => {
  const manifest = `dialect: ${dialect}\n${TOOLS}protocol: { bare_text: remind }\n`;
  const turns =
    dialect === 'tools'
      ? [
          `Prose.${call('echo', { text: 'x' })}${call('fail')}`,
          'Bare.',
          call('echo', { text: 'y'.repeat(3000), _run: { id: 'y' } }),
          call('echo', { text: 'z'.repeat(3000) }),
          call('echo', { text: 'w'.repeat(3000) }),
          call('echo', { text: 'v'.repeat(3000) }),
          call('echo', { text: 'u'.repeat(3000) }),
          call('respond', { text: 'Done.' }),
        ]
      : [
          step({ thought: 'x', tool_calls: [{ name: 'echo', input: { text: 'x' } }, { name: 'fail' }] }),
          'Bare.',
          ...['y', 'z', 'w', 'v', 'u'].map((letter) =>
            step({ tool_calls: [{ name: 'echo', input: { text: letter.repeat(3000) } }] }),
          ),
          step({ is_complete: true, notes: 'Done.' }),
        ];

  const opening = async (folder: string, state: SessionState) => {
    const clock = createSystemClock();
    const deps = { store: createMemoryStore({ clock }), clock, env: {}, tokenizer: createTokenizer() };
    const shelf = createAgentShelf(deps, createSessionParts());
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const { face } = await shelf.prepare(agent, createScriptedModel({ turns: [] }));
    return face(false).opening(state);
  };

  it('made anew from the log is what it was, turn by turn', async () => {
    const { events, requests, folder } = await ask({ manifest, turns });
    const style = await opening(folder, fold(events));
    const starts = events.flatMap(({ type }, index) => (type === 'turn.started' ? [index] : []));
    expect(starts).toHaveLength(requests.length);
    for (const [turn, index] of starts.entries()) {
      const conversation = createConversation(style);
      conversation.rebuild(fold(events.slice(0, index + 1)));
      expect(conversation.prompt()?.messages, `turn ${turn + 1}`).toEqual(requests[turn]?.messages);
    }
  });

  it('that is compacted leaves no call without its answer, and no answer without its call', async () => {
    const { requests, of } = await ask({ manifest, turns, window: 9000 });
    expect(of('prompt.compacted').length).toBeGreaterThan(0);
    for (const { messages } of requests)
      for (const [index, { role, answers = [] }] of messages.entries()) {
        if (role !== 'tool') continue;
        const before = messages[index - 1];
        expect(before?.role).toBe('assistant');
        for (const { call: id } of answers) expect(before?.text).toContain(`"id":"${id}"`);
      }
    const last = requests.at(-1)?.messages ?? [];
    expect(last[0]?.role).toBe('user');
    expect(last[0]?.text).toContain('was replaced by a summary');
    expect(last[0]?.text).not.toContain('\u001e');
  });
});
