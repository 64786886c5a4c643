import { describe, expect, it } from 'vitest';
import { openFrame } from '../../src/lib/calls.ts';
import { createStepParser } from '../../src/parser/dialect-parser.ts';
import type { ParserEvent } from '../../src/parser/intents.ts';
import { frame, hear } from './frames.ts';

const events = (input: unknown, ids: readonly string[] = []) =>
  hear('step', frame('step', input), { ids: new Set(ids) }).events;

const codes = (all: readonly ParserEvent[]) =>
  all.map((event) => (event.type === 'fault' ? event.code : event.type));

const finals = (all: readonly ParserEvent[]) => {
  let opened = false;
  return all.flatMap((event) => {
    if (event.type === 'open' && event.tag === 'response') opened = event.final;
    return event.type === 'close' && event.tag === 'response' ? [event.final ?? opened] : [];
  });
};

const said = (all: readonly ParserEvent[], tag: string) =>
  all.flatMap((event) => (event.type === 'delta' && event.tag === tag ? [event.text] : [])).join('');

describe('a step', () => {
  it('is heard while it is written: its thought streams, and each of its calls starts when it closes', () => {
    const parser = createStepParser();
    expect(parser.push(`${openFrame('c', 'step')}{"thought": "Hm`)).toEqual([
      { type: 'open', tag: 'thought', depth: 0 },
      { type: 'delta', tag: 'thought', text: 'Hm' },
    ]);
    expect(parser.push('.", "tool_calls": [{"name": "a", "input": {"b": "}"}')).toEqual([
      { type: 'delta', tag: 'thought', text: '.' },
      { type: 'close', tag: 'thought' },
    ]);
    expect(parser.push('}')).toEqual([
      { type: 'action', id: 'a1', kind: 'tool', mode: 'async', name: 'a', parameters: { b: '}' } },
    ]);
    expect(parser.push(', {"name": "b", "mode": "sync"}], "metadata": {"s": 1}')).toEqual([
      { type: 'action', id: 'a2', kind: 'tool', mode: 'sync', name: 'b', parameters: {} },
      { type: 'metadata', value: { s: 1 } },
    ]);
    expect(parser.push(', "context_updates": {"v": [2]}, "response": "So')).toEqual([
      { type: 'variables', value: { v: [2] } },
      { type: 'open', tag: 'response', depth: 0, final: false },
      { type: 'delta', tag: 'response', text: 'So' },
    ]);
    expect(parser.push('"}\u001e\n')).toEqual([{ type: 'close', tag: 'response' }]);
  });

  it('with is_complete makes its response final, wherever either stands', () => {
    const ways = [
      { response: 'Done.', is_complete: true, notes: 'n' },
      { notes: 'n', is_complete: true, response: 'Done.' },
      { is_complete: true, response: 'Done.', notes: 'n' },
    ];
    for (const way of ways) {
      const all = events(way);
      expect(finals(all)).toEqual([true]);
      expect(said(all, 'response')).toBe('Done.');
    }
    expect(finals(events({ response: 'Not yet.' }))).toEqual([false]);
    expect(finals(events({ response: 'Not yet.', is_complete: false, notes: 'n' }))).toEqual([false]);
  });

  it('with is_complete and no response ends with its notes', () => {
    const all = events({ is_complete: true, notes: 'All $done.' });
    expect(finals(all)).toEqual([true]);
    expect(said(all, 'response')).toBe('All $done.');
  });

  it('with is_complete and no notes is not complete, and says so', () => {
    for (const notes of [undefined, null, '', ' \n']) {
      const all = events({ response: 'Done.', is_complete: true, notes });
      expect(codes(all)).toEqual(['open', 'delta', 'bad_action', 'close']);
      expect(finals(all)).toEqual([false]);
    }
  });

  it('is not complete either where one of its calls could not be made', () => {
    const all = events({ tool_calls: [{ name: 'a', wait: 1 }], is_complete: true, notes: 'n' });
    expect(codes(all)).toEqual(['bad_action', 'bad_action']);
  });

  it('with an output ends with that, as JSON, and only where it is complete', () => {
    const all = events({ response: 'There.', output: { a: 1 }, is_complete: true, notes: 'n' });
    expect(finals(all)).toEqual([false, true]);
    expect(said(all, 'response')).toBe('There.{"a":1}');
    expect(codes(events({ output: 1 }))).toEqual(['bad_action']);
  });

  it.each([
    [{ tool_calls: ['x'] }, 'an item is no object'],
    [{ tool_calls: [{ input: {} }] }, 'has no "name"'],
    [{ tool_calls: [{ name: '' }] }, 'has no "name" (it is a string)'],
    [{ tool_calls: [{ name: null }] }, 'has no "name" (it is absent)'],
    [{ tool_calls: [{ name: ['a'] }] }, 'has no "name" (it is a list)'],
    [{ tool_calls: [{ name: {} }] }, 'has no "name" (it is an object)'],
    [{ tool_calls: [{ name: 'a', input: [1] }] }, '"input" must be an object, but it is a list'],
    [{ notes: 1 }, 'it must be a text'],
    [{ response: 1 }, 'it must be a text'],
    [{ evidence: [] }, 'A step has no field "evidence"'],
    [{ artifacts: [] }, 'A step has no field "artifacts"'],
    [{ strange: 1 }, 'tool_calls, notes, is_complete, response, output'],
    [{ output: 1 }, 'it counts only with "is_complete": true'],
    ['{"metadata": {"a" 1}}', 'it is no JSON that can be read'],
    [{ tool_calls: [{ name: 'a', input: 'x' }] }, '"input" must be an object'],
    [{ tool_calls: [{ name: 'a', paramz: {} }] }, 'goes into "input"'],
    [{ tool_calls: [{ name: 'a', parameters: { b: 1 }, input: {} }] }, 'both given and differ'],
    [{ tool_calls: [{ name: 'a', depend_on: [] }] }, 'Did you mean "depends_on"?'],
    [{ tool_calls: { name: 'a' } }, 'it must be a list'],
    [{ metadata: 'x' }, 'it must be an object'],
    [{ context_updates: [1] }, 'it must be an object'],
    [{ is_complete: 1 }, 'true or false'],
    [{ thought: 1 }, 'it must be a text'],
    [{ thoughts: 'x' }, 'Did you mean "thought"?'],
    ['{"metadata": {"n": 1e999}}', 'too large to be kept'],
    ['{"context_updates": {"n": -1e999}}', 'too large to be kept'],
    ['{"tool_calls": [{"name": "a", "input": {"n": 1e999}}]}', 'too large to be kept'],
  ])('of the input %j says what is wrong with it', (input, message) => {
    const faults = events(input).flatMap((event) => (event.type === 'fault' ? [event] : []));
    expect(faults).toHaveLength(1);
    expect(faults[0]?.code).toBe('bad_action');
    expect(faults[0]?.message).toContain(message);
  });

  it('takes null as absent, in each of its fields and in the input of a call', () => {
    expect(
      events({
        thought: null,
        metadata: null,
        tool_calls: [{ name: 'a', input: null }],
        notes: null,
        output: null,
      }),
    ).toMatchObject([{ type: 'action', name: 'a', parameters: {} }]);
  });

  it('whose metadata or variables had to be mended says so', () => {
    expect(events('{"metadata": {"a": 1,}, "context_updates": {\'b\': 2}}')).toEqual([
      { type: 'metadata', value: { a: 1 }, repaired: true },
      { type: 'variables', value: { b: 2 }, repaired: true },
    ]);
  });

  const WRITTEN =
    '{"thought":"a // b # c","tool_calls":[{"name":"x","input":{"q":1}}],"notes":"n","is_complete":true}';

  it.each([
    ['a fence', `\`\`\`json\n${WRITTEN}\n\`\`\``],
    ['a longer fence without a language', `~~~~\n${WRITTEN}\n~~~~`],
    [
      'a line comment',
      WRITTEN.replace('{', '{ // what "I" do: {\n').replace(',"notes"', ' // it\'s [\n,"notes"'),
    ],
    ['a hash comment', WRITTEN.replace('"notes"', ' # it\'s }\n"notes"')],
    ['a block comment', WRITTEN.replace('[{', "[/* it's **/{").replace(':true', ':/* ] */true')],
    ['comments in a call', WRITTEN.replace('{"q":1}', '{ // don\'t }\n"q": /* " */ 1 # ]\n}')],
  ])('reads its input through %s, however it is cut', (_, input) => {
    const expected = codes(events(WRITTEN));
    expect(expected).toEqual(['open', 'delta', 'close', 'action', 'open', 'delta', 'close']);
    for (const size of [1, 2, 3, 7, input.length]) {
      const parser = createStepParser();
      const pieces = input.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
      const all = [openFrame('c', 'step'), ...pieces, '\u001e\n'].flatMap((piece) => parser.push(piece));
      expect(said(all, 'thought')).toBe('a // b # c');
      expect(all.filter(({ type }) => type === 'action')).toMatchObject([
        { name: 'x', parameters: { q: 1 } },
      ]);
      expect(codes(all).filter((code) => code !== 'delta')).toEqual(
        expected.filter((code) => code !== 'delta'),
      );
    }
  });

  it.each([
    ['a comment that nothing ends', '{"tool_calls":[{"name":"a"}] // ,"is_complete":true}'],
    ['a slash that begins none', '{"tool_calls":[{"name":"a"}], / "is_complete":true}'],
    ['a fence with words behind it', '```json is what I say {"tool_calls":[]}'],
  ])('does not read on behind %s', (_, input) => {
    expect(codes(events(input)).at(-1)).toBe('bad_json');
  });

  it('that ends too early ends what is open in it, as cut off', () => {
    const cut = (input: string) => hear('step', `${openFrame('c', 'step')}${input}`).events.slice(-2);
    expect(cut('{"thought": "Hm')).toMatchObject([
      { type: 'fault', code: 'truncated' },
      { type: 'close', tag: 'thought', truncated: true },
    ]);
    expect(cut('{"response": "So')).toMatchObject([
      { type: 'fault', code: 'truncated' },
      { type: 'close', tag: 'response', truncated: true },
    ]);
  });

  it('that is not JSON to its end counts up to there', () => {
    const all = events('{"tool_calls":[{"name":"a"}],"is_complete":true,"notes":"n" oops');
    expect(codes(all)).toEqual(['action', 'bad_json']);
    const half = events('{"tool_calls":[{"name":"a"}],"response":"ha');
    expect(codes(half)).toEqual(['action', 'open', 'delta', 'bad_json', 'close']);
  });

  it('is the only call there is', () => {
    const { events: all } = hear('step', frame('search', { q: 1 }));
    expect(all).toMatchObject([{ type: 'fault', code: 'bad_action' }]);
  });
});

