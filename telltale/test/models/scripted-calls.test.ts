import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { frameOf, openFrame, readTurnParts } from '../../src/lib/calls.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { Model, ModelMessage } from '../../src/models/model.ts';
import { openModel } from '../../src/models/open-model.ts';
import type { ScriptTurn } from '../../src/models/scripted/script.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { ask } from './collect.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'telltale-calls-'));
});

const open = (file: string): Promise<Model> =>
  openModel(`scripted:${file}`, { env: {}, folder, clock: createSystemClock() });

async function openText(text: string): Promise<Model> {
  await writeFile(join(folder, 'x.yml'), text);
  return open('x.yml');
}

/** What is wrong with it, in two lines. */
async function wrong(text: string): Promise<string> {
  const thrown = await openText(text).then(
    () => ({ code: 'none', message: 'It could be read.', hint: '' }),
    (error: unknown) => error as { code: string; message: string; hint?: string },
  );
  return `${thrown.code} ${thrown.message}\n${thrown.hint}`;
}

async function said(model: Model, turn = 1): Promise<string> {
  const { deltas, end } = ask(model, { turn });
  await end;
  return deltas.join('');
}

const LOOK_UP = `
turns:
  - say:
      - I look it up.
      - call: search
        input: { query: x, _run: { id: found, mode: async } }
      - call: respond
        id: mine
        input: { text: done }
  - say: [{ call: finish }]
`;

describe('a scripted turn in parts', () => {
  it('says its prose and its calls as frames, in order, with nothing in between', async () => {
    const model = await openText(LOOK_UP);
    expect(await said(model)).toBe(
      'I look it up.' +
        frameOf({
          id: 'call_1_1',
          name: 'search',
          input: '{"query":"x","_run":{"id":"found","mode":"async"}}',
        }) +
        frameOf({ id: 'mine', name: 'respond', input: '{"text":"done"}' }),
    );
  });

  it('numbers calls by the turn of the session, so that a loop repeats no id', async () => {
    const model = await openText(`loop: true\n${LOOK_UP}`);
    const ids = async (turn: number) =>
      readTurnParts(await said(model, turn)).flatMap((part) => (part.type === 'call' ? [part.id] : []));
    expect(await ids(2)).toEqual(['call_2_1']);
    expect(await ids(4)).toEqual(['call_4_1']);
    expect(await ids(3)).toEqual(['call_3_1', 'mine']);
  });

  it('a call without input has an empty one; text is streamed as it is', async () => {
    const model = await openText(`
turns:
  - say:
      - call: a
      - { call: b, input: '{"cut": "of' }
      - { call: c, input: "" }
      - { call: d, input: {}, meta: { google: { thoughtSignature: abc } } }
`);
    expect(readTurnParts(await said(model))).toEqual([
      { type: 'call', id: 'call_1_1', name: 'a', input: '{}' },
      { type: 'call', id: 'call_1_2', name: 'b', input: '{"cut": "of' },
      { type: 'call', id: 'call_1_3', name: 'c', input: '' },
      {
        type: 'call',
        id: 'call_1_4',
        name: 'd',
        input: '{}',
        meta: { google: { thoughtSignature: 'abc' } },
      },
    ]);
  });

  it('a call that is cut leaves its frame open', async () => {
    const model = await openText('turns: [{ say: [{ call: a, input: "{\\"x", cut: true }] }]\n');
    expect(await said(model)).toBe(`${openFrame('call_1_1', 'a')}{"x`);
  });

  it('a mark in prose or input begins no frame', async () => {
    const model = await openText('turns: [{ say: ["a\\u001eb", { call: c, input: "\\u001e" }] }]\n');
    expect(readTurnParts(await said(model))).toEqual([
      { type: 'text', text: 'a\ufffdb' },
      { type: 'call', id: 'call_1_1', name: 'c', input: '\ufffd' },
    ]);
  });

  it('goes on, breaks off and keeps its pace by the characters of that text', async () => {
    const turn: ScriptTurn = { say: ['ab', { call: 'c', input: { d: 1 } }] };
    const text = await said(createScriptedModel({ turns: [turn] }));
    const on = ask(createScriptedModel({ turns: [turn], chunk: 7 }), { said: 1 });
    await on.end;
    expect(on.deltas.join('')).toBe(text.slice(1));
    expect(on.deltas[0]).toHaveLength(7);
    const broken = ask(createScriptedModel({ turns: [{ ...turn, failAfter: text.length - 3 }] }));
    expect(await broken.error).toMatchObject({ code: 'model_broke_off' });
    expect(broken.deltas.join('')).toBe(text.slice(0, -3));
    const clock = createSimulatedClock();
    const paced = ask(createScriptedModel({ turns: [turn], tokensPerSecond: 1, clock }));
    await clock.advance(2000);
    expect(paced.deltas.join('')).toBe(text.slice(0, 8));
    paced.abort();
    await paced.error;
  });
});

