import { expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createRootCauseFold } from '../../src/cli/view/root-cause.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { recordedIo } from './recorded-io.ts';
import { telltale } from './spawned.ts';

const tool = (name: string) => `kind: Tool\nname: ${name}\nimplementation: { module: ./${name}.mjs }\n`;
const action = (id: string, name: string) => `<action id="${id}">{"name":"${name}"}</action>`;

/** An agent whose tool "look" throws, "gone" lacks its export, and "fine" works. */
const folder = (turns: readonly string[]) =>
  agentFolder('', {
    'agent.yml':
      'kind: Agent\nname: above\nmodel: scripted:turns.yml\nimport: { tools: [./tools/*.yml], workflows: [./flow.yml] }\n',
    'turns.yml': JSON.stringify({ turns }),
    'tools/look.yml': tool('look'),
    'tools/look.mjs': 'export function run() {\n  return undefined.length;\n}\n',
    'tools/gone.yml': tool('gone'),
    'tools/gone.mjs': 'export const search = () => 1;\n',
    'tools/fine.yml': tool('fine'),
    'tools/fine.mjs': 'export const run = () => 1;\n',
    'flow.yml': 'kind: Workflow\nname: flow\nsteps: [{ name: first, type: tool, target: look }]\n',
  });

const THROWN = `The code of tool "look" failed: Cannot read properties of undefined (reading 'length')`;
const END =
  / {2}It ended with: .* \[script_ended\]\n {2}session ses_\w+, turn \d\n {2}→ See: telltale logs ses_\w+\n {2}→ /;

it('the first failure that has to be fixed is told as it happens, at the end and in JSON, in the same words', async () => {
  const cwd = folder([action('a', 'fine') + action('b', 'look'), action('c', 'gone')]);
  const { code, out, err } = await telltale(['run', 'agent.yml', 'Go'], cwd);
  expect(code).toBe(1);
  const place = `${cwd}/tools/look.mjs:2:20`;
  expect(out).toContain(`tool_failed: ${THROWN} → Thrown at ${place}.\n`);
  expect(out.indexOf(THROWN)).toBeLessThan(out.indexOf('script_ended'));
  expect(out).toContain(
    `exports no "run". → It exports: search. Add it: export function run(parameters, { agent, signal }) { … }. Or name another one with "export" in ${cwd}/tools/gone.yml.\n`,
  );
  expect(err.startsWith(`failed: ${THROWN} [tool_failed]\n  action b (look), turn 1\n`)).toBe(true);
  expect(err).toContain('It ended with: The script turns.yml has 2 turns, but the session needs turn 3. ');
  expect(err).toMatch(END);
  expect(err.endsWith(`\n  → Thrown at ${place}.\n`)).toBe(true);
  const json = await telltale(['run', 'agent.yml', 'Go', '--json'], cwd);
  expect(json).toMatchObject({ code: 1, err: '' });
  expect(JSON.parse(json.out)).toMatchObject({
    error: { code: 'script_ended' },
    root_cause: {
      code: 'tool_failed',
      message: THROWN,
      hint: `Thrown at ${place}.`,
      where: 'action b (look), turn 1',
    },
  });
});

it('what an agent went on without is told at the end, and the exit code stays', async () => {
  const cwd = folder([action('a', 'gone'), '<response>Sorry</response>']);
  const { code, out, err } = await telltale(['run', 'agent.yml', 'Go'], cwd);
  expect({ code, err }).toEqual({
    code: 0,
    err: expect.stringMatching(
      /^to fix: The module \/\S+gone\.mjs of tool "gone" exports no "run"\. \[module_failed\]\n {2}action a \(gone\), turn 1\n {2}→ .*Add it: .*\n$/,
    ),
  });
  expect(out).toContain('✓ completed');
  expect((await telltale(['run', 'agent.yml', 'Go', '--quiet'], cwd)).err).toBe('');
});

it('a mistake of a script is the cause where it has no more turns; without one, that it has none is', async () => {
  const misspelt = await telltale(['run', 'agent.yml', 'Go'], folder([action('a', 'fien')]));
  expect(misspelt.err).toMatch(END);
  expect(misspelt.err).toMatch(/^failed: There is no tool "fien"\. [\s\S]*\n {2}→ Did you mean "fine"\?\n$/);
  const { err } = await telltale(['run', 'agent.yml', 'Go'], folder([action('a', 'fine')]));
  expect(err).toMatch(
    /^failed: .* \[script_ended\]\n.*\n {2}→ See: .*\n {2}→ Add turn 2 to it, end turn 1 with a final response, or set "loop: true"\.\n$/,
  );
});

it('a terminal shows the whole of what has to be fixed below the row of the action', async () => {
  const cwd = folder([action('a', 'gone')]);
  const env = { PATH: process.env.PATH };
  const recorded = recordedIo({ cwd, env, terminal: true, columns: 60 });
  expect(await main(['run', 'agent.yml', 'Go'], { ...recorded, clock: createSystemClock() })).toBe(1);
  const words = recorded.out().replace(/\s+/g, ' ');
  expect(words).toContain('of tool "gone" exports no "run".');
  expect(words).toContain('{ agent, signal }) { … }. Or name another one with "export" in');
});

it('a run of a workflow ends with the place of what a tool threw', async () => {
  const cwd = folder([]);
  const { code, out, err } = await telltale(['workflow', 'run', 'agent.yml', 'flow'], cwd);
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining(`\n  → Thrown at ${cwd}/tools/look.mjs:2:20.\n`),
  });
  expect(out).toContain(`first after `);
  const json = await telltale(['workflow', 'run', 'agent.yml', 'flow', '--json'], cwd);
  expect(JSON.parse(json.out)).toMatchObject({ root_cause: { code: 'tool_failed', message: THROWN } });
});

it('what worked later has not to be fixed, and only what explains an end is its cause', () => {
  const fold = createRootCauseFold();
  const take = (event: object) => fold.take(event as Parameters<typeof fold.take>[0]);
  const declare = (id: string, name: string) => take({ type: 'action.declared', action: { id, name } });
  const error = (code: string) => ({ code, message: `${code}!`, retryable: false });
  const fail = (id: string, code: string) => take({ type: 'action.failed', id, turn: 1, error: error(code) });
  declare('a', 'look');
  declare('b', 'look');
  declare('c', 'save');
  fail('a', 'tool_failed');
  fail('c', 'bad_output');
  take({ type: 'action.completed', id: 'b' });
  const limit = { status: 'failed', error: error('limit_turns') };
  expect(fold.of(limit)).toMatchObject({ code: 'bad_output', where: 'action c (save), turn 1' });
  expect(fold.of({ status: 'failed', error: error('model_refused_key') })).toEqual({
    code: 'model_refused_key',
    message: 'model_refused_key!',
  });
  expect(fold.of({ status: 'waiting' })).toBeUndefined();
});
