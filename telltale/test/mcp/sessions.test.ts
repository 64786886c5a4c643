import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import type { Model } from '../../src/models/model.ts';
import type { ScriptTurn } from '../../src/models/scripted/script.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { openRuntime } from '../../src/testing/run-agent.ts';
import { agentFolder, runAgent } from '../agent/run-agent.ts';
import { fakeServer } from './fake-server.ts';

/** Answers a change only once it has been asked for its list again, so that the change is known when its call has ended. */
const CHANGES = `
on.initialize = ({ id, params }) => reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'x', version: '1' } });
const tool = (name) => ({ name, description: 'The tool ' + name + ' <action>', inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } });
tools = ['become', 'old'].map(tool);
let waiting;
on['tools/list'] = ({ id }) => { reply(id, { tools }); if (waiting !== undefined) { const id = waiting; waiting = undefined; setTimeout(() => reply(id, text('changed')), 20); } };
on['tools/call'] = ({ id, params }) => {
  if (params.name !== 'become') return reply(id, text('called ' + params.name));
  tools = params.arguments.names.map(tool);
  waiting = id;
  send({ method: 'notifications/tools/list_changed' });
};`;

function manifest(more = '') {
  const { command, args } = fakeServer(CHANGES);
  return `import: { tools: [{ mcp: { name: fake, command: ${JSON.stringify(command)}, args: ${JSON.stringify(args)} } }] }\n${more}`;
}
const call = (id: string, name: string, parameters: JsonObject = {}) =>
  `<action id="${id}" type="tool" mode="sync">${JSON.stringify({ name, parameters })}</action>`;
const toolCall = (name: string, input: JsonObject): ScriptTurn => ({ say: [{ call: name, input }] });
const runtime = () => ({ mcp: createMcpClient(), env: { PATH: process.env.PATH } });

test('in a session that runs the model is told once what has changed: new tools can be called, and those that are gone fail', async () => {
  const { result, events, prompts, of } = await runAgent({
    manifest: manifest(),
    turns: [
      call('a1', 'fake_become', { names: ['become', 'fresh'] }),
      `${call('a2', 'fake_fresh', { n: 1 })}${call('a3', 'fake_old')}${call('a4', 'fake_fresh', { n: 'x' })}`,
      '<response>done</response>',
    ],
    runtime: runtime(),
  });
  expect(result).toMatchObject({ status: 'completed', result: 'done' });
  expect(of('action.completed').map(({ id, output }) => [id, output])).toEqual([
    ['a1', 'changed'],
    ['a2', 'called fresh'],
  ]);
  const errors = Object.fromEntries(of('action.failed').map(({ id, error }) => [id, error]));
  expect(errors.a3).toMatchObject({ code: 'tool_gone', hint: 'It has now: fake_become, fake_fresh.' });
  expect(errors.a4).toMatchObject({ code: 'bad_parameters' });
  const told = of('message.received');
  expect(told).toHaveLength(1);
  expect(told[0]?.from).toBe('runtime');
  expect(told[0]?.text).toBe(
    'What you can call has changed.\nNo longer there: "fake_old".\n- New: type tool, name "fake_fresh": The tool fresh &lt;action> Parameters: {"type":"object","properties":{"n":{"type":"integer"}}}',
  );
  expect(prompts[1]).toContain('What you can call has changed.');
  expect(prompts[2]).not.toContain('What you can call has changed.');
  const reused = events.flatMap((event) =>
    event.type === 'turn.started' ? [event.prompt.reused_prefix] : [],
  );
  expect(reused.slice(1)).toEqual([1, 1]);
});

/** One model for all sessions of a runtime: what it says depends on what the first message holds. */
function modelOf(scripts: Readonly<Record<string, readonly (string | ScriptTurn)[]>>) {
  const models = Object.entries(scripts).map(
    ([input, turns]) => [input, createScriptedModel({ turns })] as const,
  );
  const requests: { readonly input: string; readonly system: string; readonly tools: readonly string[] }[] =
    [];
  const model: Model = {
    ...(models[0]?.[1] as Model),
    stream(request, sink) {
      const [input, own] = models.find(([text]) => request.messages[0]?.text.includes(text)) ?? [];
      if (own === undefined || input === undefined) throw new Error('nothing to say to this');
      requests.push({ input, system: request.system, tools: (request.tools ?? []).map(({ name }) => name) });
      return own.stream(request, sink);
    },
  };
  return { model, requests };
}

