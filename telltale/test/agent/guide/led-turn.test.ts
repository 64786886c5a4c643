import { describe, expect, it } from 'vitest';
import { runAgent, tool } from '../run-agent.ts';
import { NOTES } from './led-log.ts';

const COMPLETE = `<action type="internal" id="end">${JSON.stringify({ name: 'complete_step', parameters: { notes: NOTES } })}</action>`;
const LOOP = '<foreach in="$list" as="x"><action id="e">{"name":"echo"}</action></foreach>';

/** An agent that a workflow of one step leads. */
const led = (...turns: readonly string[]) =>
  runAgent({
    manifest: `import: { tools: [./tools/*.yml], workflows: [./flow.yml] }
workflow: lead
context_variables: { runtime: [{ name: list, type: array, default: [1, 2] }] }
`,
    files: {
      ...tool('echo', 'return 1;'),
      'flow.yml': 'kind: Workflow\nname: lead\nsteps: [{ name: look, type: task, prompt: "Look." }]\n',
    },
    turns,
  });

describe('in the turn of an agent that is led', () => {
  it('nothing that follows the end of its step is begun, a <foreach> neither, and that is told once', async () => {
    const { result, of } = await led(
      `${COMPLETE}${LOOP}<action id="b">{"name":"echo"}</action>${LOOP.replace('"e"', '"f"')}`,
    );
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
    expect(of('action.declared').map(({ action }) => action.id)).toEqual(['end']);
    expect(of('fault').map(({ code }) => code)).toEqual(['after_step']);
  });

  it('a <foreach> that would end the step more than once is not run at all', async () => {
    const loop = `<foreach in="$list" as="x"><action id="e">{"name":"echo"}</action>${COMPLETE}</foreach>`;
    const { result, of } = await led(loop, COMPLETE.replace('"end"', '"then"'));
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(of('fault')).toMatchObject([
      { code: 'bad_action', message: expect.stringContaining('<foreach>') },
    ]);
    expect(of('action.declared').map(({ action }) => action.id)).toEqual(['then']);
  });

  it('a <foreach> before the end of the step is run, and ended before it', async () => {
    const { result, of } = await led(`${LOOP}${COMPLETE}`);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
    expect(of('fault')).toEqual([]);
    const ends = of('action.completed').map(({ id }) => id);
    expect(ends).toEqual(expect.arrayContaining(['e[0]', 'e[1]']));
    expect(ends.at(-1)).toBe('end');
  });

  it('text without a tag, or with nothing but thoughts, is told as that, and text beside another is not', async () => {
    const bare = await led('Hm.', COMPLETE);
    expect(bare.of('fault')).toMatchObject([{ code: 'no_tags' }]);
    expect(bare.of('message.received')).toEqual([]);
    const thinking = await led('<thought>Hm.</thought>Hm.', COMPLETE);
    expect(thinking.of('fault')).toMatchObject([{ code: 'no_tags' }]);
    const tagged = await led('<response final="false">Hm.</response>Hm.', COMPLETE);
    expect(tagged.of('fault')).toEqual([]);
    const empty = await led(' \n', COMPLETE);
    expect(empty.of('fault')).toEqual([]);
  });

  it('a final response says that the step is open, unless the turn has ended it', async () => {
    const open = await led('<response>Done.</response>', COMPLETE);
    expect(open.of('fault').map(({ code }) => code)).toEqual(['step_open']);
    const ended = await led(`${COMPLETE}<response>Done.</response>`);
    expect(ended.of('fault')).toEqual([]);
    expect(ended.result).toMatchObject({ status: 'completed', turns: 1, result: 'Done.' });
  });

  it('a turn that brought nothing is followed by a reminder, one that ended the step by none', async () => {
    const { of } = await led('<thought>Hm.</thought>', COMPLETE);
    expect(of('message.received')).toMatchObject([
      { from: 'runtime', text: expect.stringContaining('Go on with the step') },
    ]);
    expect((await led(COMPLETE)).of('message.received')).toEqual([]);
  });
});
