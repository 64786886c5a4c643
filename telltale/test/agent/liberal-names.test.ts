import { describe, expect, it } from 'vitest';
import { readTurnParts } from '../../src/lib/calls.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { Dialect } from '../../src/parser/dialect-parser.ts';
import { runAgent, tool } from './run-agent.ts';
import { call, type Deed, speak, step } from './speak.ts';

const LISTS = `
parameters:
  type: object
  $defs: { names: { type: array, items: { type: string } } }
  properties:
    paths: { $ref: "#/$defs/names" }
    maybe: { anyOf: [{ type: array, items: { type: array } }, { type: "null" }] }
    either: { type: [array, string] }
    text: { type: string }
    any: {}
    nested: { type: object, properties: { ids: { type: array, items: { type: integer } } } }
`;

const FILES = {
  ...tool('echo', 'return input;', LISTS),
  ...tool('names', 'return JSON.stringify(["from", "elsewhere"]);'),
  ...tool('both', 'return "the tool";'),
  ...tool('undo', 'return "undone";'),
  'store.yml': 'kind: Relic\nname: store\ndriver: kv\n',
  'twin.yml': 'kind: Relic\nname: twin\ndriver: kv\n',
  'both.yml': 'kind: Relic\nname: both\ndriver: kv\n',
  'helper.yml': 'kind: Agent\nname: twin\nversion: 1.0.0\ninstructions: Help.\n',
};

const MANIFEST = `
import: { tools: [./tools/*.yml], relics: [./store.yml, ./twin.yml, ./both.yml], agents: [./helper.yml] }
`;

const DONE: readonly Deed[] = [{ respond: 'Done.' }];

async function run(dialect: Dialect, ...turns: readonly (string | readonly Deed[])[]) {
  const ran = await runAgent({
    manifest: `dialect: ${dialect}\n${MANIFEST}`,
    files: FILES,
    turns: [...turns, DONE].map((turn) => (typeof turn === 'string' ? turn : speak(dialect, turn))),
  });
  return {
    ...ran,
    asked: ran.of('action.declared').map(({ action: { kind, name } }) => `${kind} ${name}`),
    inputs: ran.of('action.started').map(({ input }) => input),
    faults: ran.of('fault').map(({ code, message }) => `${code}: ${message}`),
  };
}

const PUT: JsonObject = { operation: 'set', key: 'k', value: 1 };

/** A call under just this name, whatever the dialect would call it. */
const named = (dialect: Dialect, name: string, input: JsonObject): string => {
  if (dialect === 'tools') return call(name, input);
  if (dialect === 'step') return step({ tool_calls: [{ name, input }] });
  return `<action>${JSON.stringify({ name, parameters: input })}</action>`;
};

