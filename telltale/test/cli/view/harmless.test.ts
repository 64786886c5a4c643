import { describe, expect, it } from 'vitest';
import { harmlessLine, harmlessLines, spelledOut } from '../../../src/cli/view/harmless.ts';
import { jsonText } from '../../../src/cli/view/json-text.ts';
import { brief, briefFields } from '../../../src/cli/view/text-width.ts';

const ESC = '\u001b';
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

describe('text of a model or a tool', () => {
  it('loses its colors, titles and links', () => {
    expect(harmlessLine(`${ESC}[1;31mred${ESC}[0m ${ESC}]0;title\u0007here`)).toBe('red here');
    expect(harmlessLine(`${ESC}]8;;http://x${ESC}\\link${ESC}]8;;${ESC}\\`)).toBe('link');
    expect(harmlessLine('\u009b2Jgone')).toBe('gone');
  });

  it('cannot steer a terminal with half a sequence either', () => {
    for (const hostile of [
      `${ESC}[`,
      `${ESC}]0;never ended`,
      `a\u0007b\bc`,
      '\u202eabc',
      `${ESC}c`,
      `x${ESC}[2`,
    ])
      expect(harmlessLines(hostile).join('\n')).not.toMatch(STEERING);
  });

  it('keeps its lines, however they end', () => {
    expect(harmlessLines('a\r\nb\rc\n\td')).toEqual(['a', 'b', 'c', '  d']);
  });

  it('is read in linear time', () => {
    // Quadratic, this would be minutes: the test would run out of its time.
    for (const hostile of [`${ESC}]`, `${ESC}[`, `${ESC}[1;`, `${ESC}]a${ESC}`])
      expect(harmlessLine(hostile.repeat(200_000))).not.toMatch(STEERING);
  });

  it('is spelt out where a person has to judge it', () => {
    expect(spelledOut(`rm \u202e-rf${ESC}[8m /\nls\u00a0-l`)).toBe(
      'rm \\u{202E}-rf\\u{001B}[8m /\nls\u00a0-l',
    );
    expect(spelledOut('\ufffd')).toBe('\ufffd');
  });
});

describe('a brief value', () => {
  it('is text as it is and JSON otherwise', () => {
    expect(brief('two\nlines', 40)).toBe('two lines');
    expect(brief({ a: [1, null, 'x'], b: true }, 40)).toBe('{"a":[1,null,"x"],"b":true}');
    expect(brief([], 40)).toBe('[]');
  });

  it('of a huge value is short, and costs little', () => {
    const deep = Array.from({ length: 200_000 }).reduce<unknown>((inner) => [inner], 'x') as string;
    expect(brief(deep, 20)).toHaveLength(20);
    expect(brief('x'.repeat(10_000_000), 20)).toBe(`${'x'.repeat(19)}…`);
    expect(brief(`${' '.repeat(1000)}x`, 20)).toBe('…');
  });

  it('names fields, and quotes what has blanks', () => {
    expect(briefFields({ path: 'src/x.ts', text: 'a b', n: 1 }, 60)).toBe('path=src/x.ts text="a b" n=1');
  });
});

describe('JSON for a terminal', () => {
  it('holds no character that a terminal obeys, and is the same to a parser', () => {
    const value = { text: `${ESC}[31m\u009b2J\u202e\u2028\u007f` };
    const text = jsonText(value);
    expect(text.trimEnd()).toMatch(/^[ -~]*$/);
    expect(JSON.parse(text)).toEqual(value);
  });
});
