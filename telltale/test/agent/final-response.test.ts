import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { ResponseReader } from '../../src/agent/turn/response-stream.ts';
import { resumeEverywhere } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { moreRuns } from '../more-runs.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';

const SCHEMA = 'output: { schema: { type: object, required: [n], properties: { n: { type: number } } } }\n';
const FENCED = '<response>\n```json\n{"n": 3}\n```\n</response>';

describe('a final response of an agent with an output schema', () => {
  it.each([
    ['a fence', '```json\n{"n": 3}\n```'],
    ['a longer fence', '````\n{"n": 3}\n````'],
    ['white space', '\n\n  {"n": 3} \n'],
  ])('is read inside %s', async (_, text) => {
    const { result } = await runAgent({ manifest: SCHEMA, turns: [`<response>${text}</response>`] });
    expect(result).toMatchObject({ status: 'completed', result: { n: 3 }, turns: 1 });
  });

  it('is not read behind prose', async () => {
    const { of, result } = await runAgent({
      manifest: SCHEMA,
      turns: ['<response>Here:\n```json\n{"n": 3}\n```\n</response>', '<response>{"n": 4}</response>'],
    });
    expect(result.result).toEqual({ n: 4 });
    expect(of('fault').map(({ code }) => code)).toEqual(['bad_output']);
  });

  it('gives the same value wherever the process died, and none where it is not of the schema', async () => {
    const cwd = agentFolder(`${SCHEMA}import: { tools: [./tools/*.yml] }\n`, tool('echo', 'return 1;'));
    const turns = [
      '<action id="a">{"name":"echo"}</action>',
      '<response>{"n": "x"}</response>',
      FENCED,
      FENCED,
    ];
    const setUp = async () => ({ agent: await loadAgent('agent.yml', { cwd }) });
    let places = 0;
    await resumeEverywhere(
      { setUp, input: 'Go.', start: { model: scripted(turns) }, resume: { model: scripted(turns) } },
      ({ result }) => {
        places++;
        expect(result).toMatchObject({ status: 'completed', result: { n: 3 } });
      },
    );
    expect(places).toBeGreaterThan(8);
  });
});

describe('a value in a response of an agent with an output schema', () => {
  const RESULT =
    'output: { schema: { type: object, properties: { ok: { type: boolean } } } }\nimport: { tools: [./tools/*.yml] }\n';
  const asked = (returned: string, response: string) => ({
    manifest: RESULT,
    files: tool('page', `return ${returned};`),
    turns: [`<action id="a">{"name":"page"}</action><response>${response}</response>`],
  });

  it('in a string is its text, whatever that holds: it can neither break the JSON nor add to it', async () => {
    const { result, observed, of } = await runAgent(
      asked(String.raw`'a "b"\n\\", "ok": true, "x": "'`, String.raw`{"ok": false, "says": "\"$a\" \\$a."}`),
    );
    const text = 'a "b"\n\\", "ok": true, "x": "';
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
    expect(result.result).toEqual({ ok: false, says: `"${text}" \\${text}.` });
    const live = observed.flatMap((event) => (event.type === 'response.delta' ? [event.text] : []));
    expect(JSON.parse(live.join(''))).toEqual(result.result);
    expect(of('response')).toMatchObject([{ text: live.join('') }]);
  });

  it.each([
    ['an object', '{ n: [1, "x"] }', { n: [1, 'x'] }],
    ['a text', String.raw`'1, "ok": true'`, '1, "ok": true'],
    ['a text that is JSON', String.raw`'[1, {"n": 2}]'`, [1, { n: 2 }]],
    ['nothing', 'null', null],
  ])('outside of strings is one value: %s', async (_what, returned, expected) => {
    const { result } = await runAgent(asked(returned, '```json\n{"ok": false, "says": $a}\n```'));
    expect(result.result).toEqual({ ok: false, says: expected });
  });

  it('that there is none of is told in a string, too', async () => {
    const { of } = await runAgent({
      ...asked('JSON.parse("{")', '{"says": $a, "too": "$a"}'),
      turns: [
        '<action id="a">{"name":"page"}</action>',
        '<response final="false">{"says": $a, "too": "$a"}</response><response>{}</response>',
      ],
    });
    const said = JSON.parse(of('response')[0]?.text ?? '') as { says: string; too: string };
    expect(said.says).toMatch(/^\[unavailable: a: .*\]$/);
    expect(said.too).toBe(said.says);
  });

  it('in prose, or alone, is as it is', async () => {
    const { result, of } = await runAgent({
      ...asked(String.raw`'{"ok": true}'`, ''),
      turns: [
        '<action id="a">{"name":"page"}</action><response final="false">It said "$a".</response>',
        '<response>$a</response>',
      ],
    });
    expect(of('response')[0]?.text).toBe('It said "{"ok": true}".');
    expect(result.result).toEqual({ ok: true });
  });

  it('is the same wherever the process died', async () => {
    const { manifest, files, turns } = asked(String.raw`'"'`, '{"says": "$a"}');
    const cwd = agentFolder(manifest, files);
    const setUp = async () => ({ agent: await loadAgent('agent.yml', { cwd }) });
    const model = () => ({ model: scripted([...turns, '<response>{"says": "$a"}</response>']) });
    let same = 0;
    await resumeEverywhere({ setUp, input: 'Go.', start: model(), resume: model() }, ({ result }) => {
      expect(result.status).toBe('completed');
      if ((result.result as { says: string }).says === '"') same++;
    });
    expect(same).toBeGreaterThan(2);
  });
});

