import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { speak } from './speak.ts';

type Definition = Omit<Parameters<typeof defineAgent>[0], 'name'>;
type Dialect = 'tags' | 'tools' | 'step';

/** Ends after a while: a model that says that it waits says so before. */
const slow = defineTool({
  name: 'slow',
  idempotent: true,
  run: () => new Promise((resolve) => setTimeout(resolve, 100, 'tests passed')),
});

async function run(dialect: Dialect, turns: Parameters<typeof scripted>[0], more: Definition = {}) {
  const model = scripted(turns);
  const agent = await defineAgent({ name: 'tester', dialect, tools: [slow], ...more });
  const runtime = await createRuntime({ store: 'memory' });
  try {
    const session = runtime.start(agent, { input: 'Go.', model });
    const result = await session.result;
    const events = await runtime.events(session.id);
    const faults = events.flatMap((event) => (event.type === 'fault' ? [event.code] : []));
    return { result, events, faults, prompts: model.prompts };
  } finally {
    await runtime.close();
  }
}

const messages = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'message.received' ? [event.text] : []));

describe('text without a tag or call', () => {
  it('is the answer in tools', async () => {
    const { result, faults } = await run('tools', ['It is done.']);
    expect(result).toMatchObject({ status: 'completed', result: 'It is done.', turns: 1 });
    expect(faults).toEqual([]);
  });

  it('is the answer in tools without what the model reasons in tags before it', async () => {
    for (const reasoning of [
      '<think>\nHm.\n</think>',
      '<thinking>A</thinking>\n<thinking>B</thinking>',
      'Hm.</think>',
    ]) {
      const { result } = await run('tools', [`${reasoning}\n\nIt is <b>done</b>.`]);
      expect(result).toMatchObject({ status: 'completed', result: 'It is <b>done</b>.', turns: 1 });
    }
    const { result } = await run('tools', ['<think>Only a thought.</think>', 'It is done.']);
    expect(result).toMatchObject({ status: 'completed', result: 'It is done.', turns: 2 });
  });

  it('is the answer of a chat in tags and in tools', async () => {
    for (const dialect of ['tags', 'tools'] as const) {
      const agent = await defineAgent({ name: 'tester', dialect });
      const runtime = await createRuntime({ store: 'memory' });
      const session = runtime.start(agent, { input: 'Hi.', chat: true, model: scripted(['Hello.', 'Bye.']) });
      const answers: string[] = [];
      session.subscribe((event) => {
        if (event.type === 'response' && event.final) answers.push(event.text);
        if (event.type !== 'session.waiting') return;
        if (answers.length === 1) void session.say('And?');
        else session.finish();
      });
      expect(await session.result).toMatchObject({ status: 'completed', turns: 2 });
      expect(answers, dialect).toEqual(['Hello.', 'Bye.']);
      await runtime.close();
    }
  });

  it('in tags is met with one reminder that names the final response, and then counts', async () => {
    const { result, faults, prompts, events } = await run('tags', ['It is done.', 'It is done, really.']);
    expect(result).toMatchObject({ status: 'completed', result: 'It is done, really.', turns: 2 });
    expect(faults).toEqual(['no_tags']);
    expect(prompts[1]).toContain('<response final="true">');
    expect(messages(events)).toEqual([]);
  });

  it.each(['think', 'thinking', 'thought'])('beside a <%s> is met as text alone is', async (tag) => {
    const turn = `<${tag}>Let me see.</${tag}>\n\nIt is done.`;
    const { result, faults, prompts } = await run('tags', [turn, turn]);
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(result.result).toBe('It is done.');
    expect(faults).toEqual(['no_tags']);
    expect(prompts[1]).toContain('<response final="true">');
  });

  it('is reminded of anew where the model acted in between', async () => {
    const act = speak('tags', [{ call: 'slow' }]);
    const { result, faults } = await run('tags', ['One.', act, 'Two.', 'Three.']);
    expect(result).toMatchObject({ result: 'Three.', turns: 4 });
    expect(faults).toEqual(['no_tags', 'no_tags']);
  });

  it('never completes anything in step: it is met with one reminder each time', async () => {
    const { result, faults, events } = await run('step', [
      'One.',
      'Two.',
      speak('step', [{ respond: 'Done.' }]),
    ]);
    expect(result).toMatchObject({ result: 'Done.', turns: 3 });
    expect(faults).toEqual(['no_tags', 'no_tags']);
    expect(messages(events)).toEqual([]);
    expect((await run('step', ['One.', 'Two.', 'Three.', 'Four.'])).result).toMatchObject({
      status: 'stalled',
    });
  });

  it('with bare_text: remind counts after one reminder, and with final at once', async () => {
    const remind = await run('tools', ['One.', 'Two.'], { protocol: { bare_text: 'remind' } });
    expect(remind.result).toMatchObject({ result: 'Two.', turns: 2 });
    expect(remind.faults).toEqual(['no_tags']);
    const final = await run('tags', ['One.'], { protocol: { bare_text: 'final' } });
    expect(final.result).toMatchObject({ result: 'One.', turns: 1 });
  });

  it.each([
    ['tools', undefined],
    ['tags', undefined],
    ['tools', 'final'],
  ] as const)('is no answer while what it waits for runs: %s, %s', async (dialect, bare_text) => {
    const { result, prompts } = await run(
      dialect,
      [
        speak(dialect, [{ call: 'slow', run: { id: 't', mode: 'background' } }]),
        'I wait for the tests.',
        speak(dialect, [{ respond: 'They passed.' }]),
      ],
      bare_text === undefined ? {} : { protocol: { bare_text } },
    );
    expect(result).toMatchObject({ status: 'completed', result: 'They passed.', turns: 3 });
    expect(prompts[2]).toContain('tests passed');
  });

  it('beside a call in tools is no answer, and costs nothing', async () => {
    const { result } = await run('tools', [
      `I wait for the tests.${speak('tools', [{ call: 'slow' }])}`,
      'They passed.',
    ]);
    expect(result).toMatchObject({ status: 'completed', result: 'They passed.', turns: 2 });
  });

  it('that looks like a call is no answer', async () => {
    const call = '<tool_call>{"name": "slow", "arguments": {}}</tool_call>';
    const { result } = await run('tools', [call, call, 'It is done.']);
    expect(result).toMatchObject({ status: 'completed', result: 'It is done.' });
  });
});

