// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the manifests under test hold such references
import { describe, expect, it, vi } from 'vitest';
import { checkManifest } from '../../../src/manifest/check-manifest.ts';
import { MAX_SCHEMA_DEPTH } from '../../../src/manifest/schema/user-schemas/walk-user-schema.ts';
import { found, said, tool } from './said.ts';

/** Whole documents, some of them large: on a busy machine five seconds may not do. */
vi.setConfig({ testTimeout: 60_000 });

describe('tools', () => {
  it('have parameters that are a map', () => {
    expect(found(tool({ parameters: { type: 'string' } }))).toEqual(['bad_schema parameters.type']);
  });

  it('name parameters in their templates', () => {
    const parameters = { type: 'object', properties: { count: { type: 'integer' } } };
    expect(
      said(
        tool({
          parameters,
          implementation: {
            command: ['git', 'log', '-n', '{cuont}', '{print}', '{count}', '${agent.agent_name}'],
          },
        }),
      ),
    ).toEqual([
      'unknown_parameter implementation.command.3: {cuont} is not a parameter of this tool. | Did you mean "{count}"?',
      'warning unknown_parameter implementation.command.4: {print} is not a parameter of this tool. | Parameters: count. It is passed on as it is written.',
    ]);
  });
});

describe('what a tool may refer to', () => {
  it('is the agent, and what the agent has', () => {
    expect(
      found(
        tool({ implementation: { command: ['x', '${agent.sesion_id}', '${steps.a.output}', '${agent.'] } }),
      ),
    ).toEqual([
      'unknown_name implementation.command.1',
      'unknown_name implementation.command.2',
      'bad_reference implementation.command.3',
    ]);
  });
});

