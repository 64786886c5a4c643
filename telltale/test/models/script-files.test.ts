import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { Model } from '../../src/models/model.ts';
import { openModel } from '../../src/models/open-model.ts';
import { ask } from './collect.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'telltale-scripts-'));
});

const open = (ref: string): Promise<Model> => openModel(ref, { env: {}, folder, clock: createSystemClock() });

async function openText(text: string | Uint8Array): Promise<Model> {
  await writeFile(join(folder, 'x.yml'), text);
  return open('scripted:x.yml');
}

/** What is wrong with it, in two lines. */
async function wrong(text: string | Uint8Array): Promise<string> {
  const thrown = await openText(text).then(
    () => ({ code: 'none', message: 'It could be read.', hint: '' }),
    (error: unknown) => error as { code: string; message: string; hint?: string },
  );
  return `${thrown.code} ${thrown.message}\n${thrown.hint}`;
}

async function said(model: Model, turn: number): Promise<string> {
  const { deltas, end } = ask(model, { turn });
  await end;
  return deltas.join('');
}

describe('a scripted file', () => {
  it('is a list of texts', async () => {
    const model = await openText(
      'turns:\n  - |\n    Hello.\n    <think>a</think>\n  - Second.\n  - "third\\n"\n',
    );
    expect([await said(model, 1), await said(model, 2), await said(model, 3)]).toEqual([
      'Hello.\n<think>a</think>\n',
      'Second.',
      'third\n',
    ]);
    expect(model.id).toBe('scripted:x.yml');
  });

  it('is read anew from the turn that is asked for: a restart goes on where it was', async () => {
    const text = 'turns: [one, two, three]\n';
    expect(await said(await openText(text), 1)).toBe('one');
    expect(await said(await openText(text), 3)).toBe('three');
  });

  it('leaves what looks like a variable to the model', async () => {
    const model = await openText('turns:\n  - "run ${HOME} $${x} ${actions.a.output} $id"\n');
    expect(await said(model, 1)).toBe('run ${HOME} $${x} ${actions.a.output} $id');
  });

  it('a turn can have all that a script in memory can', async () => {
    const model = await openText(`
tokens_per_second: 1000000
chunk: 2
context_window: 8000
loop: true
turns:
  - text: abcdef
    reasoning: hm
    chunk: 3
    tokens_per_second: 100000
    delay: 1ms
    expect: [hello, { contains: ell }, { not_contains: xyz }]
    finish: length
    usage: { input: 12, output: 3, cached: 4 }
  - { text: abcdef, fail_after: 5, fail_with: model_overloaded }
`);
    expect(model.contextWindow).toBe(8000);
    const first = ask(model, { turn: 3 });
    expect(await first.end).toEqual({ finish: 'length', usage: { input: 12, output: 3, cached: 4 } });
    expect([first.reasoning, first.deltas]).toEqual([['hm'], ['abc', 'def']]);
    const second = ask(model, { turn: 2 });
    expect(await second.error).toMatchObject({ code: 'model_overloaded' });
    expect(second.deltas).toEqual(['ab', 'cd', 'e']);
  });

  it('an expectation that is not met names the file and the line of its turn', async () => {
    const model = await openText('turns:\n  - one\n  - text: two\n    expect: [goodbye]\n');
    expect(await ask(model, { turn: 2 }).error).toMatchObject({
      code: 'script_expectation',
      message:
        'The script\'s turn 2 (x.yml:3) expects "goodbye" in the last message of the user, which is: "hello".',
    });
  });

  it('past its end it is named with the number of its turns', async () => {
    const model = await openText('turns: [one]\n');
    expect(await ask(model, { turn: 2 }).error).toMatchObject({
      code: 'script_ended',
      message: 'The script x.yml has 1 turn, but the session needs turn 2.',
    });
  });
});