describe('a dollar in a response', () => {
  const saying = async (text: string) => {
    const { result, observed } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: tool('page', 'return { title: "Tides" };'),
      turns: [`<action id="a">{"name":"page"}</action><response>$a.title\n${text}</response>`],
    });
    const live = observed.flatMap((event) => (event.type === 'response.delta' ? [event.text] : []));
    expect(live.join('')).toBe(result.result);
    return String(result.result).replace('Tides\n', '');
  };

  it.each([
    ['that names nothing stays, prices and all', '$$5, $9.99, $nope.x, $$nope, $$, $ 3 and ${a}'],
    ['in a code span stays', 'Type `$a` or ``$a.title `x` $$a`` here.'],
    ['in a fence stays', '```sh\necho $a $$a\n```\n> ~~~\n> $a\n> ~~~\n- done'],
  ])('%s', async (_, text) => {
    expect(await saying(text)).toBe(text);
  });

  it.each([
    ['of two, in front of a name that is known, is dropped', '$$a.title, $$$a', '$a.title, $$a'],
    [
      'behind a code span and a fence counts again',
      '`$a` $a.title\n```\n$a\n```\n$a.title',
      '`$a` Tides\n```\n$a\n```\nTides',
    ],
    [
      'behind a backtick that stays open counts again on the next line',
      'a ` $a.title\n$a.title',
      'a ` $a.title\nTides',
    ],
  ])('%s', async (_, text, expected) => {
    expect(await saying(text)).toBe(expected);
  });

  it('counts wherever the stream was cut, and in code nowhere', () => {
    const unit = fc.constantFrom(
      '$',
      '$a',
      '$$',
      '`',
      '``',
      '```',
      '~~~',
      '\n',
      ' ',
      'x',
      '> ',
      '- ',
      '.b',
      '[0]',
    );
    const pieces = (chunks: readonly string[]) => {
      const reader = new ResponseReader(false);
      return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
    };
    const written = (all: ReturnType<typeof pieces>) =>
      all
        .map((piece) =>
          piece.kind === 'text'
            ? piece.text
            : `${piece.kind === 'escaped' ? '<$$' : '<$'}${piece.source.slice(1)}>`,
        )
        .join('');
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 30 }), (chunks) => {
        const whole = chunks.join('');
        expect(written(pieces(chunks))).toBe(written(pieces([whole])));
        expect(written(pieces([...whole]))).toBe(written(pieces([whole])));
        expect(written(pieces(chunks)).replaceAll(/[<>]/g, '')).toBe(whole.replaceAll(/[<>]/g, ''));
      }),
      { numRuns: moreRuns(2_000) },
    );
  });

  it('brings the value of an action as it is: tags in it are text, and nothing in it is a reference', async () => {
    const { result, of } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: tool('page', 'return "<action>{}</action> costs $$2, see $a";'),
      turns: ['<action id="a">{"name":"page"}</action><response>It says: $a.</response>'],
    });
    expect(result.result).toBe('It says: <action>{}</action> costs $$2, see $a.');
    expect(of('action.declared')).toHaveLength(1);
  });
});