describe('a step of a session that is led', () => {
  const led = (input: unknown) => hear('step', frame('step', input), { led: true }).events;
  const claim = { evidence: ['e'], artifacts: [{ kind: 'x' }], context_updates: { v: 1 } };

  it('is completed by an action, with what it claims, and its response is not final', () => {
    const all = led({ response: 'So.', ...claim, notes: 'n', is_complete: true });
    expect(all.at(-1)).toMatchObject({
      type: 'action',
      kind: 'internal',
      name: 'complete_step',
      parameters: { notes: 'n', ...claim },
    });
    expect(codes(all)).toEqual(['open', 'delta', 'close', 'action']);
    expect(finals(all)).toEqual([false]);
  });

  it('that is not complete sets its variables, and nothing else of its claim', () => {
    expect(led({ ...claim, notes: 'n' })).toEqual([{ type: 'variables', value: { v: 1 } }]);
    expect(led({ evidence: ['e'] })).toEqual([]);
  });

  it('that cannot be complete is not, and keeps its variables', () => {
    expect(codes(led({ ...claim, is_complete: true }))).toEqual(['bad_action', 'variables']);
  });

  it.each([
    [{ evidence: 'x' }, 'it must be a list'],
    [{ artifacts: {} }, 'it must be a list'],
    [{ context_updates: [] }, 'it must be an object'],
    [{ strange: 1 }, 'notes, evidence, artifacts, is_complete'],
  ])('with %j says what is wrong with it', (input, message) => {
    expect(led(input)).toMatchObject([
      { type: 'fault', code: 'bad_action', message: expect.stringContaining(message) },
    ]);
  });
});
