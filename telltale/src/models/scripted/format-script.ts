import { printable } from '../../manifest/printable.ts';
import type { Expectation, Script, ScriptTurn } from './script.ts';
import { yamlText } from './yaml-text.ts';

/** A script as a file: what `readScript` reads back is the same script. `from` is said in a comment. Pure. */
export function formatScript(script: Script, from?: string): string {
  const lines = from === undefined ? [] : [`# Recorded from ${printable(from)}.`];
  const { firstTurn, tokensPerSecond, chunk, loop, contextWindow } = script;
  lines.push(
    ...fields('', {
      first_turn: firstTurn,
      tokens_per_second: tokensPerSecond,
      chunk,
      loop,
      context_window: contextWindow,
    }),
    'turns:',
  );
  for (const turn of script.turns) lines.push(...turnLines(turn));
  return `${lines.join('\n')}\n`;
}

const INDENT = '    ';

function turnLines(turn: ScriptTurn): readonly string[] {
  const { text, reasoning, expect, usage, delayMs } = turn;
  return [
    `  - text: ${yamlText(text, INDENT)}`,
    ...(reasoning === undefined ? [] : [`${INDENT}reasoning: ${yamlText(reasoning, INDENT)}`]),
    ...(expect === undefined ? [] : expectLines(expect)),
    ...fields(INDENT, {
      tokens_per_second: turn.tokensPerSecond,
      chunk: turn.chunk,
      delay: delayMs === undefined ? undefined : `${delayMs}ms`,
      fail_after: turn.failAfter,
      fail_with: turn.failWith,
      finish: turn.finish,
      usage: usage === undefined ? undefined : `{ ${fields('', { ...usage }).join(', ')} }`,
    }),
  ];
}

function expectLines(expected: readonly Expectation[]): readonly string[] {
  if (expected.length === 0) return [`${INDENT}expect: []`];
  return [
    `${INDENT}expect:`,
    ...expected.map((each) =>
      'contains' in each
        ? `${INDENT}  - contains: ${yamlText(each.contains, `${INDENT}    `)}`
        : `${INDENT}  - not_contains: ${yamlText(each.notContains, `${INDENT}    `)}`,
    ),
  ];
}

function fields(
  indent: string,
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): string[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [`${indent}${key}: ${value}`],
  );
}
