import { describe, expect, it } from 'vitest';
import { runAgent, tool } from '../run-agent.ts';

const internal = (id: string, name: string, parameters: object, more = '') =>
  `<action id="${id}" type="internal" ${more}>${JSON.stringify({ name, parameters })}</action>`;

const DONE = '<response>Done.</response>';

const VARIABLES = `context_variables:
  runtime:
    - { name: attempts, type: number, default: 2 }
    - { name: notes, type: array }
    - { name: locked, writers: [user] }
  defined:
    - { name: style, type: string }
  derived:
    - { name: ready, triggers: [{ type: event, event: turn.failed }] }
`;

const outcome = (ran: Awaited<ReturnType<typeof runAgent>>, id: string) => {
  const done = ran.of('action.completed').find((event) => event.id === id);
  const failed = ran.of('action.failed').find((event) => event.id === id);
  return done?.output ?? failed?.error;
};

const one = async (name: string, parameters: object, manifest = VARIABLES) => {
  const ran = await runAgent({ manifest, turns: [internal('a', name, parameters, 'mode="sync"'), DONE] });
  return { ran, got: outcome(ran, 'a') };
};

describe('set_variable', () => {
  it('sets a runtime variable, on the log, once it differs', async () => {
    const { ran, got } = await one('set_variable', { name: 'attempts', value: 3 });
    expect(got).toEqual({ name: 'attempts', from: 2, to: 3 });
    expect(ran.of('variable.changed')).toMatchObject([
      { name: 'attempts', class: 'runtime', from: 2, to: 3, by: 'model' },
    ]);
    const same = await one('set_variable', { name: 'attempts', value: 2 });
    expect(same.ran.of('variable.changed')).toEqual([]);
  });

  it('is read by later actions and responses', async () => {
    const ran = await runAgent({
      manifest: VARIABLES,
      turns: [
        `${internal('a', 'set_variable', { name: 'notes', value: ['x'] }, 'mode="sync"')}<response>$notes</response>`,
      ],
    });
    expect(ran.result.result).toBe('["x"]');
  });

  it.each([
    [{ name: 'attempts', value: 'three' }, 'bad_parameters', 'type number, not "three"'],
    [{ name: 'attempts', value: null }, 'bad_parameters', 'type number'],
    [{ name: 'notes', value: {} }, 'bad_parameters', 'type array'],
    [{ name: 'attemps', value: 1 }, 'variable_unknown', 'No runtime or defined variable is named "attemps"'],
    [{ name: 'locked', value: 1 }, 'variable_denied', "not the model's"],
    [{ name: 'style', value: 7 }, 'bad_parameters', 'type string, not 7'],
    [{ name: 'ready', value: true }, 'variable_denied', 'derived from events'],
    [{ name: 'notes', value: ['x'.repeat(70_000)] }, 'bad_parameters', '65536 are allowed'],
  ])('%j is refused as %s', async (parameters, code, message) => {
    const { got, ran } = await one('set_variable', parameters);
    expect(got).toMatchObject({ code });
    expect((got as { message: string }).message).toContain(message);
    expect(ran.of('variable.changed')).toEqual([]);
  });

  it('is not offered to an agent that has no such variable, and says why', async () => {
    const { got, ran } = await one('set_variable', { name: 'x', value: 1 }, '');
    expect(got).toMatchObject({ code: 'not_permitted' });
    expect((got as { hint: string }).hint).toContain('context_variables.runtime');
    expect(ran.prompts[0]).not.toContain('set_variable');
  });
});

describe('delete_variable', () => {
  it('puts the default back, or null', async () => {
    const turns = [
      `${internal('a', 'set_variable', { name: 'attempts', value: 9 }, 'mode="sync"')}${internal('b', 'delete_variable', { name: 'attempts' }, 'mode="sync"')}`,
      `${internal('c', 'set_variable', { name: 'notes', value: [1] }, 'mode="sync"')}${internal('d', 'delete_variable', { name: 'notes' }, 'mode="sync"')}`,
      DONE,
    ];
    const ran = await runAgent({ manifest: VARIABLES, turns });
    expect(outcome(ran, 'b')).toEqual({ name: 'attempts', from: 9, to: 2 });
    expect(outcome(ran, 'd')).toEqual({ name: 'notes', from: [1], to: null });
  });
});

const SLOW = tool(
  'slow',
  'await new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(context.signal.reason)));',
);
const QUICK = tool('quick', 'return 1;');
const TOOLS = { manifest: 'import: { tools: ["./tools/*.yml"] }\n', files: { ...SLOW, ...QUICK } };

