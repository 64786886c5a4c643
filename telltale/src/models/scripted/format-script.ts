import { printable } from '../../manifest/printable.ts';
import { formatSaying } from './format-saying.ts';
import type { Expectation, Script, ScriptTurnOptions } from './script.ts';
import { yamlText } from './yaml-text.ts';

/**
 * A script as a file: what `readScript` reads back says the same. Turns that are texts with native calls are written
 * in parts. `from` is said in a comment. Pure.
 */
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
  const saying = formatSaying(INDENT);
  for (const [index, turn] of script.turns.entries())
    lines.push(...saying(turn, (firstTurn ?? 1) + index), ...optionLines(turn));
  return `${lines.join('\n')}\n`;
}

const INDENT = '    ';

function optionLines(turn: ScriptTurnOptions): readonly string[] {
  const { reasoning, expect, usage, delayMs } = turn;
  return [
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
