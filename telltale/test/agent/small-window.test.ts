import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { Model, ModelRequest } from '../../src/models/model.ts';
import { modelFailed } from '../../src/models/model-errors.ts';
import { crashEverywhere } from '../../src/testing/crash.ts';
import { expectEvents } from '../../src/testing/expect-events.ts';
import { DIALECTS, type Move } from '../lab/models/move.ts';
import { FORMATS, runOverHttp } from '../wire/over-http.ts';

const page = () => {
  const read: number[] = [];
  const tool = defineTool({
    name: 'page',
    idempotent: true,
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    run: ({ n = 0 }: { n?: number }) => {
      read.push(n);
      return `Page ${n}. ${`This is line after line of page ${n}. `.repeat(40)}`;
    },
  });
  return { read, tool };
};
const reads = (n: number): Move => ({ acts: [{ key: `p${n}`, name: 'page', parameters: { n } }] });
const TURNS = 16;

describe.each(FORMATS)('with a window of 4,096 tokens, over %s', (format) => {
  it.each(DIALECTS)('a small agent works for many turns, compacted again and again (%s)', async (dialect) => {
    const { read, tool } = page();
    const { result, of, prompts } = await runOverHttp({
      format,
      dialect,
      summary: 'The pages were read up to the last one.',
      agent: { tools: [tool], context_window: 4_096 },
      answers: [
        ...Array.from({ length: TURNS }, (_, at) => ({ move: reads(at + 1) })),
        { move: { acts: [], final: 'All read.' } },
      ],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'All read.', turns: TURNS + 1 });
    expect(read).toEqual(Array.from({ length: TURNS }, (_, at) => at + 1));
    expect(of('turn.failed')).toEqual([]);
    expect(of('prompt.compacted').length).toBeGreaterThan(1);
    for (const { prompt } of of('turn.started')) expect(prompt.tokens).toBeLessThan(4_096);
    // The newest result is in each prompt.
    for (let n = 1; n <= TURNS; n++) expect(prompts[n]).toContain(`Page ${n}.`);
  });

  it.each(DIALECTS)(
    'an agent whose system prompt alone fills it is told so before any request (%s)',
    async (dialect) => {
      const { tool } = page();
      const { result, bodies, of } = await runOverHttp({
        format,
        dialect,
        answers: [],
        agent: {
          tools: [tool],
          context_window: 4_096,
          instructions: 'Mind this rule about pages. '.repeat(560),
        },
      });
      expect(result).toMatchObject({
        status: 'failed',
        error: {
          code: 'model_context_exceeded',
          message: expect.stringMatching(
            /^The prompt does not fit into the context window of \S+, 4,096 tokens: it has about 4,[1-9]\d\d, 4,[1-9]\d\d of them in the system prompt and the tools, and nothing more can be left out of it\.$/,
          ),
          hint: 'Shorten the instructions or the message, offer fewer tools, or use a model with a larger window. If this one can read more, say so with "context_window" in the manifest.',
        },
      });
      expect([bodies, of('turn.started')]).toEqual([[], []]);
    },
  );
});

const MAX_CHARS = 7_000;
const LAST = 6;

/** Reads page after page, as far as its prompt shows, and refuses prompts that are too long as a server does. */
function reader(asked: { refused: number }): Model {
  return {
    id: 'local/reader',
    async stream({ system, messages }: ModelRequest, sink) {
      const text = messages.map((message) => message.text).join('\n');
      const shown = Math.max(0, ...[...text.matchAll(/Page (\d+)/g)].map(([, n]) => Number(n)));
      if (system.startsWith('You write the summary')) {
        sink.text(`The agent has read up to Page ${shown}.`);
        return { finish: 'stop' };
      }
      if (text.length > MAX_CHARS) {
        asked.refused++;
        throw modelFailed('model_context_exceeded', 'prompt is too long: 2100 tokens > 2000 maximum');
      }
      sink.text(
        shown < LAST
          ? `<action>{"name":"page","parameters":{"n":${shown + 1}}}</action>`
          : '<response>All read.</response>',
      );
      return { finish: 'stop' };
    },
  };
}

it('a session that dies between the refusal of its prompt and the compaction goes on, wherever that is', async () => {
  let places = 0;
  let refused = 0;
  await crashEverywhere(
    {
      input: 'Read it all.',
      async setUp() {
        const { read, tool } = page();
        const asked = { refused: 0 };
        return {
          agent: await defineAgent({ name: 'reader', model: reader(asked), tools: [tool] }),
          read,
          asked,
        };
      },
    },
    ({ scene, events, result, where }) => {
      places++;
      refused += scene.asked.refused;
      expect(result, where).toMatchObject({ status: 'completed', result: 'All read.' });
      // One that died while it read is read once more; none is left out.
      expect([...new Set(scene.read)]).toEqual([1, 2, 3, 4, 5, 6]);
      const types = events.map(({ type }) => type);
      const exceeded = events.findIndex((each) => each.type === 'turn.failed' && each.exceeded !== undefined);
      expect(exceeded).toBeGreaterThan(-1);
      expect(types.slice(exceeded)).toContain('prompt.compacted');
      expectEvents(events).times(1, 'session.completed');
    },
    { every: true },
  );
  expect(places).toBeGreaterThan(40);
  expect(refused).toBeGreaterThan(0);
});
