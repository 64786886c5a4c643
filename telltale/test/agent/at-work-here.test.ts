import { expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { seen } from '../recovery/stage.ts';

it('who resumes a session that this process works on is told both ways to go on, and both lead there', async () => {
  const runtime = await createRuntime({ store: 'memory' });
  onTestFinished(() => runtime.close());
  const model = scripted(['<response>One.</response>', '<response>Two.</response>']);
  const agent = await defineAgent({ name: 'bot', model });
  const session = runtime.start(agent, { input: 'Go.', chat: true });
  await seen(session, 'session.waiting');
  await expect(runtime.resume(session.id, { agent })).rejects.toMatchObject({
    code: 'stream_owned',
    hint: 'That is this process: go on with what it has (runtime.session(id)), or let go of that first (interrupt()).',
  });
  const here = runtime.session(session.id);
  expect(here?.id).toBe(session.id);
  await here?.interrupt();
  const resumed = await runtime.resume(session.id, { agent });
  await resumed.say('And?');
  resumed.finish();
  expect(await resumed.result).toMatchObject({ status: 'completed', result: 'Two.' });
});
