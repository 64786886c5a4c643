import { Agent, run, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { answer, INSTRUCTIONS, PROMPT, TOOL, TOOL_DESCRIPTION } from '../agents/scenario.ts';

setTracingDisabled(true);

class FakeModel {
  constructor(script) {
    this.script = script;
  }

  async getResponse() {
    throw new Error('The bench streams.');
  }

  async *getStreamedResponse({ input }) {
    const turn =
      typeof input === 'string' ? 0 : input.filter(({ type }) => type === 'function_call_result').length;
    const { said, call, until } = this.script(turn);
    yield { type: 'response_started' };
    for (const delta of said) yield { type: 'output_text_delta', delta };
    if (until !== undefined) await until;
    const output = [
      {
        type: 'message',
        id: `message-${turn}`,
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: said.join('') }],
      },
    ];
    if (call !== undefined)
      output.push({
        type: 'function_call',
        id: call.id,
        callId: call.id,
        name: TOOL,
        arguments: `{"query":"${call.query}"}`,
        status: 'completed',
      });
    yield {
      type: 'response_done',
      response: {
        id: `response-${turn}`,
        usage: { inputTokens: 10, outputTokens: 10, totalTokens: 20 },
        output,
      },
    };
  }
}

export const contestant = {
  name: 'OpenAI Agents 0.20',
  async open(script) {
    let calls = 0;
    const agent = new Agent({
      name: 'bench',
      instructions: INSTRUCTIONS,
      model: new FakeModel(script),
      tools: [
        tool({
          name: TOOL,
          description: TOOL_DESCRIPTION,
          parameters: z.object({ query: z.string() }),
          execute: ({ query }) => {
            calls += 1;
            return answer(query);
          },
        }),
      ],
    });
    return {
      async session() {
        let characters = 0;
        const result = await run(agent, PROMPT, { stream: true, maxTurns: 1_000_000 });
        for await (const event of result)
          if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
            characters += event.data.delta.length;
        await result.completed;
        return { characters };
      },
      calls: () => calls,
      close: async () => {},
    };
  },
};
