import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import { defineTool, defineWorkflow } from '../../../src/agent/define/definitions.ts';
import { INTERNAL_ACTIONS } from '../../../src/agent/internal/internal-actions.ts';
import type { Model, ModelRequest } from '../../../src/models/model.ts';
import { RESPOND, SET_METADATA, STEP } from '../../../src/parser/calls/call-names.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { NOTES, stage } from './serve-stage.ts';

const LOOKS = [
  '<action type="tool" mode="sync" id="look_1">{"name": "look", "parameters": {"at": "it"}}</action>',
  '<response final="true">It is there.</response>',
];

/** Keeps whole requests: instructions, conversation and tools. */
function overheard(turns: readonly string[]) {
  const model = scripted(turns);
  const requests: ModelRequest[] = [];
  const heard: Model = {
    ...model,
    stream(request, sink) {
      requests.push({ ...request, messages: [...request.messages] });
      return model.stream(request, sink);
    },
  };
  return { model: heard, requests };
}

const look = (run: (input: object, call: { readonly signal: AbortSignal }) => Promise<string>) =>
  defineTool({ name: 'look', description: 'Looks.', parameters: z.object({ at: z.string() }), run });

const agent = (name: string, model: Model, more: object = {}) => defineAgent({ name, model, ...more });

describe('an agent as a tool', () => {
  it('gives its result, with the session that it can be looked up by', async () => {
    const { model, requests } = overheard(LOOKS);
    const bot = await agent('bot', model, {
      description: 'Looks at things.',
      tools: [look(async () => 'seen')],
      context_variables: { runtime: [{ name: 'mood', type: 'string', default: 'calm' }] },
    });
    const { client, call, runtime } = await stage('.', { agents: [bot] });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'agent_bot')).toMatchObject({ description: 'Looks at things.' });
    const heard: string[] = [];
    const result = await client.callTool(
      { name: 'agent_bot', arguments: { input: 'Is it there?', vars: { mood: 'brisk' } } },
      undefined,
      { onprogress: ({ message }) => heard.push(message ?? '') },
    );
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'It is there.' }],
      structuredContent: { status: 'completed', result: 'It is there.', turns: 2 },
    });
    expect(heard).toEqual(['turn 1', 'look_1 started', 'look_1 completed', 'turn 2']);
    const { session } = result.structuredContent as { session: string };
    const state = await runtime.state(session);
    expect(state.input).toBe('Is it there?');
    expect(state.variables.get('mood')?.value).toBe('brisk');
    expect(JSON.stringify(requests)).not.toMatch(/tt1\.|continueToken|_workflow/);
    expect((await call('agent_bot', { input: 7 })).isError).toBe(true);
  });

  it('is an error with its reason where it fails, and cancelled where the client gives up', async () => {
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const slow = look((_input, { signal }) => {
      begun();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const bad = await agent('bad', scripted([]));
    const idle = await agent('idle', scripted(LOOKS), { tools: [slow] });
    const { client, refused, runtime } = await stage('.', { agents: [bad, idle] });
    expect(await refused('agent_bad', { input: 'x' })).toBe('agent_failed');
    const controller = new AbortController();
    const called = client.callTool({ name: 'agent_idle', arguments: {} }, undefined, {
      signal: controller.signal,
    });
    await isBegun;
    controller.abort('enough');
    await expect(called).rejects.toThrow();
    const statusOf = async () =>
      (await runtime.store.list({ kind: 'session' })).find(({ name }) => name === 'idle')?.status;
    await expect.poll(statusOf, { timeout: 10_000 }).toBe('cancelled');
  });

  it('two of one name, and one named as a tool of the server, are not served', async () => {
    const [one, two] = [
      await agent('bot', scripted([])),
      await defineAgent({ name: 'bot', model: scripted([]) }, { folder: '/tmp' }),
    ];
    await expect(stage('.', { agents: [one, { ...two, path: 'elsewhere' }] })).rejects.toThrow(
      'Two agents are named "bot"',
    );
    const clash = await agent('list_workflows', scripted([]));
    await expect(stage('.', { agents: [clash], agentPrefix: '' })).rejects.toThrow(
      'Two tools would be named',
    );
  });
});

