import { isJsonObject, type Json } from '../../kernel/json.ts';
import { badStepField, strangeStepField } from '../calls/call-faults.ts';
import type { ParserEvent } from '../intents.ts';
import { parseValue } from '../json/parse-value.ts';
import { LARGE_NUMBER } from '../json/read-object.ts';

/** The fields of a step, in the order in which a model should write them. */
const STEP_FIELDS = [
  'thought',
  'metadata',
  'context_updates',
  'tool_calls',
  'notes',
  'evidence',
  'artifacts',
  'is_complete',
  'response',
  'output',
] as const;

/** What WorkRail and ReAct call these fields. */
const OTHER_NAMES: Readonly<Record<string, (typeof STEP_FIELDS)[number]>> = {
  notesMarkdown: 'notes',
  notes_so_far: 'notes',
  isComplete: 'is_complete',
  is_step_complete: 'is_complete',
  toolCalls: 'tool_calls',
  contextUpdates: 'context_updates',
};

/** Our name of a field. */
const fieldOf = (key: string): string => (Object.hasOwn(OTHER_NAMES, key) ? (OTHER_NAMES[key] ?? key) : key);

const UNLED_FIELDS = STEP_FIELDS.filter((field) => field !== 'evidence' && field !== 'artifacts');

/** Fields of a step that count only once all of it is there. */
export interface StepEnd {
  isComplete: boolean;
  notes: string;
  output: Json | undefined;
  /** false once a field was given under two names with different values. */
  isClear: boolean;
  /** The call of a step in the form of ReAct: one action, and its input. */
  readonly react: Record<string, Json>;
  /** The fields that were read so far: under which name each was written, and what it held. */
  readonly read: Map<string, { readonly key: string; readonly value: Json }>;
  /** Of a session that is led: what completes the step in hand, beside its notes. */
  readonly claim?: Record<string, Json> | undefined;
}

/** Reads a field that is complete: keeps it for the step's end, or gives the event that it is. `null` is absent. */
export function readStepField(key: string, text: string, end: StepEnd): ParserEvent | undefined {
  const parsed = parseValue(text);
  if (parsed === 'unreadable') return badStepField(key, 'it is no JSON that can be read.');
  if (parsed === 'not_finite')
    return badStepField(key, `a number in it is too large to be kept. ${LARGE_NUMBER}`);
  const { value, repaired } = parsed;
  if (value === null) return undefined;
  const field = fieldOf(key);
  const before = end.read.get(field);
  if (before !== undefined && before.key !== key)
    return JSON.stringify(before.value) === JSON.stringify(value)
      ? undefined
      : bothGiven(before.key, key, end);
  end.read.set(field, { key, value });
  const mend = repaired ? ({ repaired } as const) : {};
  switch (field) {
    case 'metadata':
      return isJsonObject(value) ? { type: 'metadata', value, ...mend } : notAn('an object');
    case 'context_updates':
      if (isJsonObject(value) && end.claim !== undefined) {
        end.claim[field] = value;
        return undefined;
      }
      return isJsonObject(value) ? { type: 'variables', value, ...mend } : notAn('an object');
    case 'notes':
      if (typeof value !== 'string') return notAn('a text');
      end.notes = value;
      return undefined;
    case 'is_complete':
      if (typeof value !== 'boolean') return notAn('true or false');
      end.isComplete = value;
      return undefined;
    case 'output':
      end.output = value;
      return undefined;
    case 'evidence':
    case 'artifacts':
      if (end.claim === undefined) return strangeStepField(key, UNLED_FIELDS);
      if (!Array.isArray(value)) return notAn('a list');
      end.claim[key] = value;
      return undefined;
    case 'action':
      if (typeof value !== 'string') return notAn('the name of what is called');
      end.react.name = value;
      return undefined;
    case 'action_input':
      end.react.input = value;
      return undefined;
    case 'tool_calls':
      return notAn('a list');
    case 'thought':
    case 'response':
      return notAn('a text');
    default:
      return strangeStepField(key, end.claim === undefined ? UNLED_FIELDS : STEP_FIELDS);
  }

  function notAn(what: string) {
    return badStepField(key, `it must be ${what}.`);
  }
}

/** Of two names of one field that say different things nobody knows which counts: the step is not complete. */
export function bothGiven(first: string, key: string, end: StepEnd): ParserEvent {
  end.isClear = false;
  return badStepField(key, `"${first}" is given too and differs. Write "${fieldOf(key)}" only.`);
}