describe('a mistake in a scripted file', () => {
  it('names the file, the line, the column and the nearest key', async () => {
    expect(await wrong('turns:\n  - one\n  - txt: two\n')).toBe(
      'script_invalid x.yml:3:5: Unknown key "txt" in a turn.\nDid you mean "text"? Allowed here: text, say, reasoning, tokens_per_second, chunk, delay, expect, fail_after, fail_with, finish, …',
    );
    expect(await wrong('turn:\n  - one\n')).toContain(
      'x.yml:1:1: Unknown key "turn" in a script.\nDid you mean "turns"?',
    );
  });

  it('a key in the wrong place is told where it stands', async () => {
    expect(await wrong('turns: [a]\nfail_after: 3\n')).toBe(
      'script_invalid x.yml:2:1: Unknown key "fail_after" in a script.\nPut it into a turn.',
    );
  });

  it.each([
    ['turns: []\n', 'x.yml:1:8: "turns" cannot be an empty list.\nWrite a list of one turn or more.'],
    ['turns: abc\n', 'x.yml:1:8: "turns" cannot be "abc".\nWrite a list of one turn or more.'],
    ['chunk: 4\n', 'x.yml:1:1: A script needs "turns".\nWhat the model says, turn by turn.'],
    [
      'turns: [a, 42]\n',
      'x.yml:1:12: A turn has to be text or a map, but is 42.\nPut text that looks like a number in quotes.',
    ],
    ['turns: [a]\nchunk: 0\n', 'x.yml:2:8: "chunk" cannot be 0.\nWrite a whole number of one or more.'],
    [
      'turns: [a]\ntokens_per_second: 0\n',
      'x.yml:2:20: "tokens_per_second" cannot be 0.\nWrite a number above zero.',
    ],
    ['turns: [{ text: a, delay: soon }]\n', 'x.yml:1:27: '],
    [
      'turns: [{ text: a, fail_after: -1 }]\n',
      '"fail_after" cannot be -1.\nWrite a whole number of zero or more.',
    ],
    ['turns: [{ text: a, fail_with: model_timeout }]\n', '"fail_with" also needs "fail_after".'],
    ['turns: [{ text: a, fail_after: 1, fail_with: timeout }]\n', 'cannot be "timeout".'],
    [
      'turns: [{ text: a, expect: [{ matches: x }] }]\n',
      'Patterns are not supported here. Use "contains" or "not_contains".',
    ],
    ['turns: [{ text: a, expect: [{}] }]\n', 'An expectation needs "contains" or "not_contains".'],
    ['turns: [{ text: a, expect: [""] }]\n', 'Write text that is not empty.'],
    ['turns: [{ text: a, usage: { input: 1 } }]\n', '"usage" needs "output".'],
    ['', 'x.yml:1:1: The script is empty.'],
    ['# later\n', 'x.yml:1:1: The script is empty.'],
    ['turns: [a]\n---\nturns: [b]\n', 'x.yml:2:1: A script is one document, but a second one begins here.'],
    ['turns: [a\n', 'x.yml:'],
    ['turns: ["a\u0001"]\n', 'U+0001'],
  ])('%j', async (text, expected) => {
    const found = await wrong(text);
    expect(found).toMatch(/^script_invalid /);
    expect(found).toContain(expected);
  });

  it('several are counted behind the first', async () => {
    expect(
      await wrong('turns:\n  - { text: a, chnk: 1 }\n  - { text: b, finsh: stop }\nlop: true\n'),
    ).toMatch(/2 more mistakes in this file\.$/);
  });

  it('a file that is not there is told with the nearest name, and where it was looked for', async () => {
    await writeFile(join(folder, 'coding.yml'), 'turns: [a]\n');
    await expect(open('scripted:./codng.yml')).rejects.toMatchObject({
      code: 'file_missing',
      message: 'There is no file "./codng.yml".',
      hint: `Did you mean "./coding.yml"? Paths are relative to the folder of the agent's manifest: ${folder}.`,
    });
    await expect(open('scripted:.')).rejects.toMatchObject({ code: 'not_a_file' });
  });

  it('bytes that are no text are refused', async () => {
    expect(await wrong(new Uint8Array([0xff, 0xff]))).toContain(
      'script_invalid x.yml:1:1: The byte 0xff is not UTF-8.',
    );
  });
});

describe('a reference to a model', () => {
  it.each(['', 'claude', 'scripted:', '/x'])('%j names none', async (ref) => {
    await expect(open(ref)).rejects.toMatchObject({ code: 'model_unknown' });
  });
});
