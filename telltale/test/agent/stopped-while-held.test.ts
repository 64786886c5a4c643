import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { Session, StartOptions } from '../../src/agent/runtime-types.ts';
import type { Model, ModelRequest } from '../../src/models/model.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { eventually } from '../store/eventually.ts';

const ASKED = '<action id="a" mode="sync">{"name":"slow"}</action>';
const BEHIND =
  '<metadata>{"stage":"BEGUN"}</metadata><action id="b">{"name":"quick"}</action><response>It is $b.</response>';
const TURNS = [`${ASKED}${BEHIND}`, '<response>Well.</response>'];

/** A session in which `BEHIND` is held back by "slow", which ends when `end` is called, stopped or not. */
async function held(start: Partial<StartOptions> = {}) {
  const calls: string[] = [];
  let end = () => {};
  const slow = defineTool({
    name: 'slow',
    idempotent: true,
    run: () => {
      calls.push('slow');
      return new Promise<string>((resolve) => {
        end = () => resolve('slow');
      });
    },
  });
  const quick = defineTool({ name: 'quick', run: () => `call ${calls.push('quick')}` });
  const metadata = { fields: { stage: { values: ['NEW', 'BEGUN'], default: 'NEW' } } } as const;
  const agent = await defineAgent({ name: 'held', tools: [slow, quick], metadata });
  const runtime = await createRuntime({ store: 'memory', random: () => 0 });
  onTestFinished(() => runtime.close());
  const called = (times: number) => eventually(() => expect(calls).toHaveLength(times));
  const requests: ModelRequest[] = [];
  const script = scripted(TURNS);
  const model: Model = {
    ...script,
    stream(request, sink) {
      requests.push(request);
      return script.stream(request, sink);
    },
  };
  const session = runtime.start(agent, { input: 'Go.', model, ...start }) as Session;
  await called(1);
  await new Promise((resolve) => setImmediate(resolve)); // the rest of the stream is heard
  return { runtime, agent, session, requests, calls, called, end: () => end() };
}

describe('what is held back behind a sync action', () => {
  it('is done once where the process dies while the session is being cancelled', async () => {
    const { runtime, agent, session, calls, called, end } = await held();
    void session.cancel('enough');
    await new Promise((resolve) => setImmediate(resolve));
    const left = (await runtime.events(session.id)).at(-1)?.seq ?? 0;
    const id = await runtime.fork(session.id, left);
    end();
    expect(await session.result).toMatchObject({ status: 'cancelled' });
    const again = await runtime.resume(id, { agent, model: scripted(TURNS) });
    await called(2);
    end();
    expect(await again.result).toMatchObject({ status: 'completed', result: 'It is call 3.' });
    expect(calls).toEqual(['slow', 'slow', 'quick']);
    expect((await runtime.state(id)).metadata).toEqual({ stage: 'BEGUN' });
  });

  it('has not been said to a model that is told that all it said was taken up', async () => {
    const { runtime, session, requests, calls, end } = await held({ chat: true });
    session.breakOff();
    end();
    await eventually(async () => expect((await runtime.state(session.id)).status).toBe('waiting'));
    await session.say('Something else.');
    await eventually(() => expect(requests).toHaveLength(2));
    session.finish();
    expect(await session.result).toMatchObject({ status: 'completed', result: 'Well.' });
    const said = requests[1]?.messages.filter(({ role }) => role === 'assistant');
    expect(said?.map(({ text }) => text)).toEqual([ASKED]);
    expect(calls).toEqual(['slow']);
  });

  it.each([
    ['a session that is cancelled', {}],
    ['a turn that is broken off', { chat: true }],
  ])('counts as used: %s', async (_what, start) => {
    const { runtime, session, end } = await held(start);
    if ('chat' in start) session.breakOff();
    else void session.cancel('enough');
    end();
    const used = await eventually(async () => {
      const events = await runtime.events(session.id);
      const outputs = events.flatMap((event) => (event.type === 'turn.failed' ? [event.usage?.output] : []));
      expect(outputs).toHaveLength(1);
      return outputs[0];
    });
    expect(used).toBeGreaterThan((TURNS[0]?.length ?? 0) / 6);
    session.finish();
  });
});
