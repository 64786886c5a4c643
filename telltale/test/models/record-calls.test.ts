import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  closeFrame,
  FRAME_BREAK,
  FRAME_MARK,
  frameOf,
  openFrame,
  readTurnParts,
} from '../../src/lib/calls.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { decodeSource } from '../../src/manifest/source-text.ts';
import type { Model } from '../../src/models/model.ts';
import { openModel } from '../../src/models/open-model.ts';
import { formatScript, recordToFile } from '../../src/models/record.ts';
import { readScript } from '../../src/models/scripted/load-script.ts';
import type { Script, ScriptCall, ScriptPart } from '../../src/models/scripted/script.ts';
import { turnText } from '../../src/models/scripted/script.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { moreRuns } from '../more-runs.ts';
import { ask } from './collect.ts';

/** From text to bytes and back, as a file would. */
function readBack(text: string): Script {
  const decoded = decodeSource('x.yml', new TextEncoder().encode(text));
  if (!decoded.ok) throw new Error(decoded.diagnostic.message);
  const read = readScript(decoded.source);
  if (!read.ok) throw new Error(`${read.diagnostics[0]?.message}\n${text}`);
  const { turns, ...rest } = read.script;
  return { ...rest, turns: turns.map(({ place: _place, ...turn }) => turn) };
}

const oddText = fc
  .array(
    fc.oneof(
      fc.constantFrom('\n', '\n\n', ' ', '\t', '\r\n', '#', '- ', ': ', '---', '|', '{', '}', '[', ',', '"'),
      fc.constantFrom(
        "'",
        '\\',
        '${HOME}',
        '<action>',
        '\ud800',
        '\udfff',
        '👍',
        '\u0000',
        '\u0085',
        '\u2028',
      ),
      fc.constantFrom('\ufeff', 'true', 'null', '~', '0x10', '1e3', '__proto__', '<<', '\u001f'),
      fc.string({ maxLength: 4 }),
    ),
    { maxLength: 6 },
  )
  .map((pieces) => pieces.join(''));

