import { describe, expect, it } from 'vitest';
import { parseByteSize, parseDuration } from '../../../src/lib/quantity.ts';
import { checkManifest } from '../../../src/manifest/check-manifest.ts';
import { agent, fields, found, said, step, steps, tool } from './said.ts';

describe('an issue says what was found, what is allowed and the nearest right name', () => {
  it('for what others call the most calls of a tool at once', () => {
    expect(said(tool({ concurrency: 3 }))).toEqual([
      expect.stringContaining('Unknown key "concurrency" in Tool. | Use "max_parallel".'),
    ]);
    expect(said(tool({ max_paralel: 3 }))).toEqual([expect.stringContaining('Did you mean "max_parallel"?')]);
    expect(said(tool({ max_parallel: 0 }))).toEqual([expect.stringContaining('max_parallel')]);
    expect(said(tool({ max_parallel: 1 }))).toEqual([]);
  });

  it('for an unknown key', () => {
    expect(said(tool({ idempotentt: true }))).toEqual([
      'unknown_key idempotentt: Unknown key "idempotentt" in Tool. | Did you mean "idempotent"? Allowed here: version, description, parameters, idempotent, background, start, approval, timeout, max_parallel, output, …',
    ]);
  });

  it('for more unknown keys than anybody reads, by their number', () => {
    const strays = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`stray${i}`, i]));
    const lines = said(tool(strays));
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toBe(
      'warning more_issues (root): 10 more unknown keys are not shown. | Fix the ones above and check again.',
    );
  });

  it('for a value that is not in a list', () => {
    expect(said(agent({ dialect: 'tag' }))).toEqual([
      'not_allowed dialect: "dialect" cannot be "tag". | Did you mean "tags"? Allowed: tags, tools, step.',
    ]);
  });

  it('for a value of the wrong type', () => {
    expect(said(agent({ limits: { turns: 'many' } }))).toEqual([
      'wrong_type limits.turns: "turns" cannot be "many". | Write a whole number of one or more.',
    ]);
  });

  it('for a number out of range', () => {
    expect(said(agent({ limits: { parallel_actions: 0 } }))).toEqual([
      'not_allowed limits.parallel_actions: "parallel_actions" cannot be 0. | Write a whole number of one or more.',
    ]);
  });

  it('for a missing key, which points at what lacks it', () => {
    const { issues } = checkManifest(agent({ budget: {} }));
    expect(issues).toEqual([
      {
        severity: 'error',
        code: 'missing',
        path: ['budget'],
        at: 'key',
        message: '"budget" needs "balance".',
        hint: 'The balance at the start.',
      },
    ]);
  });

  it('for a duration and a size, in the very words of those who read them', () => {
    const duration = parseDuration('30 minits');
    const size = parseByteSize('1.5B');
    if (duration.ok || size.ok) throw new Error('both are wrong');
    const { issues } = checkManifest(
      agent({ limits: { wall: '30 minits' }, protocol: { max_body: '1.5B' } }),
    );
    expect(issues).toMatchObject([
      {
        code: 'bad_size',
        path: ['protocol', 'max_body'],
        message: size.error.message,
        hint: size.error.hint,
      },
      {
        code: 'bad_duration',
        path: ['limits', 'wall'],
        message: duration.error.message,
        hint: duration.error.hint,
      },
    ]);
  });

  it('for a name that cannot be one', () => {
    expect(said(agent({ name: 'my agent' }))).toEqual([
      'not_allowed name: "name" cannot be "my agent". | Write a name of letters, digits, "_" and "-" that begins with a letter or "_".',
    ]);
    expect(found(fields({ 'a-b': { type: 'string' } }))).toEqual(['bad_name metadata.fields.a-b']);
  });

  it('for an unquoted version', () => {
    expect(said(agent({ version: 1 }))).toEqual([
      'wrong_type version: "version" cannot be 1. | Write text in quotes, like "1.0".',
    ]);
  });

  it('for a model without a provider', () => {
    expect(said(agent({ model: 'llama3' }))[0]).toContain('Write "provider/model"');
  });

  it('for a CEL expression, with the offset of the mistake', () => {
    const [issue] = checkManifest(steps(step('a', { if: 'vars.x >' }))).issues;
    expect(issue).toMatchObject({ code: 'bad_expression', path: ['steps', 0, 'if'] });
    expect(issue?.offset).toBeGreaterThan(0);
  });

  it('for a condition map, with the path inside it', () => {
    const trigger = { type: 'metadata_match', conditions: { progress: { gtt: 3 }, status: {} } };
    expect(found({ ...steps(step('a')), trigger })).toEqual(
      expect.arrayContaining(['bad_conditions trigger.conditions.status']),
    );
  });

  it('and clips what was written', () => {
    expect(said(agent({ dialect: 'x'.repeat(500) }))[0]?.length).toBeLessThan(200);
  });
});

