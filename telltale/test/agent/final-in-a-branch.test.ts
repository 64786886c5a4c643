import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { resumeEverywhere } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
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

  it('ends its turn wherever the process dies behind it, also in a <parallel> without actions', async () => {
    const turn = '<parallel><if test="true"><response>yes</response></if></parallel>';
    const setUp = async () => ({ agent: await defineAgent({ name: 'final', model: scripted([turn]) }) });
    let behind = 0;
    await resumeEverywhere({ setUp, input: 'Go.' }, ({ left, events, result }) => {
      expect(result).toMatchObject({ status: 'completed', result: 'yes' });
      if (!left.some(({ type }) => type === 'model.output')) return;
      behind++;
      expect(events.filter(({ type }) => type === 'turn.started')).toHaveLength(1);
    });
    expect(behind).toBeGreaterThan(1);
  });

  it('is not the only one that is said once: so is one behind which the turn goes on', async () => {
    const turn = '<parallel><if test="true"><response final="false">So far.</response></if></parallel>More.';
    const turns = [turn, '<response>yes</response>'];
    const setUp = async () => ({ agent: await defineAgent({ name: 'final', model: scripted(turns) }) });
    await resumeEverywhere({ setUp, input: 'Go.' }, ({ events, where }) => {
      const said = events.flatMap((event) => (event.type === 'response' ? [event.text] : []));
      expect(said, where).toEqual(['So far.', 'yes']);
    });
  });
});
