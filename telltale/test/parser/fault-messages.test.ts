import { expect, it } from 'vitest';
import type { ParserEvent } from '../../src/parser/index.ts';
import { FAULT_CODES } from '../../src/parser/intents.ts';
import { parseInChunks } from './parse-in-chunks.ts';
import type { CaseOptions } from './worked-cases.ts';

const action = (body: object | string, attributes = '') =>
  `<action${attributes}>${typeof body === 'string' ? body : JSON.stringify(body)}</action>`;
const named = (fields: object) => action({ name: 'a', ...fields });
const SEALED: CaseOptions = { key: 'k' };

const MISTAKES: readonly (readonly [input: string, options?: CaseOptions])[] = [
  ['List<action> of things'],
  ['<metadata> is text'],
  [`<action id="${'a'.repeat(5_000)}`],
  [`<if ${'a'.repeat(5_000)}`],
  ['<thought>\n```\n</thought>\n'],
  ['```\ncode'],
  [`<response>${named({})}</response>`],
  ['<response><thought>x</response>'],
  [named({}), { actions_in: ['thought'] }],
  [`<thought>${named({})}</thought>`, { actions_in: ['outside', 'response'] }],
  ['<metadata>{}</metadata>', { actions_in: [] }],
  ['<if test="a"><thought></if>', { actions_in: ['outside'] }],
  ['<foreach in="$x"><if test="a">x'],
  ['<thought>x <response>y</response></thought>'],
  ['</thought>'],
  ['<else/>'],
  ['<thought>a\n<response>b</response>'],
  ['<if test="a"><thought>b</if>'],
  ['<thought><if test="a">b</thought>'],
  ['<thought><foreach in="$a">b</thought>'],
  ['<thought>a'],
  ['<response>a'],
  ['<foreach in="$a">'],
  ['<action>{"name":"x"'],
  ['<metadata>{"a":1'],
  [action('{name: 1}')],
  [action('{"name": "a", "parameters": {"command": "echo "hi" > x"}}')],
  ['<metadata>{a}</metadata>'],
  [action('{"name": "a", "parameters": {"x": 1e999}}')],
  ['<action>{"name":"a"<metadata>'],
  ['<metadata>{"a":"b</metadata>\nmore'],
  [named({}), { max_body: 10 }],
  [action({ parameters: {} })],
  [action({ name: '' })],
  [action({ name: 5 })],
  [named({ parameters: [] })],
  [named({ output_key: '1x' })],
  [named({ depends_on: 'b' })],
  [named({ depends_on: [''] })],
  [named({ depends_on: ['b', { id: 'c' }] })],
  [named({ depends_on: [null] })],
  [named({ timeout: 0 })],
  [named({ timeout: `5${' '.repeat(60)}s` })],
  [named({ retry: 1.5 })],
  [named({ on_error: 'stop' })],
  [named({ if: true })],
  [named({ compensate: 'x' })],
  [named({ compensate: {} })],
  [named({ compensate: { name: 'b', type: 'x' } })],
  [named({ compensate: { name: 'b', mode: 'sync' } })],
  [named({ compensate: { name: 'b', compensate: { name: 'c', retries: 1 } } })],
  [named({ template: {} })],
  [named({ depend_on: ['b'] })],
  [named({ mode: 'sync' })],
  [named({ ['x'.repeat(60)]: 1 })],
  ['Write <action name="a"/> to act.'],
  ['<action name="a">\nls'],
  [action({ name: 'b', parameters: {} }, ' name="a"')],
  [action({ name: 'a', retry: 1 }, ' retry="2"')],
  [action({ parameters: {}, id: 'x' }, ' name="a"')],
  [named({ parameters: { b: 1 }, arguments: { b: 2 } })],
  [named({ args: {}, input: { b: 2 } })],
  [named({ input: 'b' })],
  [action({ name: 'a' }, ' name=""')],
  [action({ name: 'a' }, ' depends_on="b.c"')],
  [action({ name: 'a' }, ' depends_on=["b", 7]')],
  [action({ name: 'a' }, ' depends_on=["b"')],
  [action({ name: 'a' }, ' timeout="5s"')],
  [action({ name: 'a' }, ' retry="1e3"')],
  [action({ name: 'a' }, ' on_error="stop"')],
  [action({ name: 'a' }, ' output_key="1x"')],
  [action({ name: 'a' }, ' literal="yes"')],
  [action({ name: 'a' }, ' if="true"')],
  [action({ name: 'a' }, ' tpye="tool"')],
  [action({ name: 'a' }, ` ${'x'.repeat(70)}="1"`)],
  [action({ name: 'a' }, ' type="toll"')],
  [action({ name: 'a' }, ' mode="synk"')],
  [action({ name: 'a' }, ' id="a b"')],
  [action({ name: 'a' }, ' id="a" id="b"')],
  [action({ name: 'a' }, ' id= ')],
  ['<metadata id="x">{"a":1}</metadata>'],
  ['<if tset="a">'],
  ['<if test="a" test="b">'],
  ['<foreach as="x">'],
  ['<foreach in="$a" as="1">'],
  ['<if test="a" foo="b">x</if>'],
  ['<parallel id="a b">x</parallel>'],
  ['<parallel id="a"b>'],
  ['<response final="maybe">x</response>'],
  [`${action({ name: 'a' }, ' id="x"')}${action({ name: 'b' }, ' id="x"')}`],
  [`${action({ name: 'a' }, ' id="g"')}<parallel id="g"></parallel>`],
  ['<result>'],
  ['<context_feed id="a">'],
  [`<else/>${named({})}`],
  ['<else/><metadata>{}</metadata>'],
  [action({ name: 'a' }, ' key="z"'), SEALED],
  ['<foreach in="$x">', SEALED],
];

const isFault = (event: ParserEvent) => event.type === 'fault';
const faultsOf = (input: string, options?: CaseOptions) =>
  parseInChunks([input], options).events.filter(isFault);

const shown = (input: string) =>
  JSON.stringify(input.length > 120 ? `${input.slice(0, 80)}… (${input.length})` : input);

it('a fault says what was seen, why it does not count and what to write instead', async () => {
  const pages = MISTAKES.map(([input, options]) => {
    const head = `${shown(input)}${options === undefined ? '' : ` with ${JSON.stringify(options)}`}`;
    return [head, ...faultsOf(input, options).map(({ code, message }) => `  ${code}: ${message}`)].join('\n');
  });
  await expect(`${pages.join('\n\n')}\n`).toMatchFileSnapshot('fault-messages.txt');
});

it('each of these mistakes is a fault, and each kind of fault is among them', () => {
  const codes = MISTAKES.map(([input, options]) => faultsOf(input, options).map(({ code }) => code));
  for (const [index, found] of codes.entries()) expect(found, MISTAKES[index]?.[0]).not.toEqual([]);
  expect(new Set(codes.flat())).toEqual(new Set(FAULT_CODES));
});
