// The daemon with sessions that all talk at once, in a process of its own: `daemon.ts SCENE`. Talks to its parent by IPC.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime } from '../../telltale/src/agent/create-runtime.ts';
import { defineAgent } from '../../telltale/src/agent/define/define-agent.ts';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import type { AgentCatalog } from '../../telltale/src/server/catalog/agent-catalog.ts';
import { startDaemon } from '../../telltale/src/server/start-daemon.ts';
import { answerParent } from './answer-parent.ts';
import { type Scene, sessionName } from './scene.ts';
import { createTalkingModel } from './talking-model.ts';

const scene = JSON.parse(process.argv[2] ?? '{}') as Scene;
const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-daemon-'));
const clock = createSystemClock();
const fail = (thrown: unknown) => {
  throw thrown;
};
const runtime = await createRuntime({ store: `sqlite:${join(folder, 'daemon.db')}`, durability: 'power' });
const model = createTalkingModel(scene.eventsPerSecond);
const agent = await defineAgent({ name: 'talker', instructions: 'Talk.', model });
const catalog: AgentCatalog = {
  list: () => [],
  find: () => undefined,
  reload: async () => undefined,
  onChange: () => () => undefined,
  close: async () => undefined,
} as unknown as AgentCatalog;
const daemon = await startDaemon({
  runtime,
  catalog,
  clock,
  env: {},
  version: 'bench',
  dev: false,
  host: '127.0.0.1',
  port: 0,
  onError: fail,
  onNote: (text) => process.stderr.write(`${text}\n`),
});
await daemon.recovered;
for (let n = 0; n < scene.sessions; n++) runtime.start(agent, { input: 'Talk.', id: sessionName(n) });
while (model.speakers < scene.sessions) await new Promise((resolve) => setTimeout(resolve, 10));
answerParent(model, () => rmSync(folder, { recursive: true, force: true }));
process.send?.({ port: daemon.port, token: daemon.token });
