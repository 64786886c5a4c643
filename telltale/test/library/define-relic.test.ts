import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineRelic } from '../../src/agent/define/definitions.ts';
import { runAgent } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';

const shelf = (books = new Map<string, number>()) =>
  defineRelic({
    name: 'shelf',
    description: 'Books and how many of each there are.',
    operations: {
      count: {
        description: 'how many there are of a book',
        parameters: z.object({ title: z.string() }),
        idempotent: true,
        run: ({ title }) => books.get(title) ?? 0,
      },
      add: {
        description: 'puts books on it',
        parameters: z.object({ title: z.string(), copies: z.number().int().default(1) }),
        run: ({ title, copies }) => {
          books.set(title, (books.get(title) ?? 0) + copies);
          return books.get(title);
        },
      },
      titles: { description: 'all titles', run: () => [...books.keys()] },
    },
    default: 'count',
    health: () => ({ ok: true, books: books.size }),
  });

/** Any function. */
const run = () => 1;

const call = (id: string, parameters: object) =>
  `<action id="${id}" type="relic" mode="sync">${JSON.stringify({ name: 'shelf', parameters })}</action>`;

async function calls(relic: ReturnType<typeof defineRelic>, ...parameters: readonly object[]) {
  const turn = parameters.map((each, index) => call(`a${index}`, each)).join('');
  const model = scripted([turn, '<response>Done.</response>']);
  const agent = await defineAgent({ name: 'x', model, relics: [relic] });
  const { events } = await runAgent(agent, { input: 'Go.' });
  return events.flatMap((event): unknown[] => {
    if (event.type === 'action.completed') return [event.output];
    return event.type === 'action.failed' ? [event.error] : [];
  });
}

describe('a relic in code', () => {
  it('outlives calls; its operations get what their schemas give', async () => {
    const results = await calls(
      shelf(),
      { operation: 'add', title: 'Emma' },
      { operation: 'add', title: 'Emma', copies: 2 },
      { title: 'Emma' },
      { operation: 'titles' },
      { operation: 'health' },
    );
    expect(results).toEqual([1, 3, 3, ['Emma'], { ok: true, books: 1 }]);
  });

  it('is well as long as it says nothing else', async () => {
    const relic = defineRelic({ name: 'shelf', operations: { a: { description: 'a', run: () => 1 } } });
    expect(await calls(relic, { operation: 'health' })).toEqual([
      { ok: true, where: 'defineRelic("shelf")' },
    ]);
  });

  it('says what is wrong with a call', async () => {
    const results = await calls(
      shelf(),
      { operation: 'ad', title: 'Emma' },
      { operation: 'add', title: 7 },
      { operation: 'add', title: 'Emma', copies: 1.5 },
      { operation: 'titles', title: 'Emma' },
    );
    expect(results).toMatchObject([
      { code: 'bad_parameters', hint: expect.stringContaining('Did you mean "add"?') },
      { code: 'bad_parameters', message: expect.stringContaining('"/title"') },
      { code: 'bad_parameters', message: expect.stringContaining('"/copies"') },
      { code: 'bad_parameters', message: expect.stringContaining('"/title"') },
    ]);
  });

  it('with a health that throws is not well', async () => {
    const relic = defineRelic({
      name: 'shelf',
      operations: { a: { description: 'a', run: () => 1 } },
      health: () => Promise.reject(new Error('it burned down')),
    });
    expect(await calls(relic, { operation: 'health' })).toMatchObject([
      { code: 'tool_failed', message: expect.stringContaining('it burned down') },
    ]);
  });

  it('changes the hash of its agent when an operation does', async () => {
    const hashWith = async (description: string) => {
      const relic = defineRelic({ name: 'shelf', operations: { a: { description, run: () => 1 } } });
      return (await defineAgent({ name: 'x', model: scripted([]), relics: [relic] })).hash;
    };
    expect(await hashWith('one')).toBe(await hashWith('one'));
    expect(await hashWith('one')).not.toBe(await hashWith('two'));
  });

  it.each<readonly [string, object, string, RegExp]>([
    ['no operation', { operations: {} }, '/operations', /at least one operation/],
    ['one named health', { operations: { health: { run } } }, '/operations/health', /every relic/],
    ['one without run', { operations: { a: { description: 'a' } } }, '/operations/a/run', /no "run"/],
    ['a default that is none', { operations: { a: { run } }, default: 'b' }, '/default', /no operation "b"/],
    [
      'parameters that are no object',
      { operations: { a: { parameters: z.string(), run } } },
      '/operations/a/parameters',
      /object of named parameters/,
    ],
    [
      'a JSON Schema that is none',
      {
        operations: {
          a: { parameters: { type: 'object', properties: { n: { type: 'nmber' } } }, run },
        },
      },
      '/operations/a/parameters/properties/n/type',
      /nmber|allowed|equal/,
    ],
    ['an unknown key', { operations: { a: { run } }, ttl: 3 }, '/ttl', /Unknown key "ttl"/],
  ])('with %s is refused', async (_, definition, path, message) => {
    const relic = defineRelic({ name: 'shelf', ...definition } as unknown as Parameters<
      typeof defineRelic
    >[0]);
    const failed = await defineAgent({ name: 'x', relics: [relic] }).catch((error) => error);
    expect(failed.diagnostics).toContainEqual(
      expect.objectContaining({
        file: 'defineRelic("shelf")',
        path,
        message: expect.stringMatching(message),
      }),
    );
  });
});
