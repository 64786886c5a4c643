import { setImmediate as turn } from 'node:timers/promises';
import { asText } from '../../conditions/as-text.ts';
import { compilePattern } from '../../conditions/linear-regex.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';

/** Characters times instructions that are searched before everything else gets its turn: 20 ms at the worst. */
const TURN_WORK = 262_144;
/** Of one search: a megabyte with a pattern of 128 instructions, 10 s at the very worst. */
const MAX_WORK = 134_217_728;

/** The first lines of a text, items of a list or properties of an object; anything else as it is. */
export const firstOf = (value: Json, count: number): Json => part(value, (all) => all.slice(0, count));

/** The last ones, likewise. */
export const lastOf = (value: Json, count: number): Json => part(value, (all) => all.slice(-count));

function part(value: Json, take: <T>(all: readonly T[]) => readonly T[]): Json {
  if (typeof value === 'string') return take(linesOf(value)).join('\n');
  if (Array.isArray(value)) return take(value as readonly Json[]);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(take(Object.entries(value as JsonObject)));
}

/** Without the empty one behind a newline at the end. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * Lines of a text, or items of a list, that the pattern is found in; anything else is searched as the text that it is
 * shown as. Of a line that is too long for the pattern (65,536 characters, fewer for a large one) its beginning counts.
 */
export async function matchingLines(value: Json, source: string): Promise<Json> {
  const compiled = compilePattern(source);
  if (!compiled.ok)
    throw new RuntimeError('bad_pattern', compiled.error.message, { hint: compiled.error.hint });
  const pattern = compiled.value;
  const items: readonly Json[] = Array.isArray(value) ? value : linesOf(textOf(value));
  const kept: Json[] = [];
  let work = 0;
  let turnEnds = TURN_WORK;
  for (const item of items) {
    const line = asText(item).slice(0, pattern.maxLength);
    work += (line.length + 1) * pattern.programSize;
    if (work > MAX_WORK) throw tooMuchWork(source);
    if (pattern.test(line)) kept.push(item);
    if (work < turnEnds) continue;
    await turn();
    turnEnds = work + TURN_WORK;
  }
  return Array.isArray(value) ? kept : kept.join('\n');
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

const tooMuchWork = (source: string) =>
  new RuntimeError('bad_pattern', `Searching all lines for "${source.slice(0, 100)}" would take too long.`, {
    hint: 'Take fewer lines first (head, tail), or use a smaller pattern.',
  });
