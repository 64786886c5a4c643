import { expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import { compileUserSchema } from '../../src/manifest/schema/user-schemas/check-user-schema.ts';
import { unknownTarget } from '../../src/tools/target-deps.ts';
import { agentTargets, type Given, moduleTool } from './agent-targets.ts';

const ALL_BUILTINS =
  'import: { tools: ["builtin:filesystem", "builtin:shell", "builtin:git", "builtin:http_fetch", "builtin:calculator", "builtin:system_monitor", "builtin:clock"] }';

const names = (all: readonly { readonly kind: string; readonly name: string }[]) =>
  all.map(({ kind, name }) => `${kind} ${name}`);

const refusal = async (given: Given): Promise<RuntimeError> => {
  const thrown = await agentTargets(given).catch((error: unknown) => error);
  if (thrown instanceof RuntimeError) return thrown;
  throw thrown;
};

test('all that the manifest imports is in the table, in its order, each once', async () => {
  const { table } = await agentTargets({
    agent:
      'import: { tools: [./t/b.yml, "builtin:clock", "./t/*.yml"], relics: [r/r.yml] }\nprompts: { ask: { template: x } }\n---\nkind: Tool\nname: beside\nimplementation: { command: [ls] }',
    files: {
      't/a.yml': 'kind: Tool\nname: a\nimplementation: { command: [ls] }\n',
      't/b.yml': 'kind: Tool\nname: b\nimplementation: { command: [ls] }\n',
      'r/r.yml': 'kind: Relic\nname: r\ndriver: kv\n',
    },
  });
  expect(names(table.all)).toEqual([
    'tool b',
    'tool clock',
    'tool a',
    'relic r',
    'tool beside',
    'llm ask',
    'llm summarize',
    'llm extract',
    'llm classify',
  ]);
  expect(table.find('tool', 'b')?.name).toBe('b');
  expect(table.find('agent', 'b')).toBeUndefined();
  expect(table.find('tool', 'toString')).toBeUndefined();
  await table.close();
});

/** What their names and types say needs no word in the prompt. */
const SELF_EXPLANATORY = [
  'filesystem path',
  'filesystem content',
  'filesystem new_text',
  'filesystem ignore_case',
  'shell stdin',
  'git message',
  'git name',
  'git branch',
  'http_fetch headers',
];

test('every built-in tool has a sound schema whose parameters are described, or say by name and type what they are', async () => {
  const { table } = await agentTargets({ agent: ALL_BUILTINS });
  const bare: string[] = [];
  for (const { name, parameters, description } of table.all) {
    expect(compileUserSchema(parameters).ok, name).toBe(true);
    expect(description, name).toMatch(/\w/);
    for (const [key, schema] of Object.entries(parameters.properties ?? {})) {
      const { description: said, type } = schema as { description?: string; type?: string };
      if (said !== undefined) expect(said, `${name} ${key}`).toMatch(/\w/);
      else bare.push(`${name} ${key}`);
      if (said === undefined) expect(type, `${name} ${key}`).toMatch(/\w/);
    }
  }
  expect(bare).toEqual(SELF_EXPLANATORY);
});

test('the schema of a tool says of each operation what it does and which parameters it takes', async () => {
  const { table } = await agentTargets({ agent: ALL_BUILTINS });
  const several = table.all.filter(({ operations }) => operations !== undefined);
  expect(several.map(({ name }) => name)).toEqual(['filesystem', 'git', 'clock']);
  for (const { name, parameters, operations = {} } of several) {
    const { operation, ...shared } = parameters.properties as Record<string, { description?: string }>;
    for (const [key, { description, parameters: own, required = [] }] of Object.entries(operations)) {
      const [, listed = ''] =
        new RegExp(`(?:^|\\. )${key}(?: {([^}]*)})?: ${description}`).exec(operation?.description ?? '') ??
        expect.unreachable(`${name} ${key}`);
      // A folder that every operation may be given is told once, as a parameter.
      const told = listed.split(', ').filter((each) => each !== '');
      const expected = Object.keys(own).map((each) => (required.includes(each) ? each : `${each}?`));
      expect(
        expected.filter((each) => each !== 'path?'),
        `${name} ${key}`,
      ).toEqual(told.filter((each) => each !== 'path?'));
      expect(Object.keys(shared)).toEqual(expect.arrayContaining(Object.keys(own)));
    }
  }
});

test('what a manifest says of a tool is in its target', async () => {
  const { tool } = await agentTargets({
    agent: 'import: { tools: [./x.yml] }',
    files: moduleTool(
      'x',
      '',
      'description: D\nidempotent: true\nstart: on_turn_end\ntimeout: 5s\nparameters: { type: object, required: [a] }',
    ),
  });
  expect(tool('x')).toMatchObject({
    description: 'D',
    idempotent: true,
    start: 'on_turn_end',
    timeoutMs: 5000,
    parameters: { required: ['a'] },
  });
});

test('a tool that has the name of a built-in one beside it is refused', async () => {
  const error = await refusal({
    agent: 'import: { tools: ["builtin:clock", ./clock.yml] }',
    files: moduleTool('clock', ''),
    allowErrors: true,
  });
  expect(error.code).toBe('name_taken');
});

test('an unknown target says the nearest name, the right kind, or what there is', async () => {
  const { table } = await agentTargets({
    agent: 'import: { tools: ["builtin:calculator", "builtin:clock"], relics: [./notes.yml] }',
    files: { 'notes.yml': 'kind: Relic\nname: notes\ndriver: kv\n' },
  });
  const hint = (...[kind, name]: [Parameters<typeof unknownTarget>[0], string]) =>
    unknownTarget(kind, name, table).hint;
  expect(unknownTarget('tool', 'calculater', table).code).toBe('target_unknown');
  expect(hint('tool', 'calculater')).toBe('Did you mean "calculator"?');
  expect(hint('tool', 'notes')).toBe('It is a relic: write type="relic".');
  expect(hint('tool', 'note')).toBe('Did you mean the relic "notes" (type="relic")?');
  expect(hint('tool', 'qqqqqqqq')).toBe('There are: calculator, clock.');
  expect(hint('agent', 'qqqqqqqq')).toBe('There are none of this kind.');
  expect(unknownTarget('llm', 'x'.repeat(1000), table).message.length).toBeLessThan(200);
});

const SCHEMA =
  'parameters: { type: object, additionalProperties: false, required: [path], properties: { path: { type: string }, mode: { enum: [fast, slow] }, opts: { type: object, required: [n], properties: { n: { type: integer, minimum: 1 } } }, list: { type: array, items: { anyOf: [{ type: string }, { type: object, properties: { id: { type: number } } }] } } } }';

test.each([
  [{}, '"path" is missing.', 'Give "path".'],
  [{ pth: 'x' }, '"path" is missing.', '"pth" was given: did you mean "path"?'],
  [{ path: 'x', mod: 'fast' }, 'there is no parameter "/mod".', 'Did you mean "mode"?'],
  [{ path: ['a'] }, '"/path" is a list of 1; it must be text.', undefined],
  [{ path: 'x', mode: 'fats' }, '"/mode" is "fats", which is not an allowed value.', 'Did you mean "fast"?'],
  [{ path: 'x', opts: {} }, '"/opts" has no "n".', 'Give "n".'],
  [{ path: 'x', opts: { n: 0 } }, '"/opts/n" is 0; it must be >= 1.', undefined],
  [{ path: 'x', opts: { n: 1.5 } }, '"/opts/n" is 1.5; it must be a whole number.', undefined],
  [{ path: 'x', list: ['a', { id: 'b' }] }, '"/list/1/id" is "b"; it must be a number.', undefined],
])('parameters %j are wrong: %s', async (input, message, hint) => {
  const { tool } = await agentTargets({
    agent: 'import: { tools: [./x.yml] }',
    files: moduleTool('x', '', SCHEMA),
  });
  const error = tool('x').check(input);
  expect(error?.code).toBe('bad_parameters');
  expect(error?.message).toBe(`The parameters of tool "x" are wrong: ${message}`);
  expect(error?.hint).toBe(hint);
});
