import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Session } from '../../src/agent/runtime-types.ts';
import type { Model } from '../../src/models/model.ts';
import { agentFolder, tool } from './run-agent.ts';

const SESSIONS = 20;
const ACTIONS = 100;
/** Small enough to be kept in the state as it is. */
const CHARS = 7_000;

it('a program that keeps sessions at hand which are over does not keep their turns and results', async () => {
  const cwd = agentFolder(
    'import: { tools: [./tools/*.yml] }\n',
    tool('read', `return 'x'.repeat(${CHARS} - 1) + Math.floor(Math.random() * 10);`),
  );
  const agent = await loadAgent('agent.yml', { cwd });
  const runtime = await createRuntime({ store: `sqlite:${join(cwd, 'log.db')}`, cwd });
  const reads = Array.from({ length: ACTIONS }, (_, n) => `<action id="a${n}">{"name":"read"}</action>`);
  const turns = [reads.join(''), '<response>Done.</response>'];
  // One that keeps nothing of what it is asked.
  const model: Model = {
    id: 'test/forgetful',
    async stream({ turn }, sink) {
      sink.text(turns[turn - 1] ?? '');
      return { finish: 'stop' };
    },
  };
  const run = async () => {
    const session = runtime.start(agent, { input: 'Read it.', model });
    expect((await session.result).status).toBe('completed');
    return session;
  };
  await run(); // what all sessions share is there after the first
  const before = heapChars();
  const kept: Session[] = [];
  for (let i = 0; i < SESSIONS; i++) kept.push((await run()) as Session);
  const each = (heapChars() - before) / SESSIONS;
  const statuses = await Promise.all(kept.map(async ({ id }) => (await runtime.state(id)).status));
  await runtime.close();
  expect(new Set(statuses)).toEqual(new Set(['completed']));
  expect(each).toBeLessThan((ACTIONS * CHARS) / 5);
});

/** What is on the heap once all is collected that nobody holds; a character of such a result is a byte. */
function heapChars(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
