import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { stepPrimer, toolsPrimer } from '../../src/prompt/calls/call-primer.ts';
import { callTools } from '../../src/prompt/calls/call-tools.ts';
import { metadataSchema } from '../../src/prompt/calls/metadata-schema.ts';
import type { DescribedTarget } from '../../src/prompt/described-target.ts';
import { createEscape } from '../../src/prompt/escape.ts';
import { createCallNames } from '../../src/protocol/calls/call-names.ts';
import type { CallTarget } from '../../src/protocol/calls/meant-target.ts';
import { agentWith } from './agent.ts';

const TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const;
type Target = DescribedTarget & CallTarget;
const target = (kind: Target['kind'], name: string, more: Partial<Target> = {}): Target => ({
  ...{ kind, name, description: `Does ${name}.`, parameters: TEXT },
  ...more,
});
const TARGETS = [target('agent', 'critic'), target('tool', 'echo'), target('llm', 'shorten')];

const options = (targets: readonly Target[] = TARGETS) => ({
  targets,
  names: createCallNames(targets),
  safe: createEscape(undefined),
});

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
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
    const properties = schema.properties as Record<string, Record<string, unknown>>;
    const set = Object.entries(properties).map(([name, { anyOf }]) => [name, (anyOf as unknown[])[0]]);
    expect(Object.fromEntries(set)).toEqual({
      status: { type: 'string', enum: ['IDLE', 'BUSY'] },
      level: { enum: [1, 'two'] },
      title: { type: 'string', maxLength: 9 },
      share: { type: 'number', minimum: 0, maximum: 1 },
      count: { type: 'integer' },
      done: { type: 'boolean' },
      any: { type: 'object' },
      rows: { type: 'array', maxItems: 3, items: { type: 'array', items: { type: 'boolean' } } },
    });
    expect(properties.status?.description).toMatch(/^The mode\. Takes .* Default: "IDLE"\.$/);
    expect(properties.title?.description).toMatch(/^Takes .*\^a.*\.$/);
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
    const { names } = options();
    const tools = callTools(agent, TARGETS, names, false);
    expect(tools.map(({ name }) => name)).toEqual([...names.natives, 'set_metadata', 'respond']);
    expect(tools.map(({ description }) => description.split(':')[0]).slice(0, 3)).toEqual([
      'Agent',
      'Does echo.',
      'Prompt',
    ]);
    expect(tools[1]?.parameters).toMatchObject({
      properties: { text: { type: 'string' }, _run: { type: 'object' } },
      required: ['text'],
    });
    expect(callTools(agentWith({ dialect: 'tools' }), [], createCallNames([]), false)).toHaveLength(1);
  });

  it('say in words what providers take in no schema', () => {
    const anyOf = [{ required: ['text'] }, { required: ['file'] }];
    const odd = [target('tool', 'odd', { parameters: { ...TEXT, anyOf } })];
    const [tool] = callTools(agentWith({ dialect: 'tools' }), odd, createCallNames(odd), false);
    expect(tool?.parameters).not.toHaveProperty('anyOf');
    expect(tool?.description).toContain(`must also satisfy ${JSON.stringify({ anyOf })}`);
  });

  it('take the output where the agent has a schema for it, in step, too', () => {
    const schema = { $ref: '#/$defs/n', $defs: { n: { type: 'number' } } };
    for (const [dialect, tool] of [
      ['tools', 'respond'],
      ['step', 'step'],
    ] as const) {
      const agent = agentWith({ dialect, output: { schema } });
      const found = callTools(agent, TARGETS, options().names, false).find(({ name }) => name === tool);
      expect(found?.parameters).toMatchObject({
        properties: { output: { $ref: '#/properties/output/$defs/n' } },
      });
      const led = callTools(agent, TARGETS, options().names, true).find(({ name }) => name === tool);
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
    const [step] = callTools(agent, [], createCallNames([]), false);
    expect(step?.parameters.properties).toMatchObject({
      metadata: {
        properties: { done: { anyOf: [{ type: 'boolean' }, { type: 'null' }] } },
        description: expect.stringContaining('null'),
      },
      context_updates: { properties: { mine: { type: 'number', description: 'A count.' }, free: {} } },
    });
    expect(JSON.stringify(step)).not.toContain('theirs');
    expect(step?.parameters.properties).not.toHaveProperty('tool_calls');
  });
});

describe('the primer of a native dialect', () => {
  const both = (keys: object, targets = TARGETS) => {
    const given = options(targets);
    return [
      toolsPrimer(agentWith({ ...keys, dialect: 'tools' }), given),
      stepPrimer(agentWith({ ...keys, dialect: 'step' }), given),
    ];
  };

  it('tells the protocol as the manifest sets it', () => {
    for (const text of both({})) {
      expect(text).toContain('nothing you write after it takes effect until it has ended');
      expect(text).toContain('if one of them fails, it does not count as final');
      expect(text).toContain('read_output shows the rest');
    }
    const protocol = { on_sync: 'observe', final_with_actions: 'hold' };
    for (const text of both({ protocol, internal_actions: { enabled: false } })) {
      expect(text).toContain('your turn ends at this call');
      expect(text).toContain('only if its text names the result of each as $id');
      expect(text).not.toContain('read_output');
    }
  });

  it('has an example with a tool where there is one, and none with a name that a stranger made', () => {
    const [tools, step] = both({});
    expect(tools).toContain(
      'Example of an input of "echo": {"text":"…","_run":{"id":"second","depends_on":["first"]}}',
    );
    expect(step).toContain(
      '"tool_calls":[{"name":"echo","input":{"text":"…"},"id":"second","depends_on":["first"]}]',
    );
    expect(both({}, [target('agent', 'critic')])[0]).toContain('Example of an input of');
  });

  it('gives the good practice, and says nothing of calls to an agent that has nothing to call', () => {
    for (const text of both({})) expect(text).toContain('- Make each call as soon as you know it');
    for (const text of both({}, [])) {
      expect(text).toContain('Good practice:\n- ');
      expect(text).not.toMatch(/Make each call|Example|_run|What you can call|other calls/);
    }
  });

  it('lists in step what can be called, with its kind and input, on a line each, and speaks no protocol', () => {
    const [, step] = both({}, [target('relic', 'odd', { description: 'One\n  two <action> ' })]);
    expect(step).toContain(`- "relic_odd": Relic: One two &lt;action> Input: ${JSON.stringify(TEXT)}`);
  });
});
