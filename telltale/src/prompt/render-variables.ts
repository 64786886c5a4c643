import type { Json, JsonObject } from '../kernel/json.ts';
import { clip } from './cut-text.ts';
import type { Escape } from './escape.ts';
import type { ExposedVariable } from './exposed-variables.ts';
import { MAX_ERROR_SHOWN, MAX_VARIABLE_SHOWN } from './limits.ts';

/** What a block has to say of variables. */
export interface VariableNews {
  readonly values: JsonObject | undefined;
  readonly changed: readonly string[] | undefined;
  /** Nothing of the conversation stands before this block. */
  readonly first: boolean;
}

/** All of them with what they mean in the first block, then what changed; empty where there is nothing to say. */
export function renderVariables(
  { values, changed, first }: VariableNews,
  exposed: readonly ExposedVariable[],
  safe: Escape,
): string {
  if (exposed.length === 0) return '';
  const shown = first ? exposed : exposed.filter(({ name }) => changed?.includes(name) === true);
  if (shown.length === 0) return '';
  const title = first ? 'Variables, current values:' : 'Variables that changed, with their new values:';
  const lines = shown.map(({ name, description }) => {
    const about =
      first && description !== undefined ? ` (${safe(clip(oneLine(description), MAX_ERROR_SHOWN))})` : '';
    return `- ${name}: ${shownValue(name, values, safe)}${about}`;
  });
  return `${title}\n${lines.join('\n')}`;
}

const oneLine = (text: string) => text.trim().replaceAll(/\s+/g, ' ');

/** On one line, whatever it holds: nothing in a value can look like a line of the block. */
function shownValue(name: string, values: JsonObject | undefined, safe: Escape): string {
  const value: Json = values !== undefined && Object.hasOwn(values, name) ? (values[name] as Json) : null;
  return safe(clip(JSON.stringify(value), MAX_VARIABLE_SHOWN));
}
