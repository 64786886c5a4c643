import { expect, it } from 'vitest';
import type { SessionEvent } from '../../src/log/event.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { runAgent, tool } from './run-agent.ts';

const TOOLS = 'import: { tools: [./tools/*.yml] }\n';
const echo = tool('echo', 'return input.text ?? input;');
const action = (name: string, attributes = '', body: object = {}) =>
  `<action${attributes === '' ? '' : ` ${attributes}`}>${JSON.stringify({ name, ...body })}</action>`;
for (const open of ['<parallel id="g">', '<parallel>'])
  it(`unseen in ${open}`, async () => {
    const { result, of } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [
        `${open}${action('echo', 'id="a"', { depends_on: ['later'] })}</parallel><response>x</response>`,
        '<response>y</response>',
      ],
    });
    expect(of('action.skipped')).toMatchObject([{ reason: 'deadlock' }]);
    expect(result.status).toBe('completed');
  }, 4000);
it('foreach in parallel', async () => {
  const { types } = await runAgent({
    manifest: TOOLS,
    files: tool('slow', 'await new Promise((r) => setTimeout(r, 20)); return 1;'),
    turns: [
      `${action('slow', 'id="l" mode="sync"')}<parallel id="g"><foreach in="$list" as="n">${action('slow', 'id="a"')}</foreach></parallel><thought>After.</thought><response>x</response>`,
      '<response>y</response>',
    ],
    start: { vars: { list: [1, 2] } },
  });
  expect(types.lastIndexOf('action.completed')).toBeLessThan(types.indexOf('thought'));
}, 4000);
it('group dependents start at the close', async () => {
  const { types, events } = await runAgent({
    manifest: TOOLS,
    files: echo,
    turns: [
      `<parallel id="g">${action('echo', 'id="a"')}</parallel>${action('echo', 'id="z"', { depends_on: ['g'] })}<thought>${'long '.repeat(200)}</thought><response>x</response>`,
      '<response>y</response>',
    ],
  });
  expect(events.findIndex((e) => e.type === 'action.started' && e.id === 'z')).toBeLessThan(
    types.indexOf('turn.completed'),
  );
}, 4000);
it('the close waits for an action whose template is fire_and_forget', async () => {
  const { of, types } = await runAgent({
    manifest: `${TOOLS}action_templates: { away: { type: tool, mode: fire_and_forget, name: slow } }\n`,
    files: tool('slow', 'await new Promise((r) => setTimeout(r, 20)); return 1;'),
    turns: [
      '<parallel><action>{"template": "away"}</action></parallel><thought>After.</thought><response>x</response>',
    ],
  });
  expect(of('action.declared').map((event) => event.action.mode)).toEqual(['async']);
  expect(types.indexOf('action.completed')).toBeLessThan(types.indexOf('thought'));
}, 4000);

const dependent = action('echo', 'id="d"', { depends_on: ['g'] });
const started = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.started' ? [event.id] : []));

it.each([
  ['holds nothing', '<parallel id="g"></parallel>'],
  ['holds what does not count', `<parallel id="g"><if test="false">${action('echo')}</if></parallel>`],
  ['holds such a group', '<parallel id="g"><parallel></parallel></parallel>'],
])('all of a group that %s has succeeded', async (_, group) => {
  for (const then of [
    dependent,
    dependent.replace('id=', 'mode="sync" id='),
    `<foreach in="$one">${dependent}</foreach>`,
  ]) {
    const { events, result } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [`${group}${then}<response>x</response>`],
      start: { vars: { one: [1] } },
    });
    expect(started(events).at(-1)).toMatch(/^d/);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  }
});

it.each([
  ['was lost', '<parallel id="g"><action>{"nam": "echo"}</action></parallel>'],
  [
    'waits for the group itself',
    `<parallel id="g">${action('echo', 'id="x"', { depends_on: ['g'] })}</parallel>`,
  ],
  [
    'of a group in it failed',
    `<parallel id="g">${action('echo')}<parallel>${action('fail')}</parallel></parallel>`,
  ],
  [
    'of a group in it waits for the outer one',
    `<parallel id="g"><parallel>${action('echo', 'id="x"', { depends_on: ['g'] })}</parallel></parallel>`,
  ],
  [
    'of a foreach in a group in it failed',
    `<parallel id="g"><parallel><foreach in="$one">${action('fail')}</foreach></parallel></parallel>`,
  ],
])('what depends on a group is skipped where an action %s', async (_, group) => {
  const { of, result } = await runAgent({
    manifest: TOOLS,
    files: { ...echo, ...tool('fail', 'throw new Error("no luck");') },
    turns: [`${group}${dependent}<response>x</response>`, '<response>y</response>'],
    start: { vars: { one: [1] } },
  });
  expect(of('action.skipped').at(-1)).toMatchObject({ id: 'd' });
  expect(result).toMatchObject({ status: 'completed', turns: 2, result: 'y' });
});

it('the outer of two groups is known after a restart, with what is in the inner one', async () => {
  await runAgent({
    manifest: TOOLS,
    files: { ...echo, ...tool('fail', 'throw new Error("no luck");') },
    turns: [
      `<parallel id="g"><parallel id="h">${action('fail')}</parallel></parallel>`,
      '<response>y</response>',
    ],
    after: async (id, runtime) => {
      const at = (await runtime.events(id)).findLast(({ type }) => type === 'turn.completed')?.seq ?? 0;
      const fork = await runtime.fork(id, at - 2);
      const model = scripted(['', dependent, '<response>z</response>']);
      await (await runtime.resume(fork, { model })).result;
      const events = await runtime.events(fork);
      expect(events).toContainEqual(
        expect.objectContaining({ type: 'action.skipped', id: 'd', because: 'a1' }),
      );
    },
  });
});
