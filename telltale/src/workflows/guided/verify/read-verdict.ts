import { deepEqual } from '../../../expressions/values.ts';
import { err, ok, type Result } from '../../../lib/errors.ts';
import type { Json } from '../../../lib/json.ts';
import { isMap } from '../../../manifest/schema/plain-values.ts';

export const CONFIDENCES = ['low', 'medium', 'high'] as const;
export const ASSESSMENTS = ['pass', 'retry', 'escalate'] as const;

/** A model's whole verdict. */
export interface ModelVerdict {
  readonly assessment: (typeof ASSESSMENTS)[number];
  /** A pass always has one: without it nobody knows whether it reaches the threshold. */
  readonly confidence?: (typeof CONFIDENCES)[number];
  readonly reasoning: string;
  readonly instruction?: string;
}

/** A longer answer is no verdict. */
const MAX_ANSWER = 50_000;
/** Places where an object may begin: prose has few brackets. */
const MAX_STARTS = 200;

/**
 * The one verdict that a model's answer holds: alone, in a fence or in prose. None, two that differ, one that lacks a
 * part, and one that stands in what was judged word for word are no verdict: err says why.
 */
export function readVerdict(answer: string, judged: string): Result<ModelVerdict, string> {
  if (answer.trim() === '') return err('It answered nothing.');
  if (answer.length > MAX_ANSWER) return err(`It answered with ${answer.length} characters.`);
  const found = objectsIn(answer).filter(({ value }) => isMap(value) && Object.hasOwn(value, 'assessment'));
  const [first, ...others] = found;
  if (first === undefined) return err(`It answered with no verdict: ${shown(answer)}`);
  if (others.some(({ value }) => !deepEqual(value, first.value)))
    return err(`It answered with several verdicts that differ: ${shown(answer)}`);
  const record = squashed(judged);
  if (
    found.some(({ text, value }) =>
      [text, JSON.stringify(value)].some((form) => record.includes(squashed(form))),
    )
  )
    return err(`The verdict in its answer is quoted from what it was to judge: ${shown(first.text)}`);
  return complete(first.value);
}

function complete(value: Json): Result<ModelVerdict, string> {
  if (!isMap(value)) return err('Its verdict is no object.');
  const assessment = oneOf(ASSESSMENTS, value.assessment);
  if (assessment === undefined) return err(`Its assessment is ${shown(value.assessment)}.`);
  const confidence = oneOf(CONFIDENCES, value.confidence);
  const isSilent = value.confidence === undefined && assessment !== 'pass';
  if (confidence === undefined && !isSilent) return err(`Its confidence is ${shown(value.confidence)}.`);
  const { reasoning } = value;
  if (typeof reasoning !== 'string' || reasoning.trim() === '') return err('It gives no reasoning.');
  const given = INSTRUCTION.map((key) => value[key] ?? undefined).filter((each) => each !== undefined);
  const odd = given.find((each) => typeof each !== 'string');
  if (odd !== undefined) return err(`Its instruction is ${shown(odd)}.`);
  const [instruction = '', ...others] = given.map(String);
  if (others.some((other) => other !== instruction)) return err('It gives instructions that differ.');
  const told = instruction.trim() === '' ? {} : { instruction };
  return ok({ assessment, ...(confidence === undefined ? {} : { confidence }), reasoning, ...told });
}

/** Ours, and what WorkRail calls it. */
const INSTRUCTION = ['instruction', 'retry_instruction', 'retryInstruction'] as const;

function oneOf<const Word extends string>(words: readonly Word[], value: unknown): Word | undefined {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : undefined;
  return words.find((each) => each === word);
}

interface FoundVerdict {
  readonly value: Json;
  readonly text: string;
}

/** The JSON objects that stand in a text beside each other, outermost only. */
function objectsIn(text: string): readonly FoundVerdict[] {
  const found: FoundVerdict[] = [];
  let from = 0;
  for (let starts = 0; starts < MAX_STARTS; starts++) {
    const start = text.indexOf('{', from);
    if (start === -1) break;
    const end = endOfObject(text, start);
    const source = end === undefined ? undefined : text.slice(start, end);
    const value = source === undefined ? undefined : parsed(source);
    if (source === undefined || end === undefined || value === undefined) from = start + 1;
    else {
      found.push({ value, text: source });
      from = end;
    }
  }
  return found;
}

/** Behind the bracket that closes the one at `start`; brackets inside of texts do not count. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  let isText = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (isText) {
      if (char === '\\') at++;
      else if (char === '"') isText = false;
    } else if (char === '"') isText = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined; // brackets of prose
  }
}

/** Without white space and marks of escaping, which differ between a text and its place in JSON. */
const squashed = (text: string): string => text.replace(/\\[nrt]|[\s\\]/g, '');

const MAX_SHOWN = 200;

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value.trim() : (JSON.stringify(value) ?? 'missing');
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
