import { describe, expect, it } from 'vitest';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { runAgent, tool } from './run-agent.ts';

const MANIFEST =
  'import: { tools: [./tools/*.yml] }\naction_templates: { known: { type: tool, name: echo } }\n';
const files = tool('echo', 'return input.text ?? 1;');
const action = (id: string) => `<action id="${id}" mode="sync">{"name": "echo"}</action>`;

/** The first turn leaves the id q unused; the second takes it. All of a turn comes in one piece. */
const run = (first: string, after?: Parameters<typeof runAgent>[0]['after']) => {
  const turns = [
    first,
    `${action('q')}<action mode="sync">{"name": "echo"}</action>`,
    '<response>Done.</response>',
  ];
  return runAgent({
    manifest: MANIFEST,
    files,
    turns: [],
    model: createScriptedModel({ turns: turns.map((text) => ({ text, chunk: text.length + 1 })) }),
    start: { vars: { list: [1] } },
    ...(after === undefined ? {} : { after }),
  });
};

describe('an id of which nothing came is free in the next turn', () => {
  it.each([
    [
      'in a branch that does not hold',
      `<if test="false">${action('q')}<action>{"name": "echo"}</action></if>`,
    ],
    ['in such a branch, in a foreach', `<if test="false"><foreach in="$list">${action('q')}</foreach></if>`],
    ['of an empty parallel', '<parallel id="q"></parallel>'],
    [
      'behind a final response',
      `<action id="f">{"name": "fail"}</action><response>x</response>${action('q')}`,
    ],
    ['of a template that does not exist', '<action id="q">{"template": "unknown"}</action>'],
    ['in a foreach of one', '<foreach in="$list"><action id="q">{"template": "unknown"}</action></foreach>'],
  ])('%s', async (_, first) => {
    const { of, result } = await run(first);
    expect(of('action.declared').flatMap(({ action: { id }, turn }) => (turn === 2 ? [id] : []))).toEqual([
      'q',
      'a1',
    ]);
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 3 });
  });

  it('so that a turn read again after a restart finds its actions under their ids', async () => {
    await run(
      '<if test="false"><action>{"name": "echo"}</action></if><thought>So.</thought>',
      async (id, runtime) => {
        const events = await runtime.events(id);
        const seq = events.find(({ type, turn }) => type === 'turn.completed' && turn === 2)?.seq ?? 0;
        const fork = await runtime.fork(id, seq - 1);
        const model = createScriptedModel({ turns: ['', '', '<response>Done.</response>'] });
        await (await runtime.resume(fork, { model })).result;
        expect((await runtime.events(fork)).filter(({ type }) => type === 'fault')).toEqual([]);
      },
    );
  });

  it('and so is one of the branch that held, once its action has ended', async () => {
    const { of } = await run(`<if test="true">${action('q')}<else/>${action('q')}</if>`);
    expect(of('fault')).toEqual([]);
    expect(of('action.declared').map(({ action: { id } }) => id)).toEqual(['q', 'q@2', 'a1']);
  });
});
