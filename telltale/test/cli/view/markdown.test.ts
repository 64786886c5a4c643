import fc from 'fast-check';
import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import { createLiveScreen } from '../../../src/cli/view/live-screen.ts';
import { createPainter } from '../../../src/cli/view/plain-lines.ts';
import type { ObservedEvent } from '../../../src/log/event.ts';
import { displayWidth } from '../../../src/manifest/format-diagnostic.ts';
import { BEGAN, eventList, responseDelta, thoughtDelta, turnStarted } from '../event-list.ts';
import { createTerminal } from '../terminal.ts';

const COLORED = createColors(true);
const PLAIN = createColors(false);

/** What is left of an answer that came in these pieces, with its colors; and what stood there after each piece. */
function answered(pieces: readonly string[], { columns = 60, rows = 24, color = true } = {}) {
  const screen = createLiveScreen({
    paint: color ? COLORED : PLAIN,
    size: () => ({ columns, rows }),
    status: () => '[status]',
  });
  const terminal = createTerminal(columns, rows);
  const painter = createPainter();
  const done: string[] = [];
  const show = (event: ObservedEvent) => {
    screen.show(event);
    const frame = screen.frame(BEGAN);
    done.push(...frame.done);
    terminal.write(painter.paint(frame, columns));
    return terminal.lines();
  };
  show(eventList([[0, turnStarted]])[0]!);
  const after = pieces.map((piece) => show(responseDelta(piece)));
  const end = eventList([
    [0, turnStarted],
    [1, { type: 'response', text: pieces.join(''), final: true }],
  ])[1]!;
  show(end);
  done.push(...screen.finish(BEGAN));
  return { lines: done.filter((line) => line !== '').map((line) => line.slice(2)), after };
}
const shown = (text: string, options = {}) => answered([text], options).lines;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const bare = (lines: readonly string[]) => lines.map((line) => line.replace(/\u001b\[\d+m/g, ''));
const { bold, cyan, dim } = COLORED;

describe('an answer on a terminal', () => {
  it('is Markdown: headings, bold, code, lists, quotes, links and rules', () => {
    const text = [
      '# Title',
      '## Part',
      'Some **bold**, *soft* and `a*b*c` text with snake_case_names and 2 * 3 * 4.',
      '- one',
      '  - two',
      '1. three',
      '- [x] done',
      '> quoted',
      '[docs](https://x.dev/a)',
      '---',
    ].join('\n');
    expect(shown(text, { columns: 100 })).toEqual([
      bold(cyan('Title')),
      bold('Part'),
      `Some ${bold('bold')}, ${bold('soft')} and ${cyan('a*b*c')} text with snake_case_names and 2 * 3 * 4.`,
      '• one',
      '  • two',
      '1. three',
      '• ☑ done',
      `${dim('│')} quoted`,
      'docs (https://x.dev/a)',
      dim('─'.repeat(40)),
    ]);
  });

  it('is Markdown in a thought as well, and dim', () => {
    const text = 'A **bold** plan:\n- `one`';
    const whole = eventList([[0, { type: 'thought', text, depth: 0 }]]);
    const screen = createLiveScreen({
      paint: COLORED,
      size: () => ({ columns: 60, rows: 24 }),
      status: () => '[status]',
    });
    for (const event of [thoughtDelta(text), ...whole]) screen.show(event);
    expect(screen.finish(BEGAN)).toEqual([
      `  ${dim(`A ${bold('bold')} plan:`)}`,
      `  ${dim(`• ${cyan('one')}`)}`,
    ]);
  });

  it('goes on to the next row without a blank, where the text has none', () => {
    const long = '日'.repeat(200);
    const pieces = [long.slice(0, 150), long.slice(150)];
    // The terminal refuses a cursor that leaves the screen.
    expect(answered(pieces, { columns: 24, rows: 6 }).lines.join('')).toBe(long);
  });

  it('shows code as it is, and a table in columns that fit', () => {
    const code = 'See:\n```js\nconst a = "**b**";\n\n# no title\n```\nEnd.';
    expect(bare(shown(code))).toEqual(['See:', '  js', '  const a = "**b**";', '  # no title', 'End.']);
    const table = '| Name | Says |\n|---|:-:|\n| a | **hello** |\n| long name | x \\| y |\nEnd.';
    expect(bare(shown(table))).toEqual([
      'Name       Says',
      '─────────  ─────',
      'a          hello',
      'long name  x | y',
      'End.',
    ]);
    const wide = `| A | B |\n|---|---|\n| ${'word '.repeat(20)} | ${'x'.repeat(50)} |`;
    for (const line of bare(shown(wide, { columns: 40 }))) expect(displayWidth(line)).toBeLessThan(40);
  });

  it('wraps a list item below its text, and a style over the end of a row', () => {
    expect(shown('- one two **three four five**', { columns: 20 })).toEqual([
      `• one two ${bold('three')}`,
      `  ${bold('four five')}`,
    ]);
  });

  it('keeps its marks where there are no colors', () => {
    expect(shown('# Title\n**bold** and `code`\n```js\nx\n```', { color: false })).toEqual([
      '# Title',
      '**bold** and `code`',
      '```js',
      '  x',
      '```',
    ]);
  });

  it('is rendered while it comes, and a row that is done is never written again', () => {
    const { after, lines } = answered(['Some **bo', 'ld** text\nNext']);
    expect(after[0]).toContain('  Some **bo');
    expect(after[1]?.filter((line) => line.includes('Some'))).toEqual(['  Some bold text']);
    expect(bare(lines)).toEqual(['Some bold text', 'Next']);
  });

  it('is the same however it is cut into pieces, and never wider than the terminal', () => {
    const unit = fc.constantFrom(
      'word ',
      'a',
      '**',
      '*',
      '`',
      '_',
      '\n',
      '\n\n',
      '# ',
      '- ',
      '1. ',
      '> ',
      '| a | b |\n',
      '|---|---|\n',
      '```\n',
      '日本',
      '[x](y)',
      ' ',
      '{"a": 1}',
      '\u001b[2J',
      'long and longer words ',
    );
    fc.assert(
      fc.property(
        fc.array(unit, { maxLength: 80 }),
        fc.array(fc.nat(400), { maxLength: 6 }),
        (units, cuts) => {
          const text = `x ${units.join('')}`;
          const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted(
            (a, b) => a - b,
          );
          const pieces = places.slice(1).map((to, index) => text.slice(places[index], to));
          fc.pre(pieces.every((piece) => !/^(\[2J|2J|J)/.test(piece)));
          const { lines, after } = answered(pieces, { columns: 30, rows: 12 });
          expect(lines).toEqual(shown(text, { columns: 30, rows: 12 }));
          for (const line of after.flat()) expect(displayWidth(line)).toBeLessThan(30);
          // Every word is there, once and in order.
          const letters = (all: string) => all.replace(/[^a-z日本]/g, '');
          const said = letters(text.replaceAll('\u001b[2J', ''));
          if (!text.includes('[x](y)') && !text.includes('|') && !text.includes('```'))
            expect(letters(bare(lines).join(''))).toBe(said);
        },
      ),
    );
  });

  it('is readable JSON where it is JSON: colored, indented where it is long, and folded', () => {
    const { green, yellow } = COLORED;
    expect(shown('{"name":"a","count":3}')).toEqual([
      `{${cyan('"name"')}:${green('"a"')},${cyan('"count"')}:${yellow('3')}}`,
    ]);
    const long = JSON.stringify({
      items: Array.from({ length: 100 }, (_, n) => ({ n, text: 'x'.repeat(60) })),
    });
    const lines = bare(shown(long));
    expect(lines.slice(0, 4)).toEqual(['{', '  "items": [', '    {', '      "n": 0,']);
    expect(lines).toHaveLength(40);
    expect(lines.at(-1)).toMatch(/^… \d+ more lines$/);
    expect(bare(shown('{"a": it only looks like JSON'))).toEqual(['{"a": it only looks like JSON']);
    expect(bare(shown('[link](https://x.dev) first'))).toEqual(['link (https://x.dev) first']);
  });

  it('lets no text steer the terminal', () => {
    const hostile = '\u001b[2J\u001b]0;owned\u0007**\u202e`\u009b31m`**\u0007';
    // The terminal throws on any sequence that is not the view's own.
    answered([hostile, `{"${hostile}": 1}`, `| ${hostile} |\n|---|\n| ${hostile} |\n`]);
    const json = shown(JSON.stringify({ [hostile]: hostile, '\u009b2J': '\u202e' })).join('');
    for (const character of ['\u009b', '\u202e', '\u0007']) expect(json).not.toContain(character);
  });
});
