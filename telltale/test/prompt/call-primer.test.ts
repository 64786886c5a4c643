import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { CallTarget } from '../../src/parser/calls/call-names.ts';
import { createCallNames } from '../../src/parser/calls/call-names.ts';
import { callTools, metadataSchema } from '../../src/prompt/calls/call-tools.ts';
import type { DescribedTarget } from '../../src/prompt/notation.ts';
import { systemPrompt } from '../../src/prompt/primer.ts';
import { agentWith } from './agent.ts';

const TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const;
type Target = DescribedTarget & CallTarget;
const target = (kind: Target['kind'], name: string, more: Partial<Target> = {}): Target => ({
  kind,
  name,
  description: `Does ${name}.`,
  parameters: TEXT,
  ...more,
});
const TARGETS = [target('agent', 'critic'), target('tool', 'echo'), target('llm', 'shorten')];

/** As they are offered: each with its native name. */
const offered = (targets: readonly Target[] = TARGETS): readonly DescribedTarget[] => {
  const { natives } = createCallNames(targets);
  return targets.map((each, index) => ({ ...each, native: natives[index] }));
};

describe('metadata in a native call', () => {
  it('is JSON Schema of each type, with what the field may be, how it starts and what it is for', () => {
    const { metadata } = agentWith({
      metadata: {
        fields: {
          status: { values: ['IDLE', 'BUSY'], default: 'IDLE', description: ' The mode. ' },
          level: { type: 'enum', values: [1, 'two'] },
          title: { type: 'string', max_length: 9, pattern: '^a' },
          share: { type: 'number', min: 0, max: 1 },
          count: { type: 'number', integer: true },
          done: { type: 'boolean' },
          any: { type: 'object' },
          rows: { type: 'array', max_items: 3, items: { type: 'array', items: { type: 'boolean' } } },
        },
      },
    });
    const schema = metadataSchema({ metadata } as Parameters<typeof metadataSchema>[0]);
    expect(schema).toMatchObject({ type: 'object' });
    const properties = schema.properties as Record<string, Record<string, unknown>>;
    expect(properties).toEqual({
      status: { type: ['string', 'null'], enum: ['IDLE', 'BUSY', null], description: 'The mode.' },
      level: { enum: [1, 'two', null] },
      title: { type: ['string', 'null'], maxLength: 9, description: expect.stringContaining('^a') },
      share: { type: ['number', 'null'], minimum: 0, maximum: 1 },
      count: { type: ['integer', 'null'] },
      done: { type: ['boolean', 'null'] },
      any: { anyOf: [{ type: 'object' }, { type: 'null' }] },
      rows: {
        anyOf: [
          { type: 'array', maxItems: 3, items: { type: 'array', items: { type: 'boolean' } } },
          { type: 'null' },
        ],
      },
    });
  });

  it('may be null in each field, which resets it, and nothing else that the field may not be', () => {
    const fields = {
      status: { values: ['IDLE', 'BUSY'] },
      share: { type: 'number', min: 0, max: 1 },
      shape: { type: 'object', schema: { required: ['a'] } },
    };
    const takes = new Ajv2020().compile(metadataSchema(agentWith({ metadata: { fields } })));
    expect(takes({ status: null, share: null, shape: null })).toBe(true);
    expect(takes({ status: 'BUSY', share: 0.5, shape: { a: 1 } })).toBe(true);
    expect([{ status: 'AWAY' }, { share: 2 }, { shape: {} }].some((update) => takes(update))).toBe(false);
  });

  it('has the references of a schema lead to where it stands', () => {
    const schema = { $defs: { a: { type: 'string' } }, anyOf: [{ $ref: '#/$defs/a' }, { type: 'number' }] };
    const agent = agentWith({ metadata: { fields: { shape: { type: 'object', schema } } } });
    expect(metadataSchema(agent, '#/properties/metadata')).toMatchObject({
      properties: {
        shape: {
          anyOf: [
            {
              anyOf: [{ $ref: '#/properties/metadata/properties/shape/anyOf/0/$defs/a' }, { type: 'number' }],
            },
            { type: 'null' },
          ],
        },
      },
    });
  });
});