describe('cancel_action', () => {
  it('stops what runs, and what depends on it is skipped', async () => {
    const ran = await runAgent({
      ...TOOLS,
      turns: [
        `<action id="s">{"name":"slow"}</action><action id="q">{"name":"quick","depends_on":["s"]}</action>${internal('c', 'cancel_action', { id: 's' }, 'mode="sync"')}`,
        DONE,
      ],
    });
    expect(outcome(ran, 'c')).toEqual({ id: 's', status: 'cancelled' });
    expect(ran.of('action.cancelled')).toMatchObject([{ id: 's', reason: 'Cancelled by the action "c".' }]);
    expect(ran.of('action.skipped')).toMatchObject([{ id: 'q', reason: 'dependency', because: 's' }]);
    expect(ran.result.status).toBe('completed');
  });

  it.each([
    ['runs', '<action id="two" mode="sync">{"name":"pair"}</action>', ['p[0]', 'p[1]']],
    ['waits for its list', '', ['foreach_1']],
  ])('stops all of a <foreach> by the id in it, where that %s', async (_how, before, cancelled) => {
    const ran = await runAgent({
      ...TOOLS,
      files: { ...TOOLS.files, ...tool('pair', 'return [1, 2];') },
      turns: [
        `${before}<foreach in="$two"><action id="p">{"name":"slow"}</action></foreach>${internal('c', 'cancel_action', { id: 'p' }, 'mode="sync"')}${internal('d', 'cancel_action', { id: 'p' }, 'mode="sync"')}`,
        DONE,
      ],
    });
    expect(outcome(ran, 'c')).toEqual({ id: 'p', status: 'cancelled' });
    expect(ran.of('action.cancelled').map(({ id }) => id)).toEqual(cancelled);
    expect(outcome(ran, 'd')).toMatchObject({
      code: 'action_ended',
      message: 'All of "p" has ended already.',
    });
  });

  it.each([
    ['still waits for its list', '', { also: ['q'] }, ['foreach_1']],
    ['runs', '<action id="two" mode="sync">{"name":"pair"}</action>', {}, ['p[0]', 'p[1]']],
  ])('names what else does not run of a <foreach> that %s', async (_how, before, also, cancelled) => {
    const ran = await runAgent({
      ...TOOLS,
      files: { ...TOOLS.files, ...tool('pair', 'return [1, 2];') },
      turns: [
        `${before}<foreach in="$two"><action id="p">{"name":"slow"}</action><action id="q">{"name":"quick"}</action></foreach>${internal('c', 'cancel_action', { id: 'p' }, 'mode="sync"')}${before === '' ? '<action id="two">{"name":"pair"}</action>' : ''}`,
        DONE,
      ],
    });
    expect(outcome(ran, 'c')).toEqual({ id: 'p', status: 'cancelled', ...also });
    expect(ran.of('action.cancelled').map(({ id }) => id)).toEqual(cancelled);
  });

  it('says of a <parallel> that has ended that all of it has', async () => {
    const ran = await runAgent({
      ...TOOLS,
      turns: [
        `<parallel id="g"><action id="q">{"name":"quick"}</action></parallel>${internal('c', 'cancel_action', { id: 'g' }, 'mode="sync"')}`,
        DONE,
      ],
    });
    expect(outcome(ran, 'c')).toMatchObject({
      code: 'action_ended',
      message: 'All of "g" has ended already.',
    });
  });

  it('refuses the <parallel> that it stands in', async () => {
    const ran = await runAgent({
      ...TOOLS,
      turns: [
        `<parallel id="g"><action id="q">{"name":"quick"}</action>${internal('c', 'cancel_action', { id: 'g' })}</parallel>`,
        DONE,
      ],
    });
    expect(outcome(ran, 'c')).toMatchObject({ code: 'bad_parameters' });
    expect(ran.of('action.cancelled')).toEqual([]);
  });

  it('needs no place among what runs', async () => {
    const ran = await runAgent({
      ...TOOLS,
      manifest: `${TOOLS.manifest}limits: { parallel_actions: 1 }\n`,
      turns: [`<action id="s">{"name":"slow"}</action>${internal('c', 'cancel_action', { id: 's' })}`, DONE],
    });
    expect(ran.of('action.cancelled')).toMatchObject([{ id: 's' }]);
  });

  it.each([
    ['itself', 'c', 'bad_parameters', 'cannot cancel itself'],
    ['what has ended', 'q', 'action_ended', 'it is completed'],
    ['what is not there', 'nobody', 'action_unknown', 'No action has the id'],
  ])('refuses %s', async (_what, id, code, message) => {
    const ran = await runAgent({
      ...TOOLS,
      turns: [
        `<action id="q" mode="sync">{"name":"quick"}</action>${internal('c', 'cancel_action', { id }, 'mode="sync"')}`,
        DONE,
      ],
    });
    expect(outcome(ran, 'c')).toMatchObject({ code });
    expect((outcome(ran, 'c') as { message: string }).message).toContain(message);
  });
});