describe('a scripted turn that goes on after a restart', () => {
  const rest = async (turn: ScriptTurn, ...saidParts: readonly number[]) => {
    const said = saidParts.reduce((sum, part) => sum + part, 0);
    const asked = ask(createScriptedModel({ turns: [turn] }), { said, saidParts });
    await asked.end;
    return asked.deltas.join('');
  };

  it('makes a call that broke off again, from its beginning', async () => {
    const turn: ScriptTurn = { say: ['ab', { call: 'c', input: { d: 1 } }, { call: 'e' }] };
    const text = await said(createScriptedModel({ turns: [turn] }));
    const second = text.indexOf(openFrame('call_1_2', 'e'));
    for (let cut = 3; cut < second; cut++) expect(await rest(turn, cut)).toBe(text.slice(2));
    expect(await rest(turn, second)).toBe(text.slice(second));
    for (let cut = second + 1; cut < text.length; cut++)
      for (const failAfter of [cut + 1, text.length]) {
        const asked = ask(createScriptedModel({ turns: [{ ...turn, failAfter }] }), { said: cut });
        await asked.error;
        expect(asked.deltas.join('')).toBe(text.slice(second, failAfter));
      }
  });

  it('says in a new step what had not been acted on, however often it breaks off', async () => {
    const calls = [{ name: 'a' }, { name: 'b', input: { text: '"]}' } }, { name: 'c' }];
    const end = { notes: 'n', is_complete: true, response: 'Done.' };
    const turn: ScriptTurn = {
      say: [{ call: 'step', input: { thought: 'A "b".', metadata: { s: 1 }, tool_calls: calls, ...end } }],
    };
    const text = await said(createScriptedModel({ turns: [turn] }));
    const stepIn = (frames: string) =>
      readTurnParts(frames).map((part) => (part.type === 'call' ? JSON.parse(part.input) : part));
    const behind = (written: string) => text.indexOf(written) + written.length;
    expect(stepIn(await rest(turn, behind('"A \\"b\\".')))).toEqual(stepIn(text));
    expect(stepIn(await rest(turn, behind('"A \\"b\\"."')))).toEqual([
      { metadata: { s: 1 }, tool_calls: calls, ...end },
    ]);
    const first = behind('{"name":"a"}');
    const anew = await rest(turn, first);
    expect(stepIn(anew)).toEqual([{ tool_calls: calls.slice(1), ...end }]);
    const second = anew.indexOf(',{"name":"c"');
    expect(stepIn(await rest(turn, first, second))).toEqual([{ tool_calls: calls.slice(2), ...end }]);
    expect(stepIn(await rest(turn, text.length - 2))).toEqual([end]);
  });
});

describe('a mistake in the parts of a scripted turn', () => {
  it.each([
    [
      'turns:\n  - text: a\n    say: [b]\n',
      'x.yml:3:5: "text" and "say" cannot be used together in a turn.\nUse only one of text or say.',
    ],
    ['turns:\n  - chunk: 3\n', 'x.yml:2:5: A turn needs "text" or "say".'],
    [
      'turns:\n  - say: []\n',
      'x.yml:2:10: "say" cannot be an empty list.\nWrite a list of one part or more.',
    ],
    ['turns:\n  - say: hello\n', 'x.yml:2:10: "say" cannot be "hello".\nWrite a list of one part or more.'],
    [
      'turns:\n  - say:\n      - 42\n',
      'x.yml:3:9: A part of what is said has to be text or a map, but is 42.\nPut text that looks like a number in quotes.',
    ],
    [
      'turns:\n  - call: search\n',
      'x.yml:2:5: Unknown key "call" in a turn.\nPut a call into "say": say: [{ call: … }].',
    ],
    [
      'turns:\n  - say:\n      - name: search\n',
      'x.yml:3:9: Unknown key "name" in a call.\nDid you mean "call"? Its value is the name of the tool.',
    ],
    [
      'turns:\n  - say:\n      - call: search\n        input: [1]\n',
      'x.yml:4:16: The input of a call has to be text or a map, but is a list of 1.\nWrite a map, or text, which is streamed as it is.',
    ],
    [
      'turns:\n  - say:\n      - call: search\n        inputs: { a: 1 }\n',
      'x.yml:4:9: Unknown key "inputs" in a call.\nDid you mean "input"?',
    ],
    [
      'turns:\n  - say:\n      - { call: a, id: same }\n      - { call: b, id: same }\n',
      'x.yml:4:24: Two calls of this turn have the id "same".\nGive each call its own id, or none. Then they are numbered.',
    ],
    [
      'turns:\n  - say:\n      - { call: a, cut: true }\n      - more\n',
      'x.yml:3:20: Only the last part of a turn can be cut.',
    ],
    [
      'turns:\n  - say:\n      - { call: a, cut: true, meta: {} }\n',
      'x.yml:3:31: "cut" and "meta" cannot be used together in a call.',
    ],
    ['turns:\n  - say:\n      - call: ""\n', 'x.yml:3:15: "call" cannot be "".'],
  ])('%j', async (text, expected) => {
    const found = await wrong(text);
    expect(found).toMatch(/^script_invalid /);
    expect(found).toContain(expected);
  });
});

describe('what a script expects of a prompt with native calls', () => {
  const model = createScriptedModel({
    turns: [{ text: 'x', expect: [{ contains: '42' }, { contains: 'go on' }], place: 'x.yml:2' }],
  });
  const messages = (answer: string): readonly ModelMessage[] => [
    { role: 'user', text: 'task' },
    { role: 'assistant', text: frameOf({ id: 'c', name: 'n', input: '{}' }) },
    { role: 'tool', text: answer, answers: [{ call: 'c', name: 'n', text: answer }] },
    { role: 'user', text: 'go on' },
  ];

  it("is looked for in the tools' answers and in the user's message behind them", async () => {
    expect(await ask(model, { messages: messages('it is 42') }).end).toEqual({ finish: 'stop' });
    expect(await ask(model, { messages: messages('nothing') }).error).toMatchObject({
      code: 'script_expectation',
      message:
        'The script\'s turn 1 (x.yml:2) expects "42" in what the model was told since it last spoke, which is: "nothing  go on".',
    });
  });

  it('is found in answers with no message of the user behind them', async () => {
    const { error } = ask(model, { messages: messages('it is 42').slice(0, 3) });
    expect(await error).toMatchObject({ message: expect.stringContaining('expects "go on"') });
  });
});