const key = fc.oneof(
  fc.constantFrom('query', '_run', 'true', 'null', '__proto__', 'constructor', '<<', '7', 'a b', ''),
  oddText,
);
const { object } = fc.letrec<{ value: Json; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    oddText,
    fc.constantFrom(null, true, false, 0, -0, 1e21, 1e-7, 2 ** 53, 2 ** 53 - 1, -1.5),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 3 })
    .map((entries) => JSON.parse(`{${entries.map(member).join(',')}}`) as JsonObject),
}));
const member = ([name, value]: readonly [string, Json]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`;

const input = fc.oneof(
  object.map((value) => JSON.stringify(value)),
  object.map((value) => JSON.stringify(value, null, 2)),
  object.chain((value) => {
    const text = JSON.stringify(value);
    return fc.nat(text.length).map((length) => text.slice(0, length));
  }),
  oddText,
);
const call = fc
  .record({ id: oddText, name: oddText, input, meta: object }, { requiredKeys: ['id', 'name', 'input'] })
  .map(frameOf);

/** What a file can hold as a map, since its reader refuses none of it. */
const plainObject = fc.dictionary(
  fc.stringMatching(/^[A-Za-z0-9 _-]{1,8}$/).filter((name) => name !== 'constructor'),
  fc.oneof(oddText, fc.integer(), fc.boolean(), fc.array(oddText, { maxLength: 2 })),
  { maxKeys: 3, noNullPrototype: true },
);

/** Prose, frames, and what nobody but a hostile provider would make of them. */
const anyTurn = fc
  .tuple(
    fc.array(fc.oneof(oddText, call, call), { maxLength: 4 }),
    fc.oneof(
      fc.constant(''),
      fc.tuple(oddText, oddText, input).map(([id, name, cut]) => openFrame(id, name) + cut),
      fc.constantFrom(
        FRAME_MARK,
        `${FRAME_MARK}{"id"`,
        `${FRAME_MARK}7${FRAME_BREAK}{}${FRAME_MARK}5${FRAME_BREAK}`,
      ),
    ),
  )
  .map(([parts, tail]) => parts.join('') + tail);

describe('a turn with native calls that is written down', () => {
  it('says exactly the same text when it is read back, whatever stands in it', () => {
    fc.assert(
      fc.property(fc.array(anyTurn, { minLength: 1, maxLength: 3 }), (texts) => {
        const written = formatScript({ turns: texts.map((text) => ({ text })) });
        expect(readBack(written).turns.map((turn, index) => turnText(turn, index + 1))).toEqual(texts);
      }),
      { numRuns: moreRuns(200) },
    );
  });

  it('in parts, is read back as the same parts', () => {
    const parts = fc.array(
      fc.oneof(
        oddText,
        fc.record<ScriptPart & object>(
          {
            call: oddText.filter((name) => name !== ''),
            input: plainObject,
            meta: plainObject,
          },
          { requiredKeys: ['call'] },
        ),
      ),
      { minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(parts, (say) => {
        expect(readBack(formatScript({ turns: [{ say }] })).turns).toEqual([{ say }]);
      }),
    );
  });

  it('holds calls as people would write them', () => {
    const text =
      'I look it up.\n' +
      frameOf({
        id: 'toolu_1',
        name: 'search',
        input: '{"query":"a: b","_run":{"id":"found"},"top":3,"of":[]}',
      }) +
      frameOf({
        id: 'toolu_2',
        name: 'my.tool',
        input: '{"query": "x"}',
        meta: { google: { thoughtSignature: 'ab=' } },
      }) +
      openFrame('toolu_3', 'respond') +
      '{"text": "do';
    expect(formatScript({ turns: [{ text, failAfter: text.length }] })).toBe(`turns:
  - say:
      - |
        I look it up.
      - call: search
        id: toolu_1
        input: { query: "a: b", _run: { id: "found" }, top: 3, of: [] }
      - call: "my.tool"
        id: toolu_2
        input: |-
          {"query": "x"}
        meta: { google: { thoughtSignature: "ab=" } }
      - call: respond
        id: toolu_3
        input: |-
          {"text": "do
        cut: true
    fail_after: ${text.length}
`);
  });

  it('stays one text where parts cannot say it', () => {
    const same = frameOf({ id: 'same', name: 'a', input: '{}' });
    const unsayable = [
      FRAME_MARK,
      `${FRAME_MARK}{"id":"x"`,
      same + same,
      frameOf({ id: '', name: 'a', input: '{}' }),
      frameOf({ id: 'x', name: '', input: '{}' }),
      `${openFrame('x', 'a')}{}${FRAME_MARK}{"meta":`,
      `${openFrame('x', 'a')}{}${FRAME_MARK}5${FRAME_BREAK}`,
    ];
    for (const text of unsayable) {
      const written = formatScript({ turns: [{ text }] });
      expect(written).toContain('  - text: "');
      expect(readBack(written).turns).toEqual([{ text }]);
    }
  });

  it('an input that is too large for a map stays text, and so do all that a file has no room for', () => {
    const large = { list: Array.from({ length: 300 }, () => 0) };
    const small = { list: Array.from({ length: 150 }, () => 0) };
    const frame = (value: Json) => frameOf({ id: 'x', name: 'a', input: JSON.stringify(value) });
    const texts = [frame(large), ...Array.from({ length: 400 }, () => frame(small))];
    const script = readBack(formatScript({ turns: texts.map((text) => ({ text })) }));
    expect(script.turns.map((turn) => turnText(turn, 1))).toEqual(texts);
    const kinds = script.turns.map(({ say = [] }) => typeof (say[0] as ScriptCall).input);
    expect(new Set(kinds)).toEqual(new Set(['string', 'object']));
    expect([kinds[0], kinds[1], kinds.at(-1)]).toEqual(['string', 'object', 'string']);
  });
});

describe('a recorded model that calls tools', () => {
  async function heard(model: Model, turns: number) {
    const all = [];
    for (let turn = 1; turn <= turns; turn++) {
      const { deltas, end } = ask(model, { turn });
      const outcome = await end.catch((error: { code: string }) => error.code);
      all.push({ text: deltas.join(''), outcome });
    }
    return all;
  }

  it('says the same again when its file is played, and when a session that goes on has written it anew', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'telltale-record-calls-'));
    const path = join(folder, 'session.yml');
    const clock = createSimulatedClock();
    const broken = `ab${openFrame('c', 'd')}{"e": 1}${closeFrame()}`;
    const model = createScriptedModel({
      turns: [
        { say: ['Hm.', { call: 'search', input: { query: 'x' } }, { call: 'respond', input: '{"text": ' }] },
        { text: broken, failAfter: broken.length - 4 },
        { say: [{ call: 'last', meta: { a: [1] } }], usage: { input: 1, output: 2 } },
      ],
    });
    const original = await heard(recordToFile(model, path, clock), 3);
    const replay = () => openModel(`scripted:${path}`, { env: {}, folder, clock: createSystemClock() });
    expect(await heard(await replay(), 3)).toEqual(original);
    expect(readTurnParts(original[1]?.text ?? '')).toEqual([
      { type: 'text', text: 'ab' },
      { type: 'broken', name: 'd' },
    ]);
    await ask(recordToFile(model, path, clock), { turn: 3 }).end;
    expect(await heard(await replay(), 3)).toEqual(original);
    expect((await readFile(path, 'utf8')).match(/say:/g)).toHaveLength(3);
  });
});
