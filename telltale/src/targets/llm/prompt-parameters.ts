import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { Prompt } from './prompt.ts';

/** Other names for what a prompt takes: for the text it is about, and for what it is asked. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  context: ['text'],
  prompt: ['focus', 'what', 'instructions'],
};

interface Read {
  /** By the names that the prompt has. */
  readonly given: JsonObject;
  readonly model?: Json;
  /** Characters. */
  readonly maxLength?: Json;
  readonly problem?: RuntimeError;
}

/** The parameters of a call of a prompt. Every prompt takes `model` and `max_length`, unless it has its own of that name. */
export function readParameters({ parameters }: Prompt, input: JsonObject, what: string): Read {
  const known = isMap(parameters.properties) ? parameters.properties : {};
  const given: Record<string, Json> = {};
  const read: { -readonly [Key in keyof Read]: Read[Key] } = { given };
  for (const [name, value] of Object.entries(input))
    if (name === 'model' && !Object.hasOwn(known, name)) read.model = value;
    else if (name === 'max_length' && !Object.hasOwn(known, name)) read.maxLength = value;
    else given[nameOf(name, input, known)] = value;
  const { maxLength } = read;
  if (maxLength !== undefined && !(Number.isSafeInteger(maxLength) && Number(maxLength) > 0))
    read.problem = new RuntimeError(
      'bad_parameters',
      `The parameters of ${what} are wrong: "/max_length" is ${showValue(maxLength)}.`,
      { hint: 'Give a whole number of characters, above zero.' },
    );
  return read;
}

function nameOf(name: string, input: JsonObject, known: Readonly<Record<string, unknown>>): string {
  if (Object.hasOwn(known, name)) return name;
  const others = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  return others?.find((each) => Object.hasOwn(known, each) && input[each] === undefined) ?? name;
}
