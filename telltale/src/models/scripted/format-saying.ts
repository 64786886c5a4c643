import type { JsonObject } from '../../kernel/json.ts';
import { isSayable, readableParts } from './readable-parts.ts';
import type { ScriptCall, ScriptPart, ScriptSaying } from './script.ts';
import { turnText } from './turn-text.ts';
import { yamlFlow } from './yaml-flow.ts';
import { doubleQuoted, yamlText } from './yaml-text.ts';

/** Values of a script that may go into inputs shown as maps: a file has at most 50,000, and a turn needs some ten. */
const MAX_MAP_VALUES = 20_000;

/** Writes what turns say, as the first lines of each; `indent` is that of a turn's keys. */
export function formatSaying(indent: string): (turn: ScriptSaying, number: number) => readonly string[] {
  const dash = `${indent.slice(2)}- `;
  const inner = `${indent}  `;
  let room = MAX_MAP_VALUES;

  const flow = (value: JsonObject): string | undefined => {
    const written = yamlFlow(value);
    if (written === undefined || written.values > room) return undefined;
    room -= written.values;
    return written.text;
  };
  /** Undefined where the call cannot be written so: then the turn is written as one text. */
  const callLines = ({ call, id, input, meta, cut }: ScriptCall): readonly string[] | undefined => {
    const keyIndent = `${inner}  `;
    const metaText = meta === undefined ? undefined : flow(meta);
    if (meta !== undefined && metaText === undefined) return undefined;
    const inputText =
      input === undefined
        ? undefined
        : ((typeof input === 'string' ? undefined : flow(input)) ??
          yamlText(typeof input === 'string' ? input : JSON.stringify(input), keyIndent));
    return [
      `${inner}- call: ${nameText(call)}`,
      ...(id === undefined ? [] : [`${keyIndent}id: ${nameText(id)}`]),
      ...(inputText === undefined ? [] : [`${keyIndent}input: ${inputText}`]),
      ...(metaText === undefined ? [] : [`${keyIndent}meta: ${metaText}`]),
      ...(cut === true ? [`${keyIndent}cut: true`] : []),
    ];
  };
  const sayLines = (parts: readonly ScriptPart[]): readonly string[] | undefined => {
    const lines = parts.map((part) =>
      typeof part === 'string' ? [`${inner}- ${yamlText(part, inner)}`] : callLines(part),
    );
    return lines.every((each) => each !== undefined) ? [`${dash}say:`, ...lines.flat()] : undefined;
  };

  return (turn, number) => {
    const parts = turn.say === undefined ? readableParts(turn.text) : turn.say;
    const said = parts !== undefined && isSayable(parts) ? sayLines(parts) : undefined;
    return said ?? [`${dash}text: ${yamlText(turnText(turn, number), indent)}`];
  };
}

const PLAIN_NAME = /^[A-Za-z_][\w-]*$/;
const NOT_TEXT = /^(?:true|false|null)$/i;

const nameText = (name: string): string =>
  PLAIN_NAME.test(name) && !NOT_TEXT.test(name) ? name : doubleQuoted(name);
