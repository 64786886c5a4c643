import { describe, expect, it } from 'vitest';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import type { Move } from '../lab/models/move.ts';
import { type Answer, FORMATS, runOverHttp, stream } from '../wire/over-http.ts';
import { runAgent } from './run-agent.ts';

const answer: Move = { acts: [], final: 'Done.' };
/** Takes the request, and says nothing. */
const silent: Answer = () => undefined;
/** Says that it is there, and nothing more. */
const alive: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': ping\n\n');
};
const limits = { first_token: '100ms' };

describe.each(FORMATS)('a request over %s', (format) => {
  it.each([
    ['that is not answered in time', silent],
    ['whose stream has no word in time', alive],
  ])('%s is made again, without a trace', async (_, late) => {
    const { result, bodies, of } = await runOverHttp({
      format,
      dialect: 'tools',
      agent: { limits },
      answers: [late, { move: answer }],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 1 });
    expect(bodies[1]).toEqual(bodies[0]);
    expect(of('turn.failed')).toMatchObject([
      {
        turn: 1,
        again: true,
        error: { code: 'model_timeout', message: expect.stringContaining('within 0.1 s') },
      },
    ]);
  });

  it.each([
    ['that the provider refuses for now', { status: 503, body: { error: { message: 'Busy', code: 503 } } }],
    ['that breaks off before its first character', (response) => stream(response, [': hello\n\n'], true)],
  ] satisfies readonly (readonly [string, Answer])[])(
    '%s is made again, without a trace',
    async (_, failure) => {
      const { result, bodies } = await runOverHttp({
        format,
        dialect: 'tools',
        answers: [failure, failure, { move: answer }],
      });
      expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 1 });
      expect(bodies.slice(1)).toEqual([bodies[0], bodies[0]]);
    },
  );

  it('that breaks off later is gone on with, and the next one says where', async () => {
    const { result, prompts } = await runOverHttp({
      format,
      dialect: 'tags',
      answers: [
        { say: { parts: [{ type: 'text', text: 'Half of what I wanted' }], finish: 'broken' } },
        { move: answer },
      ],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(prompts[1]).toContain('Half of what I wanted');
    expect(prompts[1]).toMatch(/broke off|cut off/);
  });
});

it('a model that never says a word ends the session, which says which limit that was', async () => {
  const { result, bodies } = await runOverHttp({
    format: 'openai-chat',
    dialect: 'tags',
    agent: { limits },
    answers: Array.from({ length: 6 }, () => silent),
  });
  expect(result).toMatchObject({
    status: 'failed',
    error: {
      code: 'model_timeout',
      message: expect.stringContaining('did not start to answer within 0.1 s'),
      hint: expect.stringContaining('first_token'),
    },
  });
  expect(bodies).toHaveLength(6);
});

it('the limit holds for any model, and ends with the first word', async () => {
  const slow = (delayMs: number) => ({ text: '<response>Done.</response>', delayMs });
  const run = (first: object) =>
    runAgent({
      manifest: 'limits: { first_token: 200ms }\n',
      turns: [],
      model: createScriptedModel({ turns: [{ ...slow(0), ...first }, slow(0)] }),
      runtime: { random: () => 0 },
    });
  const late = await run({ delayMs: 5_000 });
  expect(late.result).toMatchObject({ status: 'completed', result: 'Done.', turns: 1 });
  expect(late.of('turn.failed')).toHaveLength(1);
  const reasoning = await run({ reasoning: 'Hm. '.repeat(200), tokensPerSecond: 500 });
  expect(reasoning.result.status).toBe('completed');
  expect(reasoning.of('turn.failed')).toEqual([]);
});
