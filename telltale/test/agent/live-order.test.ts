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

  it('comes in that order also where more of it waits for the store than is kept waiting', async () => {
    const pieces = Array.from({ length: 6_000 }, (_, at) => ` ${at}`);
    const { observed } = await runAgent({
      turns: [],
      model: {
        id: 'scripted:hasty',
        async stream(_, sink) {
          await undefined;
          sink.text('<thought>x</thought><metadata>{}</metadata><response>');
          for (const piece of pieces) sink.text(piece);
          sink.text('</response>');
          return { finish: 'stop' };
        },
      },
    });
    const said = observed.flatMap((event) => (event.type === 'response.delta' ? [event.text] : []));
    expect(said.join('')).toBe(pieces.join(''));
  });
});
