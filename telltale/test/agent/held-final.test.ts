import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { resumeEverywhere } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { speak } from './speak.ts';

type Deeds = Parameters<typeof speak>[1];
type Definition = Omit<Parameters<typeof defineAgent>[0], 'name'>;

const TOOLS = [
  defineTool({ name: 'echo', idempotent: true, run: () => 'said' }),
  defineTool({ name: 'list', idempotent: true, run: () => ['x', 'y'] }),
  defineTool({ name: 'fail', run: () => Promise.reject(new Error('no luck')) }),
];

/** A session of this dialect, from its first request to its end. */
async function run(
  dialect: 'tags' | 'tools' | 'step',
  turns: readonly (Deeds | string)[],
  more: Definition = {},
) {
  const model = scripted(turns.map((turn) => (typeof turn === 'string' ? turn : speak(dialect, turn))));
  const agent = await defineAgent({ name: 'tester', dialect, tools: TOOLS, ...more });
  const runtime = await createRuntime({ store: 'memory' });
  try {
    const session = runtime.start(agent, { input: 'Go.', model });
    const result = await session.result;
    const events = await runtime.events(session.id);
    return {
      result,
      events,
      prompts: model.prompts,
      responses: responsesIn(events),
      faults: faultsIn(events),
    };
  } finally {
    await runtime.close();
  }
}

const responsesIn = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'response' ? [[event.text, event.final, event.held]] : []));
const faultsIn = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'fault' ? [event.code] : []));

const ECHO = { call: 'echo', run: { id: 'e' } };
const CONFIRM = { respond: '' };

