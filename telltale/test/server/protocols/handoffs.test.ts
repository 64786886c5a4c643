import { type BaseEvent, HttpAgent } from '@ag-ui/client';
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { defineAgent, defineTool } from '../../../src/index.ts';
import type { ScriptTurn } from '../../../src/models/scripted/script.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { call, echo, final, guarded, interim, openStage, type Stage } from './protocol-stage.ts';

let stage: Stage;
afterEach(() => stage.close());

const OWED = 'You owe nothing, and you have owed nothing since the first of March.';
const toBilling = '<action>{"name": "handoff", "parameters": {"to": "billing"}}</action>';

/** A server whose agent hands every conversation to another one, which says this. */
async function openTeam(
  turns: readonly (string | ScriptTurn)[],
  { first = `${toBilling}${final('One moment.')}`, ...more }: { first?: string; tools?: object[] } = {},
) {
  const billing = await defineAgent({ name: 'billing', model: scripted(turns), tools: [], ...more } as never);
  stage = await openStage({ triage: { turns: [first], handoff: ['billing'], agents: [billing] } });
}

interface Chunk {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
  readonly toolCallId?: string;
  readonly approvalId?: string;
  readonly providerMetadata?: { readonly telltale: { readonly agent?: string; readonly final?: boolean } };
  readonly [key: string]: unknown;
}

/** The chunks of an answer of `/chat`. */
async function chat(messages: readonly object[]): Promise<readonly Chunk[]> {
  const answer = await stage.post('/chat/triage', { id: 'c1', messages });
  return (await answer.text())
    .split('\n\n')
    .flatMap((frame) => (frame.startsWith('data: {') ? [JSON.parse(frame.slice(6)) as Chunk] : []));
}
const said = (text: string) => ({ id: 'm1', role: 'user', parts: [{ type: 'text', text }] });

