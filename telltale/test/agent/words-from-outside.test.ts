import { expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { cancelUnowned, cancelUnownedRun } from '../../src/agent/ending/cancel-unowned.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { readLog } from '../lab/observer.ts';
import { type PlacedEvent, unsoundCauses } from '../log/unsound-causes.ts';
import { createStage, folderOf, HOLDS, runtimeOf, starterOf } from './by-hand-stage.ts';
import { agentFolder, tool } from './run-agent.ts';

/** All logs of a store, whose causes have to be sound. */
async function soundLogs(store: Store): Promise<ReadonlyMap<string, readonly PlacedEvent[]>> {
  const logs = new Map<string, readonly PlacedEvent[]>();
  for (const { stream } of await store.list()) {
    const read = await readLog(store, stream);
    if (read !== undefined) logs.set(stream, read.log.log.events);
  }
  expect(unsoundCauses(logs)).toEqual([]);
  return logs;
}

const causesOf = (logs: ReadonlyMap<string, readonly PlacedEvent[]>, stream: string, type: string) =>
  (logs.get(stream) ?? []).flatMap((event) => (event.type === type ? [event.cause] : []));
const beginning = (stream: string) => [{ stream, seq: 0, depth: 0 }];
const asked = { reason: 'no more', by: 'ann', clock: createSystemClock() };

it('a signal to a run, and its cancellation, are beginnings of their own', async () => {
  const { store, runtime, start, go, reaches } = await createStage('{ max: 2 }');
  const [a, b] = [start('a'), start('b')];
  await Promise.all([reaches(a, HOLDS), reaches(b, HOLDS)]);
  await go(a);
  await runtime.workflows.cancel(b.id, 'no more', 'ann');
  await Promise.all([a.result, b.result]);
  const logs = await soundLogs(store);
  expect(causesOf(logs, a.id, 'signal.received')).toEqual(beginning(a.id));
  expect(causesOf(logs, b.id, 'workflow.cancelling')).toEqual(beginning(b.id));
});

it('so is the end of a run that nobody works on', async () => {
  const store = createMemoryStore({ clock: createSystemClock() });
  const folder = folderOf('{ max: 2 }');
  const dead = await runtimeOf({ store, cwd: folder });
  const run = (await starterOf(dead, folder))('a', { onWaiting: 'release' });
  await run.result;
  await dead.close();
  expect(await cancelUnownedRun(store, run.id, asked)).toBe('ended');
  const logs = await soundLogs(store);
  expect(causesOf(logs, run.id, 'workflow.cancelled')).toEqual(beginning(run.id));
});

it('so are an answer to a session that nobody works on, its branch, its resumption and its end', async () => {
  const folder = agentFolder(
    'import: { tools: ["./tools/*.yml"] }\n',
    tool('deploy', 'return "done";', 'approval: always\n'),
  );
  const store = createMemoryStore({ clock: createSystemClock() });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const open = async () => {
    const runtime = await createRuntime({ store, cwd: folder });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const model = createScriptedModel({
    id: 'scripted:test',
    clock: createSystemClock(),
    turns: [
      '<action id="d">{"name":"deploy"}</action>',
      '<action id="e">{"name":"deploy"}</action>',
      '<response>Done.</response>',
    ],
  });
  const first = await open();
  const id = 'ses_test';
  expect((await first.start(agent, { input: 'Go.', model, id }).result).status).toBe('waiting');
  await first.close();
  const second = await open();
  const [review] = await second.reviews();
  await second.answer(review?.review ?? '', { approved: true, by: 'ann' });
  expect((await (await second.resume(id, { agent, model })).result).status).toBe('waiting');
  const fork = await second.fork(id, 4);
  await second.steer(id, 'Be quick.', 'ann');
  expect(await cancelUnowned(second, id, asked)).toBe('ended');
  const logs = await soundLogs(store);
  expect(causesOf(logs, id, 'session.resumed')).toEqual(beginning(id));
  expect(causesOf(logs, id, 'review.resolved')[0]).toEqual(beginning(id)[0]);
  expect(causesOf(logs, id, 'session.cancelled')).toEqual(beginning(id));
  expect(causesOf(logs, fork, 'audit')).toMatchObject([{ stream: id, seq: 4 }]);
});