describe('list_actions', () => {
  it('tells name, status and time, the latest last, itself left out', async () => {
    const ran = await runAgent({
      ...TOOLS,
      turns: [
        `<action id="q" mode="sync">{"name":"quick"}</action><action id="s">{"name":"slow"}</action>${internal('l', 'list_actions', {}, 'mode="sync"')}${internal('r', 'list_actions', { status: 'running' }, 'mode="sync"')}${internal('m', 'list_actions', { limit: 1 }, 'mode="sync"')}${internal('c', 'cancel_action', { id: 's' }, 'mode="sync"')}`,
        DONE,
      ],
    });
    expect(outcome(ran, 'l')).toEqual({
      actions: [
        { id: 'q', name: 'quick', status: 'completed', ms: expect.any(Number) },
        { id: 's', name: 'slow', status: 'running' },
      ],
    });
    expect(outcome(ran, 'r')).toEqual({ actions: [{ id: 's', name: 'slow', status: 'running' }] });
    expect(outcome(ran, 'm')).toMatchObject({ actions: [{ id: 'r' }], left_out: 3 });
  });
});

describe('read_output', () => {
  it('says of what has not ended that there is no result yet, rather than an empty one', async () => {
    const ran = await runAgent({
      ...TOOLS,
      turns: [
        `<action id="s">{"name":"slow"}</action><action id="w">{"name":"quick","depends_on":["s"]}</action>${internal('r', 'read_output', { id: 's' }, 'mode="sync"')}${internal('o', 'read_output', { id: 'w' }, 'mode="sync"')}${internal('c', 'cancel_action', { id: 's' }, 'mode="sync"')}${internal('e', 'read_output', { id: 's' }, 'mode="sync"')}`,
        DONE,
      ],
    });
    expect(outcome(ran, 'r')).toMatchObject({
      code: 'action_not_ended',
      message: expect.stringMatching(/running/),
    });
    expect(outcome(ran, 'o')).toMatchObject({
      code: 'action_not_ended',
      message: expect.stringMatching(/waiting/),
    });
    expect(outcome(ran, 'e')).toMatchObject({ text: expect.stringContaining('stopped before it had ended') });
  });
});

describe('the guard', () => {
  it.each([
    ['enabled: false', 'enabled: false'],
    ['blocked_actions: [list_actions], allowed_actions: [list_actions]', 'blocked_actions'],
    ['allowed_actions: [read_output]', 'allowed_actions'],
  ])('%s keeps an action away, and names the key', async (settings, key) => {
    const { got, ran } = await one('list_actions', {}, `internal_actions: { ${settings} }\n`);
    expect(got).toMatchObject({ code: 'not_permitted' });
    expect((got as { hint: string }).hint).toContain(key);
    expect(ran.of('action.started')).toEqual([]);
  });

  it('leaves those alone that are allowed', async () => {
    const { got } = await one('list_actions', {}, 'internal_actions: { allowed_actions: [list_actions] }\n');
    expect(got).toEqual({ actions: [] });
  });
});

describe('a rollback', () => {
  it('says what it could not undo beside what it did', async () => {
    const undo = 'if (input.n === 2) throw new Error("gone"); return 1;';
    const make = (n: number) =>
      `<action id="m${n}" mode="sync">{"name": "make", "compensate": {"name": "undo", "parameters": {"n": ${n}}}}</action>`;
    const ran = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: { ...tool('make', 'return 1;'), ...tool('undo', undo) },
      turns: [
        `${make(1)}${make(2)}${make(3)}${internal('r', 'rollback', { to: 'm2' }, 'mode="sync"')}`,
        `${internal('q', 'rollback', { to: 'm1' }, 'mode="sync"')}`,
        DONE,
      ],
    });
    expect(outcome(ran, 'r')).toEqual({ undone: ['m3'], not_undone: ['m2'] });
    expect(outcome(ran, 'q')).toEqual({ undone: ['m1'], not_undone: ['m2'] });
  });
});

describe('an id of several actions', () => {
  it.each([
    [
      'of a <foreach>',
      '<foreach in="$list"><action id="all">{"name": "calculator"}</action></foreach>',
      'all[0], all[1]',
    ],
    ['of a <parallel>', '<parallel id="all"><action id="x">{"name": "calculator"}</action></parallel>', 'x'],
  ])(
    '%s: the model is told what it may name, and nothing that it did not ask for',
    async (_, actions, ids) => {
      const ran = await runAgent({
        manifest: 'import: { tools: [builtin:calculator] }\n',
        turns: [
          `${actions}${internal('r', 'rollback', { to: 'all' }, 'mode="sync"')}${internal('n', 'rollback', { to: 'nobody' }, 'mode="sync"')}`,
          DONE,
        ],
        start: { vars: { list: [1, 2] } },
      });
      expect(outcome(ran, 'r')).toMatchObject({ hint: `It stands for several; name one of them: ${ids}.` });
      expect(outcome(ran, 'n')).toMatchObject({ hint: `The latest ids: ${ids}, r, n.` });
    },
  );
});
