import { createOpenAI } from '@ai-sdk/openai';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { SessionPrompt } from '../../src/log/session-prompt.ts';
import { runOverHttp } from '../wire/over-http.ts';

/** What each format has of the conversation, the tools and the model. */
const SHOWN_ELSEWHERE = ['model', 'system', 'systemInstruction', 'messages', 'contents', 'tools'];

describe.each([
  ['openai-chat', { stream: true, tool_choice: { type: 'function', function: { name: 'step' } } }],
  ['anthropic', { stream: true, max_tokens: 64_000 }],
  ['google', { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['step'] } } }],
] as const)('a prompt in the format %s', (format, some) => {
  it('shows all that the provider was sent beside conversation and tools', async () => {
    let shown: SessionPrompt | undefined;
    const { bodies } = await runOverHttp({
      format,
      dialect: 'step',
      answers: [{ move: { acts: [], final: 'Done.' } }],
      async after(runtime, session, agent) {
        shown = await runtime.prompt(session, 1, { agent });
      },
    });
    const sent = Object.entries(bodies[0] as JsonObject).filter(([key]) => !SHOWN_ELSEWHERE.includes(key));
    expect(shown?.request).toEqual(Object.fromEntries(sent));
    expect(shown?.request).toMatchObject(some);
    expect(JSON.stringify(shown)).not.toContain('sk-x');
  });
});

it.each([
  ['openai/gpt-5', { store: false, stream: true }],
  ['openai-compatible/local', { stream: true, stream_options: { include_usage: true } }],
  ['scripted:none.yml', undefined],
])('a preview of an agent on %s shows them without a key or an address', async (model, some) => {
  const runtime = await createRuntime({ store: 'memory', env: {} });
  try {
    const { request } = await runtime.preview(await defineAgent({ name: 'worker', model }));
    if (some === undefined) expect(request).toBeUndefined();
    else expect(request).toMatchObject(some);
  } finally {
    await runtime.close();
  }
});

it("of a program's own model of the AI SDK the options show that it is given", async () => {
  const model = createOpenAI({ apiKey: 'sk-x', fetch: () => Promise.reject(new Error('down')) }).responses(
    'gpt-5',
  );
  const runtime = await createRuntime({ store: 'memory', env: {} });
  try {
    const agent = await defineAgent({ name: 'worker', model, dialect: 'step', limits: { turns: 1 } });
    const session = runtime.start(agent, { input: 'Do it.' });
    await expect.poll(async () => (await runtime.state(session.id)).turn).toBe(1);
    expect((await session.prompt()).request).toMatchObject({
      toolChoice: { type: 'tool', toolName: 'step' },
      providerOptions: { openai: { store: false } },
    });
    await session.cancel();
  } finally {
    await runtime.close();
  }
});
