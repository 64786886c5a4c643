import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';

it('a session that is printed is its id, and shows no key of a provider', async () => {
  const runtime = await createRuntime({ store: 'memory', env: { OPENAI_API_KEY: 'sk-secret' } });
  const agent = await defineAgent({ name: 'x', model: scripted(['<response>Hi.</response>']) });
  const session = runtime.start(agent, { input: 'x' });
  await session.result;
  expect(JSON.stringify({ session })).toBe(`{"session":{"id":"${session.id}"}}`);
  expect(inspect({ session }, { depth: null })).toBe(`{ session: { id: '${session.id}' } }`);
  expect(Object.keys(session)).not.toContain('toJSON');
  await runtime.close();
});
