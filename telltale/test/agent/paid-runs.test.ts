import { expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Store } from '../../src/store/store.ts';
import { crashEverywhere } from '../../src/testing/crash.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { agentFolder, runAgent } from './run-agent.ts';

const ASKS = '{ name: ask, type: llm, prompt: "How many?", model: fast }';
/** It is asked on each walk, and takes 3 from the balance. */
const DECIDES =
  '{ name: decide, type: script, script: "1", if: { invoke: decider, method: may, fallback: true } }';

const scene = {
  manifest: `import: { workflows: [./flows/*.yml], artifacts: [./decider.yml] }
models: { fast: "scripted:./fast.yml" }
budget: { balance: 100, costs: { turn: 0, action: 0, artifact: 3 } }
`,
  files: {
    'fast.yml': JSON.stringify({ turns: [{ text: 'Seven.', usage: { input: 70_000, output: 7 } }] }),
    'decider.yml':
      'kind: Artifact\nname: decider\nlanguage: js\nsource: "function may() { return true; }"\nmethods: { may: { description: May it? } }\n',
    'flows/outer.yml': `kind: Workflow\nname: outer\nsteps: [${ASKS}, { name: below, type: workflow, target: inner }]\n`,
    'flows/inner.yml': `kind: Workflow\nname: inner\nsteps: [${ASKS}, ${DECIDES}]\n`,
  },
};
const CALL = '<action type="workflow" id="w" mode="sync">{"name":"outer","parameters":{}}</action>';
const turns = [CALL, '<response>Done.</response>'];

it('what a workflow uses that an action calls, and those that it calls, counts for the session, once', async () => {
  let balance: number | undefined;
  const { result, of } = await runAgent({
    ...scene,
    turns,
    after: async (id, runtime) => {
      ({ balance } = await runtime.state(id));
    },
  });
  expect(of('child.usage')).toMatchObject([
    { action: 'w', usage: { input: 140_000, output: 14 }, charged: 3 },
  ]);
  const own = of('turn.completed').reduce((sum, { usage }) => sum + usage.input, 0);
  expect(result).toMatchObject({ status: 'completed', usage: { input: own + 140_000 } });
  expect(balance).toBe(97);
});

it('a session ends at its limit of tokens, whether it or its workflows have used them', async () => {
  const { result } = await runAgent({
    ...scene,
    turns,
    manifest: `${scene.manifest}limits: { tokens: 50000 }\n`,
  });
  expect(result).toMatchObject({ status: 'failed', turns: 1, error: { code: 'limit_tokens' } });
});

it('it is counted once wherever the process dies', async () => {
  const manifest = 'import: { workflows: [./flows/*.yml] }\nmodels: { fast: "scripted:./fast.yml" }\n';
  const files = {
    'fast.yml': scene.files['fast.yml'],
    'flows/outer.yml': `kind: Workflow\nname: outer\nsteps: [${ASKS}]\n`,
    'none.yml': JSON.stringify({ turns: [...turns, turns[1], turns[1]] }),
  };
  const agent = await loadAgent('agent.yml', { cwd: agentFolder(manifest, files) });
  let places = 0;
  await crashEverywhere({ input: 'Go.', setUp: async () => ({ agent }) }, ({ events, result }) => {
    places++;
    expect(result.status).toBe('completed');
    // Where it died behind the model's answer and before the step's end, the model was asked twice, and both count.
    expect(events.filter(({ type }) => type === 'child.usage')).toHaveLength(1);
  });
  expect(places).toBeGreaterThan(15);
});

/** A feed that a workflow makes, which asks a model and an artifact. */
const FED = `${scene.manifest}context_feeds:
  - { id: docs, cache_ttl: 1h, source: { type: workflow, name: inner } }
`;

it('what a workflow uses that a feed is made by counts for the session that reads it', async () => {
  let balance: number | undefined;
  const { result, of } = await runAgent({
    ...scene,
    manifest: FED,
    turns: ['<response>Done.</response>'],
    after: async (id, runtime) => {
      ({ balance } = await runtime.state(id));
    },
  });
  expect(of('child.usage')).toMatchObject([
    { action: 'feed:docs', usage: { input: 70_000, output: 7 }, charged: 3 },
  ]);
  const own = of('turn.completed').reduce((sum, { usage }) => sum + usage.input, 0);
  expect(result).toMatchObject({ status: 'completed', usage: { input: own + 70_000 } });
  expect(balance).toBe(97);
});

it('a session that has spent what it may has no workflow run for a feed, within a turn, too', async () => {
  const read = (id: string) =>
    `<action type="internal" id="${id}" mode="sync">{"name":"read_context_feed","parameters":{"id":"docs","refresh":true}}</action>`;
  const { of } = await runAgent({
    ...scene,
    turns: [read('a') + read('b'), '<response>Done.</response>'],
    manifest: `${FED.replace('cache_ttl: 1h', 'inject: reference')}limits: { tokens: 50000 }\n`,
  });
  expect(of('child.usage')).toHaveLength(1);
  expect(of('action.failed').map(({ error }) => error.code)).toEqual(['limit_tokens']);
});

/** Another store with the same streams, of which the session's log ends before `seq`. */
async function cutOff(store: Store, session: string, seq: number): Promise<Store> {
  const copy = createMemoryStore();
  for (const { stream, kind, name, title, parent } of await store.list()) {
    const lines = await store.read(stream);
    const events = stream === session ? lines.slice(0, seq - 1) : lines;
    const status = stream === session ? 'running' : 'completed';
    const head = { kind, name, title, status, ...(parent === undefined ? {} : { parent }) };
    const writer = await copy.create(stream, head);
    await new Promise<void>((resolve, reject) =>
      writer.append({ expectedSeq: 0, events }, (error) => (error === undefined ? resolve() : reject(error))),
    );
    await writer.release();
  }
  return copy;
}

it('nor is it lost, or counted twice, where the process dies between the end of that run and its account', async () => {
  const turns = ['<response>Done.</response>'];
  const folder = agentFolder(FED, { ...scene.files, 'none.yml': JSON.stringify({ turns }) });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const store = createMemoryStore();
  const first = await createRuntime({ store, cwd: folder });
  const { session } = await first.start(agent, { input: 'Go.' }).result;
  const events = await first.events(session);
  await first.close();
  const account = events.find(({ type }) => type === 'child.usage')?.seq ?? 0;
  const paidAfter = async (cut: number) => {
    const runtime = await createRuntime({ store: await cutOff(store, session, cut), cwd: folder });
    await (await runtime.resume(session, { agent })).result;
    const paid = (await runtime.events(session)).flatMap((event) =>
      event.type === 'child.usage' ? [event.child.session] : [],
    );
    const runs = (await runtime.store.list({ kind: 'run', parent: session })).map(({ stream }) => stream);
    await runtime.close();
    return { paid: paid.toSorted(), runs: runs.toSorted() };
  };
  for (const cut of [account, account + 1]) {
    const { paid, runs } = await paidAfter(cut);
    expect(runs).toHaveLength(2); // a feed is of its moment: it is loaded anew
    expect(paid).toEqual(runs);
  }
});
