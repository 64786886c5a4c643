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

const model_options = {
  temperature: 0.2,
  top_p: 0.9,
  max_output_tokens: 700,
  seed: 7,
  presence_penalty: 0.5,
  frequency_penalty: -0.5,
  stop_sequences: ['END'],
};

it.each([
  [
    'openai-chat',
    { max_tokens: 700, seed: 7, presence_penalty: 0.5, frequency_penalty: -0.5, stop: ['END'] },
  ],
  ['google', { generationConfig: { maxOutputTokens: 700, seed: 7, stopSequences: ['END'] } }],
  ['anthropic', { max_tokens: 700, stop_sequences: ['END'] }],
] as const)('the options of a manifest reach the provider in the format %s', async (format, some) => {
  let shown: SessionPrompt | undefined;
  const { bodies } = await runOverHttp({
    format,
    dialect: 'tags',
    agent: { model_options },
    answers: [{ move: { acts: [], final: 'Done.' } }],
    async after(runtime, session, agent) {
      shown = await runtime.prompt(session, 1, { agent });
    },
  });
  expect(bodies[0]).toMatchObject(some);
  const { temperature } = {
    ...(bodies[0] as { generationConfig?: JsonObject }).generationConfig,
    ...(bodies[0] as JsonObject),
  };
  expect(temperature).toBe(0.2);
  expect(shown?.request).toMatchObject(some);
  expect(shown?.options).toEqual(model_options);
});

it('a named model has options of its own, also where an action asks it by its provider and name', async () => {
  const { bodies, of } = await runOverHttp({
    format: 'openai-chat',
    dialect: 'tags',
    agent: {
      model_options: { temperature: 1 },
      models: { judge: { model: 'openai-compatible/judge', temperature: 0, seed: 3 } },
      prompts: { ask: { template: 'Is it good?', model: 'judge' } },
    },
    answers: [
      {
        say: {
          parts: [
            {
              type: 'text',
              text: '<action type="llm" name="ask" id="a">{}</action><action type="llm" name="ask" id="b" depends_on="a">{"model": "judge"}</action>',
            },
          ],
          finish: 'stop',
        },
      },
      { say: { parts: [{ type: 'text', text: 'Yes.' }], finish: 'stop' } },
      { say: { parts: [{ type: 'text', text: 'No.' }], finish: 'stop' } },
      { move: { acts: [], final: 'Done.' } },
    ],
  });
  expect(of('action.failed')).toEqual([]);
  expect(bodies.map((body) => (body as JsonObject).model)).toEqual(['local', 'judge', 'judge', 'local']);
  expect(bodies.map((body) => (body as JsonObject).temperature)).toEqual([1, 0, 0, 1]);
  expect(bodies.map((body) => (body as JsonObject).seed)).toEqual([undefined, 3, 3, undefined]);
});

it.each([
  ['openai/gpt-5', { store: false, stream: true, max_output_tokens: 9 }],
  ['openai-compatible/local', { stream: true, max_tokens: 9 }],
  ['scripted:none.yml', undefined],
])('a preview of an agent on %s shows them without a key or an address', async (model, some) => {
  const runtime = await createRuntime({ store: 'memory', env: {} });
  try {
    const { request } = await runtime.preview(
      await defineAgent({ name: 'worker', model, model_options: { max_output_tokens: 9 } }),
    );
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
