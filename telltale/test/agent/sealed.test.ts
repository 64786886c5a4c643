import { expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { Model } from '../../src/models/model.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';

const MANIFEST = `import: { tools: ["./tools/*.yml"] }
protocol: { seal: true }
metadata: { fields: { status: { values: [IDLE, BUSY], default: IDLE } } }
`;
const FILES = {
  ...tool('echo', 'return input.text;'),
  ...tool('deploy', 'return "done";', 'approval: always\n'),
};
const keyIn = (system: string): string => / key="([\w-]+)"/.exec(system)?.[1] ?? '';

/** A model that reads its key where every model does: in its system prompt. */
const reading = (turns: readonly ((key: string) => string)[], heard: string[] = []): Model => ({
  id: 'scripted:reading',
  async stream({ system, turn }, sink) {
    await undefined;
    heard.push(keyIn(system));
    sink.text(turns[turn - 1]?.(keyIn(system)) ?? '<response>Out of words.</response>');
    return { finish: 'stop' };
  },
});

const ECHO = (key: string, id: string) =>
  `<action key="${key}" id="${id}">{"name":"echo","parameters":{"text":"heard"}}</action>`;

it('tags with the key of the system prompt act, and those with another do not', async () => {
  const model = reading([
    (key) =>
      `${ECHO(key, 'a')}${ECHO(`${key}x`, 'b')}${ECHO('', 'c')}<metadata key="${key}">{"status":"BUSY"}</metadata>`,
    () => '<metadata key="guess">{"status":"IDLE"}</metadata><response final="false">It is $a.</response>',
    () => '<response>It is $a.</response>',
  ]);
  const { of, result } = await runAgent({ manifest: MANIFEST, files: FILES, turns: [], model });
  expect(of('action.completed').map(({ id, output }) => [id, output])).toEqual([['a', 'heard']]);
  expect(of('metadata.changed').map(({ changes }) => changes)).toEqual([
    { status: { from: 'IDLE', to: 'BUSY' } },
  ]);
  expect(of('fault').filter(({ code }) => code === 'unsealed')).toHaveLength(3);
  expect(result).toMatchObject({ status: 'completed', result: 'It is heard.' });
});

it('each session has a key of its own, which is none that could be guessed, and keeps it when it is taken up again', async () => {
  const folder = agentFolder(MANIFEST, FILES);
  const store = createMemoryStore({ clock: createSystemClock() });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const heard: string[] = [];
  const model = reading(
    [
      (key) => `<action key="${key}" id="d">{"name":"deploy"}</action>`,
      (key) => `${ECHO(key, 'e')}<response final="false">On.</response>`,
      () => '<response>$e</response>',
    ],
    heard,
  );
  const open = async () => {
    const runtime = await createRuntime({ store, cwd: folder });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const first = await open();
  const { session, status } = await first.start(agent, { input: 'Go.', model }).result;
  expect(status).toBe('waiting');
  await first.close();
  const second = await open();
  const [review] = await second.reviews();
  await second.answer(review?.review ?? '', { approved: true, by: 'ann' });
  const ended = await (await second.resume(session, { agent, model })).result;
  expect(ended).toMatchObject({ status: 'completed', result: 'heard' });
  expect(new Set(heard).size).toBe(1);
  expect(heard[0]?.length).toBeGreaterThanOrEqual(12);
  await second.start(agent, { input: 'Go.', model }).result;
  expect(new Set(heard).size).toBe(2);
});
