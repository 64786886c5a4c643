import { describe, expect, it } from 'vitest';
import { runAgent, tool } from './run-agent.ts';

const action = '<action>{"name": "echo"}</action>';
const run = (first: string) =>
  runAgent({
    manifest: 'import: { tools: [./tools/*.yml] }\n',
    files: tool('echo', 'return 1;'),
    turns: [first, '<response>Done.</response>'],
  });

describe('a branch that does not hold', () => {
  it.each([
    ['at the end of the turn', `<if test="false">${action}<response>x</response>`],
    [
      'at the end of what is around it',
      `<thought>So <if test="false">${action}</thought><response>x</response>`,
    ],
    ['behind its else', `<if test="true">${action}<else/><response>x</response>`],
  ])('is told of where its <if> is closed only %s', async (_, turn) => {
    const { of, prompts, result } = await run(turn);
    expect(of('fault').map(({ code }) => code)).toContain('truncated');
    expect(prompts[1]).toContain('</if>');
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
  });

  it.each([
    ['a body that breaks off', '<action>{"name": "x" <thought>oops</thought>', 'bad_json'],
    ['an <if> without a test', '<if>', 'bad_attribute'],
    ['a second <else/>', '<else/><else/>', 'stray_close'],
  ])('is told of where %s in it puts the rest of the turn in doubt', async (_, inside, code) => {
    for (const behind of [action, '<response>x</response>']) {
      const { of, result } = await run(`<if test="${inside.startsWith('<else/>')}">${inside}</if>${behind}`);
      expect(of('fault').map((fault) => fault.code)).toContain(code);
      expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
    }
  });

  it.each([
    ['left open in it', `<if test="false"><if test="true">${action}</if><foreach in="$list">${action}</if>`],
    [
      'that cannot be read',
      '<if test="false"><action>{"nam": 1}</action><action id="a b">{"name": "x"}</action></if>',
    ],
  ])('may hold what is %s: nobody is told', async (_, turn) => {
    const { of, result } = await run(`${turn}<response>x</response>`);
    expect(of('fault')).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', result: 'x', turns: 1 });
  });
});