describe('all errors of a document come at once', () => {
  it('from every place, schema or not', () => {
    const document = {
      ...steps(step('a', { needs: ['b'], nots: 1 }), step('b', { needs: ['a'], timeout: 'x' }), {
        name: 'c',
        type: 'tol',
      }),
      trigger: { type: 'shedule' },
    };
    expect(found(document)).toEqual([
      'not_allowed trigger.type',
      'unknown_key steps.0.nots',
      'bad_duration steps.1.timeout',
      'not_allowed steps.2.type',
      'cycle steps.0.needs',
    ]);
  });

  it('once each: a missing key that stands there misspelt is one mistake', () => {
    expect(found({ kind: 'Tool', nmae: 't', implementation: { script: '1' } })).toEqual(['unknown_key nmae']);
  });
});

describe('an error inside a union is reported inside the branch that was meant', () => {
  it('by its type', () => {
    expect(
      found(steps({ name: 'a', type: 'loop', while: 'true', body: [step('b', { targt: 'x' })] })),
    ).toEqual(['missing steps.0', 'unknown_key steps.0.body.0.targt']);
  });

  it('by its key', () => {
    expect(said(tool({ implementation: { http: { url: 'x', methd: 'GET' } } }))[0]).toContain(
      'unknown_key implementation.http.methd: Unknown key "methd" in "http". | Did you mean "method"?',
    );
    expect(said(tool({ implementation: { command: 'git log' } }))[0]).toContain(
      'Write a list of the program and its arguments',
    );
  });

  it('and a misspelt discriminator is named', () => {
    expect(said(tool({ implementation: { comand: ['git'] } }))).toEqual([
      'unknown_key implementation.comand: Unknown key "comand" in an implementation. | Did you mean "command"? Write one of module, command, http, mcp or script.',
    ]);
    expect(said(steps({ name: 'a', tipe: 'tool' }))[0]).toContain('Did you mean "type"?');
  });

  it('and two keys that exclude each other are named', () => {
    expect(said(tool({ implementation: { module: './a.ts', script: '1' } }))).toEqual([
      'exclusive implementation.script: "module" and "script" cannot be used together in an implementation. | Use only one of module, command, http, mcp or script.',
    ]);
  });
});

describe('a key that belongs elsewhere is told where', () => {
  it.each([
    [agent({ tools: [] }), 'Put it under "import".'],
    [agent({ system_prompt: 'x' }), 'Use "instructions" for the system prompt.'],
    [agent({ max_turns: 3 }), 'Use "limits: { turns }".'],
    [agent({ triggers: [] }), 'Triggers belong in a Workflow.'],
    [
      agent({ limits: { timeout_seconds: 3 } }),
      'In "limits", use "wall" for the whole session and "action_timeout" for each action.',
    ],
    [
      agent({ context_feeds: [{ id: 'a', source: { type: 'file', path: 'x', name: 'y' } }] }),
      'The file is "name".',
    ],
    [agent({ context_variables: { derived_variables: [] } }), 'Use "derived".'],
    [steps(step('a', { depends_on: [] })), 'Steps use "needs".'],
    [steps(step('a', { params: {} })), 'Use "parameters".'],
    [steps(step('a', { retries: 3 })), 'Use "retry: { max, backoff }".'],
    [tool({ inputSchema: {} }), 'Use "parameters" for the JSON Schema of the input.'],
    [
      fields({ s: { type: 'string', min: 1 } }),
      '"min" belongs to a field of type number. A field of type string has max_length, pattern, description, default, sticky.',
    ],
  ])('%j', (document, hint) => {
    const { issues } = checkManifest(document);
    expect(issues.map((issue) => issue.hint)).toEqual([hint]);
    expect(issues[0]?.at).toBe('key');
  });
});

describe('the kind of a document', () => {
  it.each([
    [{}, 'missing (root): The manifest has no "kind". | Allowed: Agent, Tool, Relic, Artifact, Workflow.'],
    [
      { kind: 'agent', name: 'a' },
      'not_allowed kind: "kind" cannot be "agent". | Did you mean "Agent"? Allowed: Agent, Tool, Relic, Artifact, Workflow.',
    ],
    [{ knd: 'Agent', name: 'a' }, 'unknown_key knd: Unknown key "knd" in a manifest. | Did you mean "kind"?'],
    [
      [],
      'wrong_type (root): A manifest has to be a map, but this is an empty list. | It begins with "kind:". Allowed: Agent, Tool, Relic, Artifact, Workflow.',
    ],
    [
      null,
      'wrong_type (root): A manifest has to be a map, but this is null. | It begins with "kind:". Allowed: Agent, Tool, Relic, Artifact, Workflow.',
    ],
  ])('%j', (document, line) => {
    expect(said(document)).toEqual([line]);
  });
});
