import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { recordedIo } from './recorded-io.ts';

const INPUT =
  'Go 😀.\n<thought>\nI look.\n</thought><action id="x">{"name": "ls"}</action>\n<response>Done.</response>';
const LINES = [
  '{"type":"text","text":"Go 😀.\\n"}',
  '{"type":"open","tag":"thought","depth":0}',
  '{"type":"delta","tag":"thought","text":"I look."}',
  '{"type":"close","tag":"thought"}',
  '{"type":"action","id":"x","kind":"tool","mode":"async","name":"ls","parameters":{}}',
  '{"type":"open","tag":"response","depth":0,"final":true}',
  '{"type":"delta","tag":"response","text":"Done."}',
  '{"type":"close","tag":"response"}',
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'telltale-parse-'));
  writeFileSync(join(folder, 'turn.txt'), INPUT);
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = async (argv: readonly string[], stdin: string | Uint8Array = '') => {
  const io = recordedIo({ cwd: folder, stdin });
  const code = await main(['parse', ...argv], io);
  return { code, out: io.out(), err: io.err() };
};

describe('telltale parse', () => {
  it('prints one event a line, fields always in the same order', async () => {
    expect(await run(['turn.txt'])).toEqual({ code: 0, out: `${LINES.join('\n')}\n`, err: '' });
  });

  it('reads standard input without a file and with "-"', async () => {
    expect((await run([], INPUT)).out).toBe(`${LINES.join('\n')}\n`);
    expect((await run(['-'], INPUT)).out).toBe(`${LINES.join('\n')}\n`);
  });

  it('shows with --chunk what each push makes certain', async () => {
    const { out } = await run(['--chunk', '2', 'turn.txt']);
    const deltas = out.split('\n').filter((line) => line.includes('"tag":"thought","text"'));
    expect(deltas.length).toBeGreaterThan(2);
    expect(deltas.map((line) => JSON.parse(line).text).join('')).toBe('I look.');
    const rest = (text: string) => text.split('\n').filter((line) => !line.includes('"text":'));
    expect(rest(out)).toEqual(rest(`${LINES.join('\n')}\n`));
  });

  it('reads all of it with --chunk, however that divides', async () => {
    const text = (out: string) =>
      out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).text as string)
        .join('');
    for (const size of ['1', '3', '4', '7', '100'])
      expect(text((await run(['--chunk', size], 'seven 7')).out)).toBe('seven 7');
  });

  it('says what was left open at the end', async () => {
    expect(
      (await run([], '<thought>half')).out.split('\n').map((line) => line && JSON.parse(line).type),
    ).toEqual(['open', 'delta', 'fault', 'close', '']);
    expect((await run([], '<action>{"name"')).out).toContain('"code":"truncated"');
  });

  it('prints text that is read in several pieces as one event, with no character cut in two', async () => {
    const text = `a${'é😀'.repeat(20_000)}`;
    writeFileSync(join(folder, 'long.txt'), text);
    const { out } = await run(['long.txt']);
    expect(JSON.parse(out)).toEqual({ type: 'text', text });
  });

  it('takes the options of the parser', async () => {
    const { out } = await run(['--options', '{"max_body": "4B"}', '-'], '<action>{"name": "ls"}</action>');
    expect(out).toContain('"body_too_large"');
    const sealed = await run(
      ['--options', '{"key": "k", "ids": ["a1"]}'],
      '<action key="k">{"name": "ls"}</action>',
    );
    expect(sealed.out).toContain('"id":"a2"');
    const outside = await run(
      ['--options', '{"actions_in": ["outside"]}'],
      '<thought><action>{"name": "ls"}</action>',
    );
    expect(outside.out).toContain('"not_here"');
  });

  it('reads what is no UTF-8 without failing', async () => {
    const { code, out } = await run(['-'], Uint8Array.from([104, 0xff, 105]));
    expect({ code, out }).toEqual({ code: 0, out: '{"type":"text","text":"h\ufffdi"}\n' });
  });

  it('prints nothing for nothing', async () => {
    expect(await run([], '')).toEqual({ code: 0, out: '', err: '' });
  });

  it('ends with 1 where a file is there and cannot be read', async () => {
    const { code, out, err } = await run(['turn.txt/x']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain("'turn.txt/x' cannot be read (ENOTDIR).");
    expect(err).toContain('Check that the file exists and that you may read it.');
  });

  it.each([
    [['nope.txt'], "There is no file 'nope.txt'."],
    [['.'], "'.' is a folder."],
    [['--chunk', '1.5', 'turn.txt'], "--chunk '1.5' is not a whole number above 0."],
    [['--chunk', '0', 'turn.txt'], "--chunk '0' is not a whole number above 0."],
    [['--chunk', '-1', 'turn.txt'], "--chunk '-1' is not a whole number above 0."],
    [['--chunk', 'x', 'turn.txt'], "--chunk 'x' is not a whole number above 0."],
    [['--options', 'null', 'turn.txt'], '--options is not a JSON object.'],
    [['--options', '7', 'turn.txt'], '--options is not a JSON object.'],
    [['--options', '{"max_body": "1 pound"}', 'turn.txt'], 'Write it like'],
    [['--options', '{', 'turn.txt'], '--options is not JSON'],
    [['--options', '[]', 'turn.txt'], '--options is not a JSON object.'],
    [['--options', '{"max_bdy": 1}', 'turn.txt'], 'Did you mean "max_body"?'],
    [
      ['--options', '{"max_body": true}', 'turn.txt'],
      '"max_body" in --options must be a number of characters.',
    ],
    [['--options', '{"max_body": "1 pound"}', 'turn.txt'], 'unknown unit "pound"'],
    [['--options', '{"actions_in": ["outsid"]}', 'turn.txt'], 'Did you mean "outside"?'],
    [['--options', '{"ids": "a1"}', 'turn.txt'], '"ids" in --options must be a list of strings.'],
    [['--options', '{"key": ""}', 'turn.txt'], '"key" in --options is empty.'],
    [['--options', '{"key": 7}', 'turn.txt'], '"key" in --options must be a string.'],
  ])('ends with 2 and says what is wrong: %j', async (argv, message) => {
    const { code, out, err } = await run(argv);
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(message);
  });
});
