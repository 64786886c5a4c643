import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Model } from '../../src/models/model.ts';
import { agentFolder, runAgent } from './run-agent.ts';

const flow = (name: string, trigger: string) =>
  `kind: Workflow\nname: ${name}\ntrigger: ${trigger}\nsteps: [{ name: one, type: script, script: "1" }]\n`;
const FIELDS =
  'metadata: { fields: { status: { values: [IDLE, CODING], default: IDLE }, size: { type: number } } }\n';
const IMPORT = 'import: { workflows: [./flows/*.yml] }\n';
const say = (values: string) => `<metadata>${values}</metadata>`;
const DONE = '<response>Done.</response>';

describe('an update that says what is already so', () => {
  const fired = async (turns: readonly string[], trigger: string, manifest = FIELDS) => {
    const ran = await runAgent({
      manifest: `${manifest}${IMPORT}`,
      files: { 'flows/a.yml': flow('a', trigger) },
      turns: [turns.join('') + DONE],
    });
    expect(ran.result.status).toBe('completed');
    return { ...ran, times: ran.of('trigger.fired').length };
  };
  const match = (fire: string) => `{ type: metadata_match, conditions: { status: CODING }, fire: ${fire} }`;
  const CODING = say('{"status":"CODING"}');

  it.each([
    ['on_update', 4],
    ['on_change', 1],
    ['on_enter', 1],
  ])('sets off what fires %s as often as that says', async (fire, times) => {
    const turns = [CODING, CODING, say('{"status":"NO"}'), say('{}'), say('{"size":"big"}'), CODING];
    expect(await fired([...turns, say('{"size":3}')], match(fire))).toMatchObject({ times });
  });

  it('as the first of a session ends that every condition counts as false', async () => {
    const trigger = '{ type: metadata_match, conditions: { status: IDLE } }';
    const ran = await fired([say('{"status":"IDLE"}'), say('{"status":"IDLE"}')], trigger);
    expect(ran.of('trigger.fired')).toMatchObject([{ seen: { as: 'enter' } }]);
    expect(ran.of('metadata.changed')).toMatchObject([{ changes: {}, by: 'model' }]);
  });

  it('of which all fields are refused is none, nor is one that on_invalid: all refuses', async () => {
    const trigger = '{ type: metadata_match, conditions: { status: IDLE } }';
    expect(await fired([say('{"status":"NO"}')], trigger)).toMatchObject({ times: 0 });
    const strict = FIELDS.replace('{ fields', '{ on_invalid: all, fields');
    expect(await fired([say('{"status":"IDLE","size":"big"}')], trigger, strict)).toMatchObject({ times: 0 });
  });

  it('is nothing that anybody hears of where nobody asks for it', async () => {
    const ran = await runAgent({ manifest: FIELDS, turns: [say('{"status":"IDLE"}') + DONE] });
    expect(ran.of('metadata.changed')).toEqual([]);
  });

  it('is no sign that a turn did something', async () => {
    const { of } = await runAgent({
      manifest: `${FIELDS}${IMPORT}`,
      files: { 'flows/a.yml': flow('a', match('on_update')) },
      turns: [CODING, CODING, CODING, CODING],
    });
    expect(of('session.stalled')).toHaveLength(1);
  });

  it('sets the first derived variable', async () => {
    const manifest = `${FIELDS}context_variables:
  derived: [{ name: idle, default: false, triggers: [{ type: metadata_match, conditions: { status: IDLE } }] }]
`;
    const { result } = await runAgent({
      manifest,
      turns: [say('{"status":"IDLE"}'), '<response>$idle</response>'],
    });
    expect(result.result).toBe('true');
  });
});

describe('a variable that is set to what it is', () => {
  const set = (id: string, value: number) =>
    `<action type="internal" id="${id}" mode="sync">{"name":"set_variable","parameters":{"name":"n","value":${value}}}</action>`;

  it.each([
    ['on_update', 3],
    ['on_change', 1],
  ])('sets off what fires %s as often as that says', async (fire, times) => {
    const trigger = `{ type: variable_match, conditions: { n: 1 }, fire: ${fire} }`;
    const { of } = await runAgent({
      manifest: `context_variables: { runtime: [{ name: n, type: number, default: 0 }] }\n${IMPORT}`,
      files: { 'flows/a.yml': flow('a', trigger) },
      turns: [set('a', 1) + set('b', 1) + set('c', 1) + DONE],
    });
    expect(of('trigger.fired')).toHaveLength(times);
  });
});

it('a variable that is set to what it is, is not shown to the model again', async () => {
  const set = (id: string) =>
    `<action type="internal" id="${id}" mode="sync">{"name":"set_variable","parameters":{"name":"n","value":{"a":1}}}</action>`;
  const { prompts, of } = await runAgent({
    manifest: 'context_variables: { defined: [{ name: n, type: object, key: agent, default: { a: 0 } }] }\n',
    turns: [set('a'), set('b'), DONE],
  });
  expect(of('variable.changed')).toHaveLength(2);
  expect(prompts.map((prompt) => /\bn: \{/.test(prompt))).toEqual([true, true, false]);
});

describe('the last write wins', () => {
  /** One session says A; in its next turn, while it has A, another says B; then the first says A again, and looks. */
  const last = async (manifest: string, a: string, b: string, look: string) => {
    const folder = agentFolder(manifest);
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    const other: Model = {
      id: 'test/other',
      async stream({ turn }, sink) {
        sink.text(turn === 1 ? b : DONE);
        return { finish: 'stop' };
      },
    };
    const first = runtime.start(agent, {
      input: 'Go.',
      model: {
        id: 'test/first',
        async stream({ turn }, sink) {
          if (turn === 2) await runtime.start(agent, { input: 'Go.', model: other }).result;
          sink.text(turn <= 2 ? a.replace('ID', `x${turn}`) : `<response>${look}</response>`);
          return { finish: 'stop' };
        },
      },
    });
    const { result } = await first.result;
    await runtime.close();
    return result;
  };

  it('also where it says what its session had already: metadata of scope: agent', async () => {
    const manifest = 'metadata: { scope: agent, fields: { color: { type: string } } }\n';
    expect(await last(manifest, say('{"color":"red"}'), say('{"color":"blue"}'), '$color')).toBe('red');
  });

  it('also where it says what its session had already: defined variables', async () => {
    const manifest = 'context_variables: { defined: [{ name: n, type: number, key: agent }] }\n';
    const set = (value: number) =>
      `<action type="internal" id="ID" mode="sync">{"name":"set_variable","parameters":{"name":"n","value":${value}}}</action>`;
    expect(await last(manifest, set(1), set(2), '$n')).toBe('1');
  });
});
