import { defineTool } from '../../src/agent/define/definitions.ts';

/** An agent with a tool that keeps what it is given. */
export function noting(answer = (text: string) => `Noted ${text.length} characters.`) {
  const noted: string[] = [];
  const tool = defineTool({
    name: 'note',
    idempotent: true,
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
    run: ({ text = '' }: { text?: string }) => {
      noted.push(text);
      return answer(text);
    },
  });
  return { noted, agent: { tools: [tool] } };
}
