import { describe, expect, it } from 'vitest';
import type { EventOf } from '../../src/log/event.ts';
import { runAgent, tool } from './run-agent.ts';
import { FINAL } from './taken-up-stage.ts';

const TOOLS = 'import: { tools: [./tools/*.yml] }\n';
const HOLD = `${TOOLS}protocol: { final_with_actions: held }
context_variables: { runtime: [{ name: list, type: array, default: [x, y] }] }
`;
const FILES = { ...tool('echo', 'return "said";'), ...tool('fail', 'throw new Error("No luck.");') };
const KEYED = '<action id="a">{"name":"echo","output_key":"k"}</action>';
const LOOP = '<foreach in="$list" as="x"><action id="e">{"name":"echo"}</action></foreach>';

describe('a final response that holds for the results of its turn', () => {
  it.each([
    ['by its id', KEYED, 'It is $a.'],
    ['by its key', KEYED, 'It is $k.'],
    ['by the name of its target', KEYED, 'It is $echo.'],
    ['with a hyphen behind it', KEYED, 'It is $a-like.'],
    ['of all rounds of a <foreach>', LOOP, 'They are $e.'],
    ['of each round of a <foreach>', LOOP, 'They are $e[0] and $e[1].'],
  ])('counts where it names them: %s', async (_what, acts, text) => {
    const { result, of: all } = await runAgent({
      manifest: HOLD,
      files: FILES,
      turns: [`${acts}<response>${text}</response>`, FINAL],
    });
    expect(all('fault')).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it.each([
    ['the only action', KEYED, 'Done.', ['a']],
    ['one of two', `${KEYED}<action id="b">{"name":"echo"}</action>`, 'It is $a.', ['b']],
    ['by its target, called twice', `${KEYED}<action id="b">{"name":"echo"}</action>`, '$echo', ['a', 'b']],
    ['by a path to nothing', KEYED, 'It is $a.nothing.', ['a']],
    ['by a key that another took', KEYED + KEYED.replace('"a"', '"b"'), 'It is $k.', ['a']],
    ['one with a key of another', `<action id="b">{"name":"echo"}</action>`, 'It is $list.', ['b']],
  ])('does not count where it names them not: %s', async (_what, acts, text, named) => {
    const { result, of: all } = await runAgent({
      manifest: HOLD,
      files: FILES,
      turns: [`${acts}<response>${text}</response>`, FINAL],
    });
    expect(all('fault')).toEqual([]);
    expect(all('response').map(({ held }) => held)).toEqual([named, undefined]);
    expect(all('response').map(({ final }) => final)).toEqual([false, true]);
    expect(result).toMatchObject({ status: 'completed', turns: 2, result: 'Done.' });
  });

  it('is asked for no names where the manifest says so', async () => {
    const { result } = await runAgent({
      manifest: `${TOOLS}protocol: { final_with_actions: accept }\n`,
      files: FILES,
      turns: [`${KEYED}${FINAL}`],
    });
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });
});

describe('a final response that is undone', () => {
  const undone = async (turn: string) => {
    const ran = await runAgent({
      manifest: HOLD.replace('held', 'bind'),
      files: FILES,
      turns: [turn, FINAL],
    });
    return (ran.of('fault') as readonly EventOf<'fault'>[]).find(({ code }) => code === 'final_undone')
      ?.message;
  };

  it('names the action that failed, and how it ended', async () => {
    const failing = '<action id="a">{"name":"fail"}</action><action id="b">{"name":"echo"}</action>';
    expect(await undone(`${failing}${FINAL}`)).toMatch(/"a" \(fail\) ended as failed/);
  });

  it('says that a <foreach> did not run, which has no name that the model knows', async () => {
    const message = await undone(`${LOOP.replace('$list', '$nothing')}${FINAL}`);
    expect(message).toContain('a <foreach> of yours did not run');
  });
});

describe('text without a tag', () => {
  it('is told as that, and the model is not told beside that it did nothing', async () => {
    const { of: all, result } = await runAgent({ turns: ['Hm.', FINAL] });
    expect(all('fault')).toMatchObject([{ code: 'no_tags' }]);
    expect(all('message.received')).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
  });
});
