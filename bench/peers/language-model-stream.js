import { TOOL } from '../agents/scenario.ts';

/** A turn as a stream of the AI SDK's provider interface, everything at hand at once; V2 and V4 differ in the finish. */
export function streamOf({ said, call, until }, version) {
  return new ReadableStream({
    async start(controller) {
      controller.enqueue({ type: 'stream-start', warnings: [] });
      controller.enqueue({ type: 'text-start', id: 't' });
      for (const delta of said) controller.enqueue({ type: 'text-delta', id: 't', delta });
      if (until !== undefined) await until;
      controller.enqueue({ type: 'text-end', id: 't' });
      if (call !== undefined)
        controller.enqueue({
          type: 'tool-call',
          toolCallId: call.id,
          toolName: TOOL,
          input: `{"query":"${call.query}"}`,
        });
      const unified = call === undefined ? 'stop' : 'tool-calls';
      controller.enqueue({
        type: 'finish',
        finishReason: version === 'v2' ? unified : { unified, raw: undefined },
        usage:
          version === 'v2'
            ? { inputTokens: 10, outputTokens: 10, totalTokens: 20 }
            : {
                inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
                outputTokens: { total: 10, text: 10, reasoning: 0 },
              },
      });
      controller.close();
    },
  });
}
