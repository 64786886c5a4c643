import { describe, expect, it } from 'vitest';
import { frameOf, openFrame } from '../../src/lib/calls.ts';
import { createCallNames } from '../../src/parser/calls/call-names.ts';
import type { ParserEvent } from '../../src/parser/intents.ts';
import { createToolsParser } from '../../src/parser/tools/tools-parser.ts';
import { frame, hear } from './frames.ts';

const names = createCallNames([
  { kind: 'tool', name: 'search' },
  { kind: 'agent', name: 'helper' },
  { kind: 'tool', name: 'undo' },
]);

const events = (text: string, ids: readonly string[] = []) =>
  hear('tools', text, { names, ids: new Set(ids) }).events;

const codes = (all: readonly ParserEvent[]) =>
  all.map((event) => (event.type === 'fault' ? event.code : event.type));

const action = (fields: object) => ({
  type: 'action',
  id: 'a1',
  kind: 'tool',
  mode: 'async',
  name: 'search',
  parameters: {},
  ...fields,
});

describe('a native call', () => {
  it('is an action as soon as its frame closes, while more is to come', () => {
    const parser = createToolsParser({ names });
    expect(parser.push(`Look. ${openFrame('c', 'search')}{"q":`)).toEqual([{ type: 'text', text: 'Look. ' }]);
    expect(parser.push('1}\u001e')).toEqual([]);
    expect(parser.push('\nAnd')).toEqual([action({ parameters: { q: 1 } }), { type: 'text', text: 'And' }]);
  });

  it('reaches a target of any kind under its native name', () => {
    expect(events(frame('agent_helper', { task: 'x' }))).toEqual([
      action({ kind: 'agent', name: 'helper', parameters: { task: 'x' } }),
    ]);
  });

  it('of a name that nobody has is an action all the same: it fails as one with the name that is meant', () => {
    expect(events(frame('serch'))).toEqual([action({ name: 'serch' })]);
  });

  it('says under _run how it is run, and only the rest of its input are parameters', () => {
    const run = {
      mode: 'sync',
      id: 'one',
      depends_on: ['zero'],
      output_key: 'found',
      timeout: 2.5,
      retry: 1,
      on_error: 'fail',
      if: 'true',
      template: 'fetch',
      literal: true,
    };
    const { id: _, mode: __, ...rest } = run;
    expect(events(frame('search', { q: '$zero', _run: run }))).toEqual([
      {
        type: 'action',
        id: 'one',
        kind: 'tool',
        mode: 'sync',
        name: 'search',
        parameters: { q: '$zero' },
        ...rest,
      },
    ]);
    expect(events(frame('search', { _run: { template: 'fetch' } }))).toEqual([
      {
        type: 'action',
        id: 'a1',
        kind: 'tool',
        name: 'search',
        parameters: {},
        template: 'fetch',
      },
    ]);
  });

  it('is undone by what it names natively, at any depth', () => {
    const compensate = { name: 'agent_helper', parameters: { n: 1 }, compensate: { name: 'undo' } };
    expect(events(frame('search', { _run: { compensate } }))[0]).toMatchObject({
      compensate: {
        type: 'agent',
        name: 'helper',
        parameters: { n: 1 },
        compensate: { name: 'undo' },
      },
    });
  });

  it.each([
    [{ mode: 'later' }, 'bad_attribute', 'sync, async, background, fire_and_forget'],
    [{ id: 'a b' }, 'bad_attribute', 'letters, digits'],
    [{ id: 7 }, 'bad_attribute', 'letters, digits'],
    [{ depend_on: ['x'] }, 'bad_action', 'Did you mean "depends_on"?'],
    [{ parameters: {} }, 'bad_action', 'stands beside "_run"'],
    [{ timeout: 0 }, 'bad_action', '"timeout" must be'],
    [{ compensate: { parameters: {} } }, 'bad_action', 'In "compensate"'],
    [{ compensate: { name: 'undo', mode: 'sync' } }, 'bad_action', 'In "compensate": it has no "mode"'],
    [{ id: 'taken' }, 'duplicate_id', 'Choose another'],
    [[], 'bad_action', '"_run" must be an object'],
  ])('with the _run %j does not run, and says what is wrong', (run, code, message) => {
    const [event, ...more] = events(frame('search', { _run: run }), ['taken']);
    expect(more).toEqual([]);
    expect(event).toMatchObject({ type: 'fault', code });
    expect((event as { message: string }).message).toContain(message);
    expect((event as { message: string }).message).not.toContain('<action');
  });

  it.each([
    [{ name: 'agent_helper' }, { name: 'helper', type: 'agent' }],
    [{ name: 'undo' }, { name: 'undo' }],
    [{ name: 'nobody' }, { name: 'nobody' }],
    [
      { name: 'agent_helper', type: null },
      { name: 'helper', type: 'agent' },
    ],
    [
      { name: 'agent_helper', type: 'relic' },
      { name: 'agent_helper', type: 'relic' },
    ],
    [
      { name: 'undo', compensate: { name: 'agent_helper', parameters: { n: 1 } } },
      { name: 'undo', compensate: { name: 'helper', type: 'agent', parameters: { n: 1 } } },
    ],
  ])('what undoes it, %j, names its target as calls do', (compensate, expected) => {
    expect(events(frame('search', { _run: { compensate } }))).toEqual([action({ compensate: expected })]);
  });

  it('takes null as absent, in _run as a whole and in each of its fields', () => {
    expect(events(frame('search', { _run: null }))).toEqual([action({})]);
    expect(events(frame('search', { _run: { mode: null, id: null, retry: null } }))).toEqual([action({})]);
  });

  it('without any input takes nothing, with a slightly wrong one is repaired, with any other does not run', () => {
    expect(events(frame('search', ''))).toEqual([action({})]);
    expect(events(frame('search', "{'q': 1,}"))).toEqual([action({ parameters: { q: 1 }, repaired: true })]);
    expect(codes(events(frame('search', '[1]') + frame('search', '{"q": nothing}')))).toEqual([
      'bad_json',
      'bad_json',
    ]);
  });

  it.each([
    ['search', '{"q": 1e999}'],
    ['search', "{'q': [-1e999],}"],
    ['set_metadata', '{"n": 1e999}'],
    ['search', '{"q": 1, "_run": {"timeout": 1e999}}'],
  ])('of %s with %s does not run, since a number in it is not finite', (name, input) => {
    expect(events(frame(name, input))).toMatchObject([
      { type: 'fault', code: 'bad_json', message: expect.stringContaining('too large to be kept') },
    ]);
  });

  it('that the turn ends in does not run', () => {
    const whole = frameOf({ id: 'c', name: 'search', input: '{"q":1}' });
    for (let at = 1; at < whole.length; at++)
      expect(codes(events(whole.slice(0, at))), `cut at ${at}`).toEqual(['truncated']);
  });

  it('gets the first id that is free, and says which ids it gave out', () => {
    const { events: all, given } = hear(
      'tools',
      frame('search') + frame('search', { _run: { id: 'a3' } }) + frame('search'),
      { names, ids: new Set(['a1']) },
    );
    expect(all.map((event) => event.type === 'action' && event.id)).toEqual(['a2', 'a3', 'a4']);
    expect(given).toEqual(['a2', 'a3', 'a4']);
  });
});

