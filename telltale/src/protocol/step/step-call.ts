import { isJsonObject, type Json } from '../../kernel/json.ts';
import { badCall, badStepCall, type Fault, QUOTING } from '../calls/call-faults.ts';
import { type CallBook, readCall } from '../calls/read-call.ts';
import { withOurNames } from '../envelope/parameters.ts';
import type { ActionIntent } from '../intents.ts';
import { strictJson } from '../json/parse-value.ts';
import { LARGE_NUMBER, readObject } from '../json/read-object.ts';

const WORDS = { where: 'A tool call', elsewhere: 'What the tool takes goes into "input".' };

/** An item of `tool_calls`: `{name, input}`, or `{tool, params}`, and beside them how to run it. */
export function readStepCall(text: string, book: CallBook): ActionIntent | Fault {
  const strict = strictJson(text);
  const item = readObject(text, strict);
  if (item === 'not_finite')
    return badStepCall(`did not run: a number in it is too large to be kept. ${LARGE_NUMBER}`);
  if (item === 'unreadable')
    return badStepCall(
      `is no object {"name": "…", "input": {…}} that can be read, so it did not run. Write ${QUOTING}.`,
    );
  const aliased = withOurNames(item, 'input');
  if (typeof aliased === 'string') return badCall(String(item.name ?? item.tool ?? item.action), aliased);
  const { name, input, ...run } = aliased;
  if (typeof name !== 'string' || name === '')
    return badStepCall(`has no "name" (it is ${shown(name)}), so it did not run.`);
  if (input !== undefined && input !== null && !isJsonObject(input))
    return badCall(name, `"input" must be an object, but it is ${shown(input)}.`);
  return readCall({ name, parameters: input ?? {}, run, ...WORDS, repaired: strict === undefined }, book);
}

const shown = (value: Json | undefined) =>
  value === undefined || value === null
    ? 'absent'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`;
