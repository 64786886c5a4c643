import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import { answer, INSTRUCTIONS, PROMPT, TOOL, TOOL_DESCRIPTION } from '../agents/scenario.ts';

// Callbacks wait in one queue for all sessions by default: under load the reader's stream ends before its text comes.
process.env.LANGCHAIN_CALLBACKS_BACKGROUND = 'false';

class FakeModel extends BaseChatModel {
  constructor(script) {
    super({});
    this.script = script;
  }

  _llmType() {
    return 'fake';
  }

  async _generate() {
    throw new Error('The bench streams.');
  }

  async *_streamResponseChunks(messages, _options, runManager) {
    const turn = messages.filter((message) => message.getType() === 'tool').length;
    const { said, call, until } = this.script(turn);
    for (const text of said) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
    if (until !== undefined) await until;
    if (call === undefined) return;
    const args = `{"query":"${call.query}"}`;
    const message = new AIMessageChunk({
      content: '',
      tool_call_chunks: [{ id: call.id, name: TOOL, args, index: 0, type: 'tool_call_chunk' }],
    });
    yield new ChatGenerationChunk({ text: '', message });
  }
}

/** The usual graph: a node for the model, a node for its tools, and an edge that asks whether there are calls. */
export async function openGraph(script, checkpointer) {
  let calls = 0;
  const lookup = tool(
    ({ query }) => {
      calls += 1;
      return JSON.stringify(answer(query));
    },
    { name: TOOL, description: TOOL_DESCRIPTION, schema: z.object({ query: z.string() }) },
  );
  const model = new FakeModel(script);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }, config) => ({
      messages: [await model.invoke([{ role: 'system', content: INSTRUCTIONS }, ...messages], config)],
    }))
    .addNode('tools', new ToolNode([lookup]))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', ({ messages }) => (messages.at(-1).tool_calls?.length ? 'tools' : END))
    .addEdge('tools', 'agent')
    .compile(checkpointer === undefined ? {} : { checkpointer });
  let sessions = 0;
  return {
    async session() {
      sessions += 1;
      let characters = 0;
      const stream = await graph.stream(
        { messages: [{ role: 'user', content: PROMPT }] },
        {
          streamMode: 'messages',
          recursionLimit: 1_000_000,
          configurable: { thread_id: `session-${sessions}` },
        },
      );
      for await (const [chunk] of stream)
        if (chunk.getType() === 'ai' && typeof chunk.content === 'string') characters += chunk.content.length;
      return { characters };
    },
    calls: () => calls,
    close: async () => checkpointer?.db.close(),
  };
}

export const contestant = { name: 'LangGraph 1.4', open: (script) => openGraph(script) };
