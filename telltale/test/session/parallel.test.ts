import { expect, it } from 'vitest';
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
