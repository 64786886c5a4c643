// A whole agent in TypeScript, without a line of YAML. Run it: node main.ts
import { createRuntime, defineAgent, defineTool } from 'telltale';
import { scripted } from 'telltale/testing';
import { z } from 'zod';

const PRICES = new Map([
  ['tea', 3.2],
  ['bread', 2.5],
]);

const price = defineTool({
  name: 'price',
  description: 'What a thing costs, in euros.',
  parameters: z.object({ item: z.string(), pieces: z.number().int().default(1) }),
  output: z.object({ item: z.string(), euros: z.number() }),
  idempotent: true,
  run: ({ item, pieces }) => {
    const each = PRICES.get(item);
    if (each === undefined) throw new Error(`Nobody sells ${item}.`);
    return { item, euros: each * pieces };
  },
});

const Bill = z.object({ items: z.array(z.string()), total: z.number() });

const agent = await defineAgent({
  name: 'shopper',
  instructions: 'You add up shopping lists.',
  // With a key: model: 'anthropic/claude-sonnet-4-5'.
  model: scripted([
    `<thought>Three prices, all at once.</thought>
<metadata>{"status":"ASKING"}</metadata>
<action id="tea">{"name":"price","parameters":{"item":"tea","pieces":2}}</action>
<action id="bread">{"name":"price","parameters":{"item":"bread"}}</action>
<action id="gold">{"name":"price","parameters":{"item":"gold"}}</action>`,
    `<thought>Nobody sells gold, so it is not on the bill.</thought>
<metadata>{"status":"DONE"}</metadata>
<response>{"items":["tea","bread"],"total":8.9}</response>`,
  ]),
  tools: [price],
  metadata: { fields: { status: { values: ['IDLE', 'ASKING', 'DONE'], default: 'IDLE' } } },
  limits: { turns: 10, wall: '1m' },
  output: { schema: Bill },
});

const runtime = await createRuntime({ store: 'memory' });
const session = runtime.start(agent, { input: 'Two teas, a bread and some gold.' });

for await (const event of session.events) {
  switch (event.type) {
    case 'turn.started':
      // What a provider's cache has of this prompt already.
      if (event.turn > 1) console.log(`(${event.prompt.reused_prefix * 100} % of the last prompt reused)`);
      break;
    case 'thought.delta':
      process.stdout.write(event.text);
      break;
    case 'thought':
      process.stdout.write('\n');
      break;
    case 'metadata.changed':
      console.log('·', JSON.stringify(event.changes));
      break;
    case 'action.completed':
      console.log('✓', event.id, JSON.stringify(event.output));
      break;
    case 'action.failed':
      console.log('✗', event.id, event.error.message);
      break;
    default:
  }
}

const { status, result } = await session.result; // result: { items: string[]; total: number } | undefined
console.log(status, result?.items.join(' and '), result?.total.toFixed(2));
await runtime.close();