describe('set_metadata', () => {
  it('declares, and a _run in it is nothing', () => {
    expect(events(frame('set_metadata', { status: 'CODING', _run: { id: 'x' } }))).toEqual([
      { type: 'metadata', value: { status: 'CODING' } },
    ]);
    expect(events(frame('set_metadata', '{status'))).toMatchObject([{ type: 'fault', code: 'bad_json' }]);
  });
});

describe('respond', () => {
  it('does not stand with a number that is not finite', () => {
    expect(codes(events(frame('respond', '{"text": "So.", "output": {"n": 1e999}}')))).toEqual([
      'open',
      'delta',
      'bad_json',
      'close',
    ]);
  });

  const open = (final: boolean) => ({ type: 'open', tag: 'response', depth: 0, final });
  const delta = (text: string) => ({ type: 'delta', tag: 'response', text });
  const close = { type: 'close', tag: 'response' };

  it('streams its text while its input comes', () => {
    const parser = createToolsParser();
    expect(parser.push(`${openFrame('c', 'respond')}{"te`)).toEqual([]);
    expect(parser.push('xt": "Hel')).toEqual([open(true), delta('Hel')]);
    expect(parser.push('lo\\')).toEqual([delta('lo')]);
    expect(parser.push('n\\ud83d')).toEqual([delta('\n')]);
    expect(parser.push('\\ude00"')).toEqual([delta('\ud83d\ude00')]);
    expect(parser.push('}\u001e\n')).toEqual([close]);
  });

  it.each([
    ['\\.\\d', '\\.\\d'],
    ["\\'\\`", "'`"],
    ['\\x41', 'A'],
    ['\\x4', '\\x4'],
    ['C:\\users\\u12', 'C:\\users\\u12'],
    ['\\u00\\u00e9', '\\u00é'],
  ])('reads the invalid escapes of %s as in a body, however it is cut', (written, text) => {
    const turn = frame('respond', `{"text": "${written}"}`);
    for (const size of [1, 2, 3, 5, turn.length])
      expect(hear('tools', turn, {}, [size]).events).toEqual([open(true), delta(text), close]);
  });

  it('is final unless it says otherwise, before its text or behind it', () => {
    expect(events(frame('respond', { text: 'x' }))).toEqual([open(true), delta('x'), close]);
    expect(events(frame('respond', { final: false, text: 'x' }))).toEqual([open(false), delta('x'), close]);
    expect(events(frame('respond', { text: 'x', final: false }))).toEqual([
      open(true),
      delta('x'),
      { ...close, final: false },
    ]);
    expect(codes(events(frame('respond', { text: 'x', final: 'maybe' })))).toEqual([
      'open',
      'delta',
      'bad_attribute',
      'close',
    ]);
  });

  it('with an output says it as JSON, behind the text, which is then not final', () => {
    expect(events(frame('respond', { text: 'There.', output: { a: [1] } }))).toEqual([
      open(true),
      delta('There.'),
      { ...close, final: false },
      open(true),
      delta('{"a":[1]}'),
      close,
    ]);
  });

  it('that cannot be read, or says nothing, is no response', () => {
    expect(codes(events(frame('respond', {})))).toEqual(['bad_action']);
    expect(codes(events(frame('respond', '{"text":"half')))).toEqual(['open', 'delta', 'bad_json', 'close']);
    expect(events(frame('respond', '{"text":"half')).at(-1)).toEqual({ ...close, truncated: true });
  });

  it('streams out of a fence as well, and past comments', () => {
    const written = '```json\n{ // what I "say" {\n"final": false, /* so */ "text": "fenced"}\n```';
    expect(events(frame('respond', written))).toEqual([open(false), delta('fenced'), close]);
  });
});
