import { describe, expect, it } from 'vitest';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { runAgent, tool } from './run-agent.ts';

const MAIL = '<action id="m">{"name":"mail"}</action>';
const FINAL = '<response>Done.</response>';
const SETUP = {
  manifest: 'import: { tools: [./tools/*.yml] }\n',
  files: tool('mail', 'return "sent";', 'start: on_turn_end\n'),
};

describe('a side effect that waits until the response has ended well', () => {
  it('comes when the stream has ended with all its tags closed', async () => {
    const { of } = await runAgent({
      ...SETUP,
      turns: [`${MAIL}<response final="false">Sent.</response>`, FINAL],
    });
    expect(of('action.completed')).toMatchObject([{ id: 'm', output: 'sent' }]);
  });

  it('comes with a final response, behind which the stream is cut', async () => {
    const { of, result } = await runAgent({ ...SETUP, turns: [`${MAIL}${FINAL}`] });
    expect(of('turn.completed')).toMatchObject([{ finish: 'cut' }]);
    expect(of('action.completed')).toMatchObject([{ id: 'm' }]);
    expect(result.status).toBe('completed');
  });

  it.each([
    ['at the length that the model may write', { text: `${MAIL}And now`, finish: 'length' }],
    ['inside a response', { text: `${MAIL}<response>It has been s</respo` }],
    ['inside an action', { text: `${MAIL}<action id="x">{"name":` }],
  ] as const)('does not come where it ended %s, and the model is told', async (_where, turn) => {
    const again = '<action id="again">{"name":"mail"}</action><response final="false">Now.</response>';
    const model = createScriptedModel({ turns: [turn, { text: again }, { text: FINAL }] });
    const { of, prompts, result } = await runAgent({ ...SETUP, turns: [], model });
    expect(of('action.skipped')).toMatchObject([{ id: 'm', reason: 'turn_failed' }]);
    expect(prompts[1]).toContain('It did not run: it was to start once the turn had ended well');
    expect(of('action.completed').map(({ id }) => id)).toEqual(['again']);
    expect(result.status).toBe('completed');
  });
});
