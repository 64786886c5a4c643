import { describe, expect, it } from 'vitest';
import { runAgent, tool } from './run-agent.ts';

describe('what a watcher sees', () => {
  it('comes in the order in which it was said, live and durable alike', async () => {
    const { observed } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\nmetadata: { fields: { done: { type: boolean } } }\n',
      files: tool('look', 'return 1;'),
      turns: [
        '<thought>one<action id="a">{"name": "look"}</action>two</thought><metadata>{"done": true}</metadata><response>three</response>',
      ],
    });
    const seen = observed.flatMap((event) => {
      if (event.type === 'thought.delta' || event.type === 'response.delta') return [event.text];
      return event.type === 'action.declared' || event.type === 'metadata.changed' ? [` ${event.type} `] : [];
    });
    expect(seen.join('')).toBe('one action.declared two metadata.changed three');
  });
});
