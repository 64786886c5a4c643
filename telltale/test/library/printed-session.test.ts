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

it('the methods of a session work when they are taken off it', async () => {
  const runtime = await createRuntime({ store: 'memory' });
  const agent = await defineAgent({ name: 'x', model: scripted(['<response>Hi.</response>']) });
  const { id, events, subscribe, cancel, result, prompt } = runtime.start(agent, {
    input: 'Weigh the parcel.',
  });
  const heard: string[] = [];
  subscribe((event) => heard.push(event.type));
  const read: string[] = [];
  for await (const event of events) if ('seq' in event) read.push(event.type);
  expect(await result).toMatchObject({ session: id, status: 'completed' });
  expect(heard).toContain('session.completed');
  expect(read).toContain('session.completed');
  expect(JSON.stringify(await prompt(1))).toContain('Weigh the parcel.');
  await cancel();
  await runtime.close();
});
