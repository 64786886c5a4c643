import { describe, expect, it } from 'vitest';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { runAgent } from './run-agent.ts';

/** All in one piece: what follows the response has come before the stream can be cut. */
const heard = async (text: string) => {
  const model = createScriptedModel({ turns: [{ text, chunk: text.length }] });
  const { result, of } = await runAgent({ turns: [], model });
  return { answer: result.result, faults: of('fault').map(({ code }) => code) };
};

describe('a final response in an <if>', () => {
  it('is not followed by a tag where only the other branch follows, or the end', async () => {
    const other = '<if test="true"><response>never</response></if><response>nor this</response>';
    expect(await heard(`<if test="true"><response>yes</response><else/>${other}</if>\n`)).toEqual({
      answer: 'yes',
      faults: [],
    });
    expect(await heard(`<if test="false">${other}<else/><response>no</response></if>`)).toEqual({
      answer: 'no',
      faults: [],
    });
  });

  it('is followed by one where something comes behind the </if>', async () => {
    const turn = '<if test="true"><response>yes</response></if><metadata>{"a": 1}</metadata>';
    expect(await heard(turn)).toEqual({ answer: 'yes', faults: ['after_final'] });
  });
});