describe.each(['tags', 'tools', 'step'] as const)('in %s', (dialect) => {
  it('a name that no tool has is the only other target of that name', async () => {
    const { asked, faults, of } = await run(
      dialect,
      named(dialect, 'store', PUT),
      named(dialect, 'list_actions', {}),
    );
    expect(asked).toEqual(['relic store', 'internal list_actions']);
    expect(of('action.completed')).toHaveLength(2);
    expect(faults).toEqual([]);
  });

  it('a tool has its name before all others', async () => {
    expect((await run(dialect, named(dialect, 'both', {}))).asked).toEqual(['tool both']);
  });

  it('a name of several targets that are no tools runs none of them, and the message says what both are called', async () => {
    const { asked, faults } = await run(dialect, named(dialect, 'twin', {}));
    expect(asked).toEqual([]);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^bad_action: .*twin/);
    for (const reading of dialect === 'tags'
      ? ['type="agent"', 'type="relic"']
      : ['"agent_twin"', '"relic_twin"'])
      expect(faults[0]).toContain(reading);
  });

  it('a functions. prefix is taken off where the rest is a name', async () => {
    const { asked, faults } = await run(
      dialect,
      named(dialect, 'functions.echo', { text: 'x' }),
      named(dialect, 'functions.store', PUT),
    );
    expect(asked).toEqual(['tool echo', 'relic store']);
    expect(faults).toEqual([]);
  });

  it('a functions. prefix stays where the rest is no name', async () => {
    const { asked, of } = await run(dialect, named(dialect, 'functions.nothing', {}));
    expect(asked).toEqual(['tool functions.nothing']);
    expect(of('action.failed')[0]?.error.code).toBe('target_unknown');
  });

  it('what undoes an action is named as freely', async () => {
    const { of, asked } = await run(
      dialect,
      [
        { call: 'echo', run: { id: 'first', mode: 'sync', compensate: { name: 'functions.undo' } } },
        { call: 'echo', run: { id: 'second', mode: 'sync', compensate: { name: 'store', parameters: PUT } } },
      ],
      [{ call: 'rollback', type: 'internal' }],
    );
    expect(asked.slice(2)).toEqual(['internal rollback', 'relic store', 'tool undo']);
    expect(of('action.compensated').map(({ id }) => id)).toEqual(['second', 'first']);
  });

  it('a list that is given as a string of JSON is a list where the schema wants one', async () => {
    const { inputs, of } = await run(
      dialect,
      named(dialect, 'echo', {
        paths: '["a", "b"]',
        maybe: '[["x"], "[1, 2]"]',
        nested: { ids: ' [1, 2] ' },
      }),
    );
    const meant = { paths: ['a', 'b'], maybe: [['x'], [1, 2]], nested: { ids: [1, 2] } };
    expect(inputs).toEqual([meant]);
    expect(of('action.declared')[0]?.action.parameters).toEqual(meant);
    expect(of('action.completed')).toHaveLength(1);
  });

  it('a string stays one where the schema takes it, or says nothing', async () => {
    const written = { either: '["a"]', text: '["a"]', any: '["a"]' };
    expect((await run(dialect, named(dialect, 'echo', written))).inputs).toEqual([written]);
  });

  it('what is no list of JSON is judged as it was written, and so is what the list holds', async () => {
    const { of } = await run(
      dialect,
      named(dialect, 'echo', { paths: 'a, b' }),
      named(dialect, 'echo', { nested: { ids: '["one"]' } }),
    );
    expect(of('action.failed').map(({ error }) => error.message)).toEqual([
      expect.stringContaining('"/paths" is "a, b"; it must be a list'),
      expect.stringContaining('"/nested/ids/0" is "one"; it must be a whole number'),
    ]);
  });

  it('references in such a list are replaced, and a result may be one', async () => {
    const { inputs } = await run(dialect, [
      { call: 'names', run: { id: 'found' } },
      { call: 'echo', input: { paths: '["$found"]' }, run: { id: 'inside' } },
      { call: 'echo', input: { paths: '$found' }, run: { id: 'whole' } },
    ]);
    expect(inputs.slice(1)).toEqual([{ paths: ['["from","elsewhere"]'] }, { paths: ['from', 'elsewhere'] }]);
  });
});

it('in tags both readings are of the kind tool, said or not; another kind that is said is meant', async () => {
  const { asked, of } = await run(
    'tags',
    `<action type="tool">${JSON.stringify({ name: 'store', parameters: PUT })}</action>`,
    `<action type="relic">${JSON.stringify({ name: 'functions.store', parameters: PUT })}</action>`,
    `<action type="relic">${JSON.stringify({ name: 'echo' })}</action>`,
  );
  expect(asked).toEqual(['relic store', 'relic store', 'relic echo']);
  expect(of('action.failed')[0]?.error.code).toBe('target_unknown');
});

it('in tools the calls that speak may have the prefix, too', async () => {
  const { result } = await run('tools', call('functions.respond', { text: 'Here.' }));
  expect(result.result).toBe('Here.');
});