describe.each(['tags', 'tools', 'step'] as const)('a final response in the dialect %s', (dialect) => {
  it('next to an action that it does not name is held, and an empty one confirms it', async () => {
    const { result, responses, prompts, faults } = await run(dialect, [
      [ECHO, { respond: 'All is well.' }],
      [CONFIRM],
    ]);
    expect(result).toMatchObject({ status: 'completed', result: 'All is well.', turns: 2 });
    expect(responses).toEqual([
      ['All is well.', false, ['e']],
      ['All is well.', true, undefined],
    ]);
    expect(faults).toEqual([]);
    expect(prompts[1]).toContain(
      'does not count yet: you wrote it before you had seen what came of e (tool echo)',
    );
  });

  it('that is held is replaced by any other', async () => {
    const { result, responses } = await run(dialect, [
      [ECHO, { respond: 'A guess.' }],
      [{ respond: 'What it said.' }],
    ]);
    expect(result).toMatchObject({ result: 'What it said.', turns: 2 });
    expect(responses.map(([, final]) => final)).toEqual([false, true]);
  });

  it('that names the action counts in its turn', async () => {
    const { result } = await run(dialect, [[ECHO, { respond: 'It said $e.' }]]);
    expect(result).toMatchObject({ status: 'completed', result: 'It said said.', turns: 1 });
  });

  it('that names the action only in code is held, and the model is told that the user would read the name', async () => {
    const { result, faults, prompts } = await run(dialect, [
      [ECHO, { respond: 'It said:\n\n```\n$e\n```' }],
      [{ respond: 'It said `said`.' }],
    ]);
    expect(result).toMatchObject({ status: 'completed', result: 'It said `said`.', turns: 2 });
    expect(faults).toEqual(['reference_in_code']);
    expect(prompts[1]).toContain('Your response names $e in code, where nothing is replaced');
  });

  it('that names the action in code by its output_key or its target is told the same', async () => {
    const { prompts, faults } = await run(dialect, [
      [
        { call: 'echo', run: { output_key: 'said' } },
        { call: 'list' },
        { respond: 'Not `$saids`, but `$said` and `$list[0]`.' },
      ],
      [CONFIRM],
    ]);
    expect(faults).toEqual(['reference_in_code']);
    expect(prompts[1]).toContain('names $said, $list in code');
  });

  it('that writes a name with two dollars means the name, and is only held', async () => {
    const { responses, faults } = await run(dialect, [[ECHO, { respond: 'Write $$e.' }], [CONFIRM]]);
    expect(responses.map(([text]) => text)).toEqual(['Write $e.', 'Write $e.']);
    expect(faults).toEqual([]);
  });

  it('that names the action by its target counts in its turn', async () => {
    const { result } = await run(dialect, [[{ call: 'echo' }, { respond: 'It said $echo.' }]]);
    expect(result).toMatchObject({ status: 'completed', result: 'It said said.', turns: 1 });
  });

  it('that names only what depends on another action counts in its turn', async () => {
    const { result } = await run(dialect, [
      [
        { call: 'echo', run: { id: 'a' } },
        { call: 'echo', input: { text: '$a' }, run: { id: 'b' } },
        { call: 'echo', run: { id: 'c', depends_on: ['b'], output_key: 'end' } },
        { respond: 'It said $end.' },
      ],
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it('that names one of two actions is held for the other', async () => {
    const { responses, result } = await run(dialect, [
      [ECHO, { call: 'list', run: { id: 'l' } }, { respond: 'It said $e.' }],
      [CONFIRM],
    ]);
    expect(responses[0]).toEqual(['It said said.', false, ['l']]);
    expect(result).toMatchObject({ result: 'It said said.', turns: 2 });
  });

  it('next to an action that fails is undone, and the model is asked once more', async () => {
    const { result, faults } = await run(dialect, [
      [{ call: 'fail', run: { id: 'f' } }, { respond: 'All is well.' }],
      [{ respond: 'It failed.' }],
    ]);
    expect(faults).toEqual(['final_undone']);
    expect(result).toMatchObject({ result: 'It failed.', turns: 2 });
  });

  it('next to one that is fire_and_forget counts in its turn', async () => {
    const { result } = await run(dialect, [
      [{ call: 'echo', run: { mode: 'fire_and_forget' } }, { respond: 'Done.' }],
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it('with final_with_actions: accept counts once the actions of its turn have succeeded', async () => {
    const protocol = { final_with_actions: 'accept' } as const;
    const { result } = await run(dialect, [[ECHO, { respond: 'Done.' }]], { protocol });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 1 });
  });

  it('that confirms next to another action is held for that one', async () => {
    const { result, responses } = await run(dialect, [
      [ECHO, { respond: 'Well.' }],
      [{ call: 'list', run: { id: 'l' } }, CONFIRM],
      [CONFIRM],
    ]);
    expect(responses.map(([, , held]) => held)).toEqual([['e'], ['l'], undefined]);
    expect(result).toMatchObject({ result: 'Well.', turns: 3 });
  });

  it('is held for good: a kill at any event leaves the same answer, after nothing was done twice', async () => {
    const turns = [[ECHO, { respond: 'All is well.' }], [CONFIRM]].map((deeds) =>
      speak(dialect, deeds as Deeds),
    );
    const agent = await defineAgent({ name: 'tester', dialect, tools: TOOLS });
    await resumeEverywhere(
      {
        setUp: () => ({ agent }),
        input: 'Go.',
        start: { model: scripted(turns) },
        resume: { model: scripted(turns) },
      },
      ({ events, result, where }) => {
        expect(result, where).toMatchObject({ status: 'completed', result: 'All is well.' });
        const calls = events.filter((event) => event.type === 'action.completed' && event.id === 'e');
        expect(calls.length, where).toBe(1);
      },
    );
  });
});

describe('a final response in tags', () => {
  it('that names a <foreach> covers its list, too', async () => {
    const { result } = await run('tags', [
      '<action id="l">{"name":"list"}</action><foreach in="$l" as="x"><action id="e">{"name":"echo","parameters":{"text":"$x"}}</action></foreach><response>$e</response>',
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it('covers the actions of a <parallel> that what it names depends on', async () => {
    const { result } = await run('tags', [
      '<parallel id="g"><action id="a">{"name":"echo"}</action><action id="b">{"name":"echo"}</action></parallel><action id="c">{"name":"echo","depends_on":["g"]}</action><response>$c</response>',
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it('behind a sync action is held where the stream went on, and not where its result came first', async () => {
    const sync = '<action id="s" mode="sync">{"name":"echo"}</action>';
    const buffered = await run('tags', [`${sync}<response>Well.</response>`, '<response/>']);
    expect(buffered.responses.map(([, , held]) => held)).toEqual([['s'], undefined]);
    const observed = await run('tags', [sync, '<response>Well.</response>'], {
      protocol: { on_sync: 'observe' },
    });
    expect(observed.responses).toEqual([['Well.', true, undefined]]);
  });

  it('next to one whose test does not hold counts: there is no result to see', async () => {
    const { result } = await run('tags', [
      '<action id="e">{"name":"echo","if":"1 > 2"}</action><response>Nothing to do.</response>',
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it('that breaks the output schema is told so, and is not held', async () => {
    const output = { schema: { type: 'object' } };
    const { result, faults, responses } = await run(
      'tags',
      ['<action id="e">{"name":"echo"}</action><response>Well.</response>', '<response>{}</response>'],
      { output },
    );
    expect(faults).toEqual(['bad_output']);
    expect(responses[0]).toEqual(['Well.', false, undefined]);
    expect(result).toMatchObject({ status: 'completed', result: {} });
  });
});