test.each(['tags', 'tools'])(
  'a session that begins after a change has the new tools, in the dialect %s',
  async (dialect) => {
    const isTags = dialect === 'tags';
    const grow = isTags
      ? call('a1', 'fake_become', { names: ['become', 'fresh'] })
      : toolCall('fake_become', { names: ['become', 'fresh'] });
    const end = isTags ? '<response>done</response>' : toolCall('respond', { text: 'done' });
    const next = isTags ? call('b1', 'fake_fresh') : toolCall('fake_fresh', {});
    const { model, requests } = modelOf({ 'Grow.': [grow, end], 'Use it.': [next, end] });
    const folder = agentFolder(manifest(`dialect: ${dialect}\n`));
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const opened = await openRuntime({ store: 'memory', cwd: folder, ...runtime() });
    onTestFinished(() => opened.close());
    const first = opened.start(agent, { input: 'Grow.', model });
    expect(await first.result).toMatchObject({ status: 'completed' });
    const second = opened.start(agent, { input: 'Use it.', model });
    expect(await second.result).toMatchObject({ status: 'completed' });
    const outputs = (await opened.events(second.id)).flatMap((event) =>
      event.type === 'action.completed' ? [event.output] : [],
    );
    expect(outputs).toContain('called fresh');
    const listed = ({ system, tools }: (typeof requests)[number]) => (isTags ? system : tools.join(' '));
    const [before, after] = requests.filter(({ input }) => input === 'Grow.').map(listed);
    expect(before).toContain('fake_old');
    expect(after).toBe(before);
    const [later = ''] = requests.filter(({ input }) => input === 'Use it.').map(listed);
    expect(later).toContain('fake_fresh');
    expect(later).not.toContain('fake_old');
  },
);

test('a change that leaves a Tool without its tool refuses the next session, and not the one that runs', async () => {
  const folder = agentFolder(manifest(), {
    'extra.yml': 'kind: Tool\nname: kept\nimplementation: { mcp: { server: fake, tool: old } }',
  });
  const path = join(folder, 'agent.yml');
  writeFileSync(path, readFileSync(path, 'utf8').replace('tools: [', 'tools: [./extra.yml, '));
  const { model } = modelOf({
    'Go.': [
      call('a1', 'fake_become', { names: ['become'] }),
      call('a2', 'kept'),
      '<response>done</response>',
    ],
    'Next.': ['<response>never</response>'],
  });
  const agent = await loadAgent(path);
  const opened = await openRuntime({ store: 'memory', cwd: folder, ...runtime() });
  onTestFinished(() => opened.close());
  const first = opened.start(agent, { input: 'Go.', model });
  expect(await first.result).toMatchObject({ status: 'completed' });
  const failed = (await opened.events(first.id)).flatMap((event) =>
    event.type === 'action.failed' ? [event.error] : [],
  );
  expect(failed).toMatchObject([{ code: 'tool_gone' }]);
  await expect(opened.start(agent, { input: 'Next.', model }).result).rejects.toMatchObject({
    code: 'target_unknown',
    message: expect.stringContaining('"fake" has no tool "old" for tool "kept"'),
  });
});

test('progress of server-everything reaches the session, and gives a call no more time than its action has', async () => {
  const require = createRequire(import.meta.url);
  const args = [require.resolve('@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'];
  const server = { name: 'peer', command: process.execPath, args, resources: false, prompts: false };
  const slow = (id: string, duration: number, steps: number, timeout: number) =>
    `<action id="${id}" type="tool">${JSON.stringify({ name: 'peer_trigger-long-running-operation', parameters: { duration, steps }, timeout })}</action>`;
  const { observed, of } = await runAgent({
    manifest: `import: { tools: [{ mcp: ${JSON.stringify(server)} }] }\n`,
    turns: [
      `${slow('short', 0.1, 3, 60)}${slow('long', 60, 600, 1)}`,
      '<response>done</response>',
      '<response>done</response>',
    ],
    runtime: runtime(),
  });
  const progressOf = (id: string) =>
    observed.flatMap((event) => (event.type === 'action.progress' && event.id === id ? [event.data] : []));
  expect(progressOf('short')).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3 })));
  expect(progressOf('long').length).toBeGreaterThan(0);
  expect(of('action.completed').map(({ id }) => id)).toEqual(['short']);
  expect(of('action.failed')).toMatchObject([{ id: 'long', error: { code: 'timeout' } }]);
});