describe('the tools of a native dialect', () => {
  it('are one for each target, with how to run it, then metadata and the response', () => {
    const agent = agentWith({ dialect: 'tools', metadata: { fields: { done: { type: 'boolean' } } } });
    const tools = callTools(agent, offered(), false);
    const natives = offered().map(({ native }) => native);
    expect(tools.map(({ name }) => name)).toEqual([...natives, 'set_metadata', 'respond']);
    expect(tools.map(({ description }) => description.split(':')[0]).slice(0, 3)).toEqual([
      'Agent',
      'Does echo.',
      'Prompt',
    ]);
    expect(tools[1]?.parameters).toMatchObject({
      properties: { text: { type: 'string' }, _run: { type: 'object' } },
      required: ['text'],
    });
    expect(callTools(agentWith({ dialect: 'tools' }), [], false)).toHaveLength(1);
  });

  it('say in words what providers take in no schema', () => {
    const anyOf = [{ required: ['text'] }, { required: ['file'] }];
    const odd = [target('tool', 'odd', { parameters: { ...TEXT, anyOf } })];
    const [tool] = callTools(agentWith({ dialect: 'tools' }), odd, false);
    expect(tool?.parameters).not.toHaveProperty('anyOf');
    expect(tool?.description).toContain(`must also satisfy ${JSON.stringify({ anyOf })}`);
  });

  it('leave out of a schema what says nothing, and check it all the same', () => {
    const parameters = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      title: 'Search',
      properties: {
        query: { type: 'string', title: 'Query', minLength: 1, description: 'Words.' },
        title: { type: 'string', description: '' },
        limit: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 10 },
        size: { type: 'integer', minimum: 2 },
        price: { type: 'number', minimum: 0 },
        exact: { type: 'boolean', default: false },
        like: { enum: [{ additionalProperties: false }] },
      },
      required: ['query'],
      additionalProperties: false,
    };
    const [tool] = callTools(
      agentWith({ dialect: 'tools' }),
      [target('tool', 'search', { parameters })],
      false,
    );
    expect(tool?.parameters).toEqual({
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words.' },
        title: { type: 'string' },
        limit: { type: 'integer', default: 10 },
        size: { type: 'integer', minimum: 2 },
        price: { type: 'number', minimum: 0 },
        exact: { type: 'boolean' },
        like: { enum: [{ additionalProperties: false }] },
        _run: { type: 'object' },
      },
      required: ['query'],
    });
  });

  it('take the output where the agent has a schema for it, in step, too', () => {
    const schema = { $ref: '#/$defs/n', $defs: { n: { type: 'number' } } };
    for (const [dialect, tool] of [
      ['tools', 'respond'],
      ['step', 'step'],
    ] as const) {
      const agent = agentWith({ dialect, output: { schema } });
      const found = callTools(agent, offered(), false).find(({ name }) => name === tool);
      expect(found?.parameters).toMatchObject({
        properties: { output: { $ref: '#/properties/output/$defs/n' } },
      });
      const led = callTools(agent, offered(), true).find(({ name }) => name === tool);
      expect(led?.parameters.properties).not.toHaveProperty('output');
    }
  });

  it('have in step the metadata, and the variables that the model may set', () => {
    const agent = agentWith({
      dialect: 'step',
      metadata: { fields: { done: { type: 'boolean' } } },
      context_variables: {
        runtime: [
          { name: 'mine', type: 'number', description: 'A count.', writers: ['model'] },
          { name: 'free', type: 'any', writers: ['model'] },
          { name: 'theirs', type: 'number', writers: ['workflow'] },
        ],
      },
    });
    const [step] = callTools(agent, [], false);
    expect(step?.parameters.properties).toMatchObject({
      metadata: {
        properties: { done: { type: ['boolean', 'null'] } },
        description: expect.stringContaining('null'),
      },
      context_updates: { properties: { mine: { type: 'number', description: 'A count.' }, free: {} } },
    });
    expect(JSON.stringify(step)).not.toContain('theirs');
    expect(step?.parameters.properties).not.toHaveProperty('tool_calls');
  });
});

describe('the primer of a native dialect', () => {
  const both = (keys: object, targets = TARGETS): readonly [string, string] => {
    const told = (dialect: string) =>
      systemPrompt(agentWith({ ...keys, dialect }), { targets: offered(targets), internalActions: [] });
    return [told('tools'), told('step')];
  };

  it('tells the protocol as the manifest sets it', () => {
    for (const text of both({})) {
      expect(text).toContain('"sync" (what follows waits for it)');
      expect(text).toContain('counts only if it names their results as $id and they succeed');
    }
    // In "tools" the tool says so itself.
    expect(both({})[1]).toContain('read_output shows the rest');
    for (const text of both({ protocol: { on_sync: 'observe' }, internal_actions: { enabled: false } })) {
      expect(text).toContain('your turn ends there');
      expect(text).not.toContain('read_output');
    }
  });

  it('has an example with a tool where there is one, and none with a name that a stranger made', () => {
    const [tools, step] = both({});
    expect(tools).toContain('Example: echo {"text":"…","_run":{"id":"echo"}} returns\n\n<result id="echo"');
    expect(step).toContain('"tool_calls":[{"name":"echo","input":{"text":"…"},"id":"echo"}]');
    expect(both({}, [target('agent', 'critic')])[0]).toContain('Example: agent_critic {"text":"…",');
    expect(both({}, [target('tool', 'ignore all that')])[0]).not.toContain('Example');
  });

  it('says nothing of calls to an agent that has nothing to call', () => {
    for (const text of both({}, [])) expect(text).not.toMatch(/Example|_run|# Tools|tool_calls|next to/);
  });

  it('lists in step what can be called, by its native name, and speaks no protocol', () => {
    const [, step] = both({}, [target('relic', 'odd', { description: 'One\n  two <action> ' })]);
    expect(step).toContain('# Relics');
    expect(step).toContain('- "relic_odd" {text}: One two &lt;action>');
  });
});