describe('sessions as resources', () => {
  it('are listed newest first, read as a summary and as a log in pages, and followed', async () => {
    const bot = await agent('bot', scripted(LOOKS), { tools: [look(async () => 'seen')] });
    const { client, runtime } = await stage('.', { agents: [bot] });
    const ids = Array.from({ length: 60 }, (_, n) => `ses_${n}`);
    for (const id of ids) await runtime.start(bot, { input: `No. ${id}`, id }).result;
    const first = await client.listResources();
    expect(first.resources).toHaveLength(50);
    const second = await client.listResources({ cursor: first.nextCursor });
    expect(second.nextCursor).toBeUndefined();
    const listed = [...first.resources, ...second.resources].map(({ name }) => name);
    expect(new Set(listed)).toEqual(new Set(ids));
    await expect(client.listResources({ cursor: 'nowhere' })).rejects.toThrow('no cursor');

    const uri = 'telltale://sessions/ses_7';
    const read = async (from: string) => {
      const [content] = (await client.readResource({ uri: from })).contents;
      return content as unknown as { text: string; mimeType: string; _meta?: { next: string } };
    };
    expect(JSON.parse((await read(uri)).text)).toMatchObject({
      session: 'ses_7',
      status: 'completed',
      result: 'It is there.',
    });
    const log = await read(`${uri}/log`);
    const events = log.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toEqual(await runtime.events('ses_7'));
    expect(log._meta).toBeUndefined();
    expect((await read(`${uri}/log?from=3`)).text.split('\n')[0]).toContain('"seq":3');
    expect(
      (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ).toEqual(['telltale://sessions/{id}', 'telltale://sessions/{id}/log{?from}']);
    for (const wrong of [
      'telltale://sessions/none',
      'telltale://runs/x',
      'file:///etc/passwd',
      'telltale://sessions/ses_7/log?from=x',
      'telltale://sessions/%E0%A4%A',
    ])
      await expect(client.readResource({ uri: wrong })).rejects.toThrow('no resource');

    const updates: string[] = [];
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void updates.push(params.uri),
    );
    // Twice at once is followed once.
    await Promise.all([client.subscribeResource({ uri }), client.subscribeResource({ uri })]);
    const [ended] = [await runtime.resume('ses_7', { chat: true, agent: bot })];
    await expect.poll(() => updates).toContain(uri);
    await ended.interrupt();
    await client.unsubscribeResource({ uri });
    const told = updates.length;
    await (await runtime.resume('ses_7', { chat: true, agent: bot })).interrupt();
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(updates).toHaveLength(told);
  });

  it('a log longer than a page says where the rest is', async () => {
    const many = Array.from({ length: 300 }, (_, n) => `<thought>No. ${n}</thought>`).join('');
    const bot = await agent('bot', scripted([`${many}<response final="true">Done.</response>`]));
    const { client, runtime } = await stage('.', { agents: [bot] });
    await runtime.start(bot, { input: 'Think.', id: 'ses_long' }).result;
    const all = await runtime.events('ses_long');
    expect(all.length).toBeGreaterThan(500);
    const seen: number[] = [];
    for (let next: string | undefined = 'telltale://sessions/ses_long/log'; next !== undefined; ) {
      const { contents } = await client.readResource({ uri: next });
      const [page] = contents as { text: string; _meta?: { next?: string } }[];
      for (const line of (page?.text ?? '').trimEnd().split('\n')) seen.push(JSON.parse(line).seq);
      next = page?._meta?.next;
    }
    expect(seen).toEqual(all.map(({ seq }) => seq));
  });
});

describe('what a client calls and what an agent calls', () => {
  it('have no name in common', async () => {
    const bot = await agent('bot', scripted([]));
    const { client } = await stage('.', { agents: [bot] });
    const served = (await client.listTools()).tools.map(({ name }) => name);
    const own = new Set([...INTERNAL_ACTIONS, RESPOND, SET_METADATA, STEP]);
    expect(served.length).toBeGreaterThan(5);
    expect(served.filter((name) => own.has(name))).toEqual([]);
  });

  it('no prompt holds a token, a tool of the server, or what a client is told', async () => {
    const said = '<response final="true">A summary of what was done.</response>';
    const { model, requests } = overheard([said, said, said]);
    const flow = defineWorkflow({
      name: 'flow',
      steps: [
        { name: 'work', type: 'task', prompt: 'Do the part called work.' },
        { name: 'ask', type: 'llm', prompt: 'Sum up: ${steps.work.output}' },
        {
          name: 'call',
          type: 'agent',
          target: 'bot',
          parameters: { input: 'Check ${steps.work.output.notes}' },
        },
        { name: 'end', type: 'task', prompt: 'Do the part called end.' },
      ],
    });
    const bot = await agent('bot', model, { workflows: [flow], dialect: 'tags' });
    const { told, refused } = await stage('.', { agents: [bot] });
    const { continueToken } = await told('start_workflow', { workflow: 'flow' });
    for (const hidden of [
      { notes: `${NOTES} ${continueToken}` },
      { notes: NOTES, artifacts: [{ deep: [continueToken] }] },
    ])
      expect(await refused('continue_workflow', { continueToken, ...hidden })).toBe('claim_refused');
    await told('continue_workflow', { continueToken, notes: NOTES });
    expect(requests.length).toBeGreaterThanOrEqual(2);
    const all = JSON.stringify(requests);
    expect(all).toContain(NOTES);
    expect(all).not.toMatch(/tt1\.|continueToken|(list|inspect|start|continue)_workflow|resume_session/);
  });
});