it.each(['tools', 'step'] as const)(
  'a repaired call of %s stands in the history as it ran',
  async (dialect) => {
    const shown: string[] = [];
    const turns = [
      dialect === 'tools'
        ? call('functions.echo', { text: 'x' }) + call('store', PUT)
        : call('functions.step', { tool_calls: [{ name: 'store', input: PUT }] }),
      ...(dialect === 'tools' ? [] : [call('step', { tool_calls: [{ name: 'store', input: PUT }] })]),
      speak(dialect, DONE),
    ];
    const { createScriptedModel } = await import('../../src/models/scripted/scripted-model.ts');
    const scripted = createScriptedModel({ id: 'scripted:test', turns });
    await runAgent({
      manifest: `dialect: ${dialect}\n${MANIFEST}`,
      files: FILES,
      turns: [],
      model: {
        ...scripted,
        stream(request, sink) {
          const said = request.messages.findLast(({ role }) => role === 'assistant')?.text ?? '';
          shown.push(...readTurnParts(said).flatMap((part) => (part.type === 'call' ? [part.name] : [])));
          return scripted.stream(request, sink);
        },
      },
    });
    expect(shown).toEqual(dialect === 'tools' ? ['echo', 'relic_store'] : ['step', 'step']);
  },
);

it('a person is asked about the list, not about the string', async () => {
  const asked: unknown[] = [];
  await runAgent({
    manifest: `permissions: { sandbox: "off" }\n${MANIFEST}`,
    files: { ...FILES, ...tool('echo', 'return input;', `approval: always\n${LISTS}`) },
    turns: [named('tags', 'echo', { paths: '["a"]' }), speak('tags', DONE)],
    runtime: {
      approve: (question) => {
        asked.push(question.input);
        return Promise.resolve(true);
      },
    },
  });
  expect(asked).toEqual([{ paths: ['a'] }]);
});

it.each(['input', 'parameters', 'arguments', 'args'])(
  'the parameters of a tool call of a step may be its %s',
  async (key) => {
    const { inputs, faults } = await run(
      'step',
      step({ tool_calls: [{ name: 'echo', [key]: { text: 'x' } }] }),
      step({ tool_calls: [{ name: 'echo', [key]: '{"text": "y"}' }] }),
    );
    expect(faults).toEqual([]);
    expect(inputs).toEqual([{ text: 'x' }, { text: 'y' }]);
  },
);

it('two different sets of parameters in a tool call of a step run nothing, and both are named', async () => {
  const { asked, faults } = await run(
    'step',
    step({ tool_calls: [{ name: 'echo', input: { text: 'x' }, arguments: { text: 'y' } }] }),
  );
  expect(asked).toEqual([]);
  expect(faults[0]).toMatch(/^bad_action: .*"arguments" and "input".*Write "input" only/);
});

describe.each(['tags', 'tools', 'step'] as const)('in the JSON of %s', (dialect) => {
  it('comments with # and escapes that JSON does not have are read', async () => {
    const input = String.raw`{"text": "a\.b \x41 it\'s" # a note
}`;
    const turn = {
      tags: `<action>{"name": "echo", "parameters": ${input}}</action>`,
      tools: call('echo', input),
      step: step(`{"tool_calls": [{"name": "echo", "input": ${input}}]}`),
    }[dialect];
    const { inputs, faults } = await run(dialect, turn);
    expect(faults).toEqual([]);
    expect(inputs).toEqual([{ text: String.raw`a\.b A it's` }]);
  });
});

it('the fields of an action may be attributes of its tag', async () => {
  const { of, inputs } = await run(
    'tags',
    `<action name="echo" id="one" output_key="out" retry="1">{"text": "x"}</action>
<action name="echo" depends_on="one">{"text": "$out.text"}</action>`,
  );
  expect(inputs).toEqual([{ text: 'x' }, { text: 'x' }]);
  expect(of('action.declared').map(({ action }) => action.depends_on)).toEqual([undefined, ['one']]);
});