async function runAgUi(agent: HttpAgent, text?: string, more: object = {}): Promise<readonly BaseEvent[]> {
  if (text !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
  const events: BaseEvent[] = [];
  await agent.runAgent(more, { onEvent: ({ event }) => void events.push(event) });
  return events;
}
const agUi = () =>
  new HttpAgent({
    url: `${stage.url}/ag-ui/triage`,
    threadId: 't1',
    headers: { authorization: `Bearer ${stage.token}` },
  });

const openAi = () => new OpenAI({ baseURL: `${stage.url}/v1`, apiKey: stage.token, maxRetries: 0 });
const question = { model: 'triage', messages: [{ role: 'user' as const, content: 'What do I owe?' }] };

describe('useChat with a conversation that moved to another agent', () => {
  it('streams what the other agent says in pieces, under its name', async () => {
    await openTeam([{ text: `<thought>I look it up.</thought>${final(OWED)}`, chunk: 5 }]);
    const chunks = await chat([said('What do I owe?')]);
    const isBillings = ({ providerMetadata }: Chunk) => providerMetadata?.telltale.agent === 'billing';
    const [thought, text] = chunks.filter((chunk) => chunk.type.endsWith('-start') && isBillings(chunk));
    expect([thought?.type, text?.type]).toEqual(['reasoning-start', 'text-start']);
    const pieces = chunks.filter(({ type, id }) => type === 'text-delta' && id === text?.id);
    expect(pieces.map(({ delta }) => delta).join('')).toBe(OWED);
    expect(pieces.length).toBeGreaterThan(5);
    const texts = chunks.filter(({ type }) => type === 'text-delta').map(({ delta }) => delta);
    expect(texts.join('')).toBe(`One moment.${OWED}`);
  });

  it('shows the calls of the other agent, apart from those of the first one', async () => {
    await openTeam([`${call('a1', 'echo', { x: 2 })}${interim('I look.')}`, final('Two.')], {
      first: `${call('a1', 'list_actions')}${toBilling}`,
      tools: [echo],
    });
    const chunks = await chat([said('What do I owe?')]);
    const session = await stage.newest();
    const calls = chunks.filter(
      ({ type, toolName }) => type === 'tool-input-start' && toolName !== 'handoff',
    );
    expect(calls.map(({ toolName, toolCallId }) => [toolName, toolCallId])).toEqual([
      ['list_actions', `${session.split('.')[0]}.a1`],
      ['echo', `${session.split('.')[0]}.speaker.billing.a1`],
    ]);
    expect(chunks).toContainEqual(
      expect.objectContaining({
        type: 'tool-output-available',
        toolCallId: calls[1]?.toolCallId,
        output: { x: 2 },
      }),
    );
  });

  it('asks for the approvals of the other agent, and goes on with the answer', async () => {
    await openTeam([call('a1', 'deploy'), final('Deployed.')], { tools: [guarded] });
    const asked = await chat([said('Deploy it.')]);
    const request = asked.find(({ type }) => type === 'tool-approval-request');
    expect(request?.toolCallId).toMatch(/\.speaker\.billing\.a1$/);
    expect(asked.at(-1)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' });
    const part = {
      type: 'dynamic-tool',
      toolName: 'deploy',
      toolCallId: request?.toolCallId,
      state: 'approval-responded',
      input: {},
      approval: { id: request?.approvalId, approved: true },
    };
    const answered = await chat([said('Deploy it.'), { id: 'm2', role: 'assistant', parts: [part] }]);
    expect(answered).toContainEqual(
      expect.objectContaining({
        type: 'tool-output-available',
        toolCallId: request?.toolCallId,
        output: 'deployed',
      }),
    );
    const texts = answered.filter(({ type }) => type === 'text-delta').map(({ delta }) => delta);
    expect(texts.join('')).toBe('Deployed.');
  });
});

describe('AG-UI with a conversation that moved to another agent', () => {
  it('streams what the other agent says in pieces, under its name, in a step of its own', async () => {
    await openTeam([{ text: final(OWED), chunk: 5 }]);
    const agent = agUi();
    const events = await runAgUi(agent, 'What do I owe?');
    const starts = events.filter(({ type }) => type === 'TEXT_MESSAGE_START');
    expect(starts.map(({ name }) => name)).toEqual([undefined, 'billing']);
    const pieces = events.filter(
      ({ type, messageId }) => type === 'TEXT_MESSAGE_CONTENT' && messageId === starts[1]?.messageId,
    );
    expect(pieces.map(({ delta }) => delta).join('')).toBe(OWED);
    expect(pieces.length).toBeGreaterThan(5);
    expect(events.filter(({ type }) => type === 'STEP_STARTED').map(({ stepName }) => stepName)).toEqual([
      'turn 1',
      'billing',
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: OWED });
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: OWED, name: 'billing' });
  });

  it('ends with an interrupt where the other agent asks for approval, and goes on with the answer', async () => {
    await openTeam([call('a1', 'deploy'), final('Deployed.')], { tools: [guarded] });
    const agent = agUi();
    const asked = await runAgUi(agent, 'Deploy it.');
    const { outcome } = asked.at(-1) as unknown as {
      outcome: { interrupts: { id: string; toolCallId: string }[] };
    };
    const [interrupt] = outcome.interrupts;
    expect(asked.find(({ toolCallName }) => toolCallName === 'deploy')).toMatchObject({
      toolCallId: interrupt?.toolCallId,
      metadata: { telltale: { agent: 'billing' } },
    });
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }];
    const events = await runAgUi(agent, undefined, { resume });
    expect(events.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({
      toolCallId: interrupt?.toolCallId,
      content: 'deployed',
    });
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: 'Deployed.' });
  });
});

describe('chat completions of a conversation that moved to another agent', () => {
  it('stream every answer as it comes, and name who answers', async () => {
    await openTeam(
      [{ text: `${call('a1', 'echo')}${interim('I look.')}` }, { text: final(OWED), chunk: 5 }],
      {
        tools: [echo],
      },
    );
    const stream = await openAi().chat.completions.create({ ...question, stream: true });
    const pieces: (readonly [string | undefined, string])[] = [];
    for await (const chunk of stream) {
      const { telltale } = chunk as unknown as { telltale?: { agent: string } };
      const content = chunk.choices[0]?.delta.content ?? '';
      if (content !== '') pieces.push([telltale?.agent, content]);
    }
    expect(pieces.map(([, text]) => text).join('')).toBe(`One moment.\n\n${OWED}`);
    expect(pieces.filter(([agent]) => agent === 'billing').length).toBeGreaterThan(5);
    expect(pieces[0]?.[0]).toBe('triage');
  });

  it('hold the same answers where nothing is streamed', async () => {
    await openTeam([final(OWED)]);
    const completion = await openAi().chat.completions.create(question);
    expect(completion.choices[0]?.message.content).toBe(`One moment.\n\n${OWED}`);
    expect(completion).toMatchObject({
      telltale: {
        said: [
          { agent: 'triage', text: 'One moment.' },
          { agent: 'billing', text: OWED },
        ],
      },
    });
  });

  it('wait with an answer that an action of the other agent may still undo', async () => {
    const slow = defineTool({ name: 'slow', run: () => 'late' });
    await openTeam([`${call('a1', 'slow')}${final('Too early.')}`, final('In time.')], { tools: [slow] });
    const stream = await openAi().chat.completions.create({ ...question, stream: true });
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    expect(text).toBe('One moment.\n\nIn time.');
  });
});