describe("users' JSON Schemas", () => {
  const parameters = (schema: unknown) => said(tool({ parameters: schema }));

  it('are checked by the meta-schema, with the path of what is wrong', () => {
    expect(parameters({ type: 'object', properties: { a: { type: 'sting' } } })[0]).toContain(
      'bad_schema parameters.properties.a.type: "type" cannot be "sting" in a JSON Schema.',
    );
    expect(parameters({ type: 'object', properties: { a: { type: 'string', required: true } } })).toEqual([
      'bad_schema parameters.properties.a.required: "required" cannot be true in a JSON Schema. | Write "required: [names]" next to "properties", in the object that contains this one.',
    ]);
    expect(parameters({ type: 'object', required: ['a', 'a'] })[0]).toContain(
      'bad_schema parameters.required',
    );
  });

  it('warn of a misspelt keyword, which would switch a check off', () => {
    expect(parameters({ type: 'object', properties: { a: { maxLenght: 3 } } })).toEqual([
      'warning unknown_keyword parameters.properties.a.maxLenght: Unknown keyword "maxLenght" in a JSON Schema. | Did you mean "maxLength"?',
    ]);
    expect(parameters({ 'x-note': 1, properties: { maxLenght: { type: 'string' } } })).toEqual([]);
  });

  it('refer to nothing outside themselves', () => {
    expect(parameters({ $ref: 'https://example.com/schema.json' })[0]).toContain('leads outside this schema');
    expect(parameters({ $defs: { a: { type: 'object' } }, $ref: '#/$defs/a' })).toEqual([]);
    expect(parameters({ $ref: '#/$defs/none' })[0]).toContain('does not exist');
    expect(parameters({ $defs: { path: {} }, $ref: '#/$defs/paht' })[0]).toContain(
      'Did you mean "#/$defs/path"?',
    );
  });

  it('refer to own parts only, never to what every object has', () => {
    for (const $ref of ['#/toString', '#/__proto__', '#/$defs/constructor', '#hasOwnProperty', '#/type'])
      expect(parameters({ type: 'object', $defs: {}, properties: { a: { $ref } } })).toEqual([
        expect.stringContaining('does not exist'),
      ]);
  });

  it('have patterns that cannot hang', () => {
    expect(
      found(
        tool({
          parameters: { properties: { a: { pattern: '(?<=x)a' } }, patternProperties: { '(?!a)': {} } },
        }),
      ),
    ).toEqual([
      'bad_pattern parameters.properties.a.pattern',
      'bad_pattern parameters.patternProperties.(?!a)',
    ]);
    const started = performance.now();
    const schema = {
      type: 'object',
      schema: { properties: { a: { pattern: '^(a+)+$' } } },
      default: { a: `${'a'.repeat(5_000)}!` },
    };
    expect(found({ kind: 'Agent', name: 'a', metadata: { fields: { f: schema } } })).toEqual([
      'bad_default metadata.fields.f.default',
    ]);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('hold each property to its own pattern', () => {
    const schema = { properties: { a: { pattern: '^a$' }, b: { pattern: '^b$' } } };
    const field = (value: unknown) => ({
      kind: 'Agent',
      name: 'a',
      metadata: { fields: { f: { type: 'object', schema, default: value } } },
    });
    expect(found(field({ a: 'a', b: 'b' }))).toEqual([]);
    expect(found(field({ a: 'a', b: 'a' }))).toEqual(['bad_default metadata.fields.f.default']);
  });

  it('treat formats as notes', () => {
    const field = {
      type: 'object',
      schema: { properties: { a: { format: 'email' } } },
      default: { a: 'nobody' },
    };
    expect(found({ kind: 'Agent', name: 'a', metadata: { fields: { f: field } } })).toEqual([]);
  });

  it('are bounded in depth and size before anything compiles them', () => {
    let deep: unknown = { type: 'string' };
    for (let level = 0; level < MAX_SCHEMA_DEPTH; level++) deep = { not: deep };
    expect(parameters({ type: 'object', not: deep })[0]).toContain(
      `nested deeper than ${MAX_SCHEMA_DEPTH} levels`,
    );
    const wide = Object.fromEntries(
      Array.from({ length: 6_000 }, (_, index) => [`p${index}`, { type: 'string' }]),
    );
    expect(parameters({ type: 'object', $defs: wide })[0]).toContain('more than 5000 parts');
  });

  it('with references in a circle are taken, and values are still checked', () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: {
        node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, n: { type: 'number' } } },
      },
    };
    const field = (value: unknown) => ({
      kind: 'Agent',
      name: 'a',
      metadata: { fields: { f: { type: 'object', schema, default: value } } },
    });
    expect(checkManifest(field({ next: { n: 1 } })).issues).toEqual([]);
    expect(found(field({ next: { n: 'x' } }))).toEqual(['bad_default metadata.fields.f.default']);
  });

  it('that would never end, or take for ever, are refused', () => {
    expect(parameters({ anyOf: [{ $ref: '#' }] })[0]).toContain('leads back to itself endlessly');
    expect(parameters({ $anchor: 'top', allOf: [{ not: { $ref: '#top' } }] })[0]).toContain(
      'leads back to itself',
    );
    const levels = Array.from({ length: 30 }, (_, level) => [
      `a${level}`,
      { allOf: [{ $ref: `#/$defs/a${level + 1}` }, { $ref: `#/$defs/a${level + 1}` }] },
    ]);
    expect(
      parameters({
        $ref: '#/$defs/a0',
        $defs: { ...Object.fromEntries(levels), a30: { type: 'object' } },
      })[0],
    ).toContain('more than 10000 times');
  });

  it('are of draft 2020-12, and of no other', () => {
    expect(parameters({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' })[0]).toContain(
      'Telltale supports draft 2020-12',
    );
    expect(parameters({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' })).toEqual(
      [],
    );
    expect(parameters({ $async: true })[0]).toContain('not supported');
    expect(parameters({ properties: { a: { $id: 'https://example.com/a' } } })[0]).toContain(
      'Only the whole schema may have one',
    );
  });

  it('never meet each other by $id', () => {
    const schema = { $id: 'https://example.com/same', type: 'object' };
    expect(found({ ...tool({ parameters: schema }), output: { schema } })).toEqual([]);
  });
});

describe('relics', () => {
  it.each([
    [{ driver: 'kv' }, []],
    [{ driver: 'sql' }, ['missing (root)']],
    [{ driver: 'redis', connection: 'http://x' }, ['bad_address connection']],
    [{ driver: 'redis', connection: { prefix: 'x' } }, ['bad_address connection']],
    [{ driver: 'http', connection: { url: 'redis://x' } }, ['bad_address connection.url']],
    [{ driver: 'sql', connection: './data.db' }, []],
    [{ driver: 'postgres' }, ['not_allowed driver']],
  ])('%j', (keys, expected) => {
    expect(found({ kind: 'Relic', name: 'r', ...keys })).toEqual(expected);
  });
});

describe('artifacts', () => {
  it('have a source or a module, and no empty list of methods', () => {
    expect(found({ kind: 'Artifact', name: 'a', methods: {} })).toEqual([
      'missing (root)',
      'missing methods',
    ]);
    expect(found({ kind: 'Artifact', name: 'a', source: 'x', module: 'y', methods: { m: {} } })).toEqual([
      'exclusive module',
    ]);
  });

  it('without methods are the text of a prompt; code that names none is warned of', () => {
    expect(found({ kind: 'Artifact', name: 'a', source: 'Dear reader, export nothing.' })).toEqual([]);
    expect(found({ kind: 'Artifact', name: 'a', source: 'export function go() {}' })).toEqual([
      'warning no_methods source',
    ]);
  });
});