describe('a response that is left open', () => {
  const open = '<response>It is done.';

  it('counts as closed where the model came to its end', async () => {
    const { result, faults } = await run('tags', [open]);
    expect(result).toMatchObject({ status: 'completed', result: 'It is done.', turns: 1 });
    expect(faults).toEqual([]);
  });

  it('counts as closed behind actions that it names, and as what it says it is', async () => {
    const acts = '<thought>Hm.</thought><action id="s">{"name":"slow"}</action>';
    const named = await run('tags', [`${acts}<response>So: $s`]);
    expect(named.result).toMatchObject({ result: 'So: tests passed', turns: 1 });
    const not = await run('tags', ['<response final="false">Soon.', open]);
    expect(not.result).toMatchObject({ result: 'It is done.', turns: 2 });
    expect(not.faults).toEqual([]);
  });

  it.each([
    ['a fence is open in it', `${open}\n\`\`\`\ncode`],
    ['it ends in half of its closing tag', `${open}</respo`],
    ['something around it is open, too', `<if test="true">${open}`],
  ])('is cut short where %s', async (_what, turn) => {
    const { result, faults } = await run('tags', [turn, '<response>Done.</response>']);
    expect(faults).toContain('truncated');
    expect(result).toMatchObject({ result: 'Done.', turns: 2 });
  });

  it('is cut short at the limit of what the model may say', async () => {
    const { result, faults } = await run('tags', [
      { text: open, finish: 'length' },
      '<response>Done.</response>',
    ]);
    expect(faults).toContain('truncated');
    expect(result).toMatchObject({ result: 'Done.', turns: 2 });
  });
});
