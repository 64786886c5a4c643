import { expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Session } from '../../src/agent/runtime-types.ts';
import type { Model } from '../../src/models/model.ts';
import { agentFolder } from './run-agent.ts';

it('whoever reads the events of a session that is interrupted gets all that is on its log', async () => {
  const folder = agentFolder('');
  const runtime = await createRuntime({ store: 'sqlite:log.db', durability: 'process', cwd: folder });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  let session: Session | undefined;
  const model: Model = {
    id: 'test/interrupted',
    async stream(_request, sink) {
      sink.text('<thought>Hm.</thought>');
      void session?.interrupt();
      throw new Error('cancelled');
    },
  };
  session = runtime.start(agent, { input: 'Go.', model });
  const read: string[] = [];
  for await (const event of session.events) if ('seq' in event) read.push(event.type);
  expect((await session.result).status).toBe('interrupted');
  expect(read).toEqual((await runtime.events(session.id)).map(({ type }) => type));
  expect(read).toContain('thought');
  await runtime.close();
});
