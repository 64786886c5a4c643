import { suggest } from '../../kernel/nearest.ts';
import { clip } from '../envelope/envelope.ts';
import type { FaultCode } from '../fault-codes.ts';
import type { ParserEvent } from '../intents.ts';
import { LARGE_NUMBER } from '../json/read-object.ts';

export type Fault = Extract<ParserEvent, { type: 'fault' }>;

// As with tags, each message is read by the model: what was seen, why it does not count, what to do instead.
const fault = (code: FaultCode, message: string): Fault => ({ type: 'fault', code, message });

/** What most of those inputs lack that cannot be read. */
export const QUOTING = 'double quotes, \\" for a quote and \\n for a line break inside strings';

export const callTruncated = (name: string) =>
  fault(
    'truncated',
    `The turn ended before the call of "${clip(name)}" was complete, so it did not act. Make it again, whole.`,
  );

export const callBadJson = (name: string) =>
  fault(
    'bad_json',
    `The input of "${clip(name)}" is no JSON object that can be read, so it did not act. Write one object: ${QUOTING}.`,
  );

export const callNotFinite = (name: string) =>
  fault(
    'bad_json',
    `The call of "${clip(name)}" did not act: a number in its input is too large to be kept. ${LARGE_NUMBER}`,
  );

export const callTooLarge = (name: string, maxBody: number) =>
  fault(
    'body_too_large',
    `The input of "${clip(name)}" has more than ${maxBody} characters, so it did not act. Send less, or in parts.`,
  );

export const badCall = (name: string, problem: string) =>
  fault('bad_action', `The call of "${clip(name)}" did not run: ${problem}`);

export const ambiguousCall = (name: string, natives: readonly string[]) =>
  badCall(
    name,
    `no tool has that name, and several others have it. Call ${natives.map((native) => `"${clip(native)}"`).join(' or ')}.`,
  );

export const badRunValue = (name: string, key: string, value: unknown, allowed: string) =>
  fault(
    'bad_attribute',
    `The call of "${clip(name)}" did not run: "${key}" is ${clip(JSON.stringify(value) ?? String(value))}. Allowed: ${allowed}.`,
  );

export const idTaken = (id: string) =>
  fault(
    'duplicate_id',
    `The id "${clip(id)}" is taken already, so the call did not run. Choose another, or leave it out.`,
  );

export const badFinalValue = (value: unknown) =>
  fault(
    'bad_attribute',
    `"final" is ${clip(JSON.stringify(value) ?? String(value))}, neither true nor false, and counts as false.`,
  );

export const noText = () =>
  fault(
    'bad_action',
    'The call of "respond" said nothing: it has no "text". Write {"text": "…"}, and "final": false if you go on.',
  );

export const stepTruncated = () =>
  fault(
    'truncated',
    'The turn ended before the call of "step" was complete. What was whole in it counts; "is_complete" does not. Go on with a new step.',
  );

export const stepBadJson = () =>
  fault(
    'bad_json',
    'The input of "step" cannot be read as JSON from some point on. What stood before that counts, the rest does not, nor does "is_complete". Say the rest again in a new step.',
  );

export const stepTooLarge = (maxBody: number) =>
  fault(
    'body_too_large',
    `The input of "step" has more than ${maxBody} characters. What was whole in it before that counts; "is_complete" does not. Go on with a new step.`,
  );

export const onlyStep = (name: string) =>
  fault(
    'bad_action',
    `There is no tool "${clip(name)}" to call by itself. Call "step", and put this into its "tool_calls": {"name": "${clip(name)}", "input": {…}}.`,
  );

export const badStepField = (key: string, problem: string) =>
  fault('bad_action', `"${clip(key)}" of the step did not count: ${problem}`);

export const badStepCall = (problem: string) =>
  fault('bad_action', `In "tool_calls" of the step an item ${problem}`);

export const strangeStepField = (key: string, known: readonly string[]) =>
  fault('bad_action', `A step has no field "${clip(key)}", so it was not read. ${suggest(key, known)}`);

export const notesMissing = () =>
  fault(
    'bad_action',
    '"is_complete" did not count: it needs "notes", which say in a few words what was done and what came of it. Send the step again with both.',
  );

export const callsUnmade = () =>
  fault(
    'bad_action',
    '"is_complete" did not count: a tool call of the same step could not be made. Mend it first.',
  );
