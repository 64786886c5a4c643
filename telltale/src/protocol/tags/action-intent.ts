import type { JsonObject } from '../../kernel/json.ts';
import {
  ACTION_KINDS,
  ACTION_MODES,
  type ActionIntent,
  type ActionKind,
  type SpeechTag,
} from '../intents.ts';
import type { Attributes } from './attributes.ts';
import { field } from './envelope.ts';
import { badValue, type Fault, repeatedAttribute, unknownAttribute, unreadableAttributes } from './faults.ts';
import type { TagName } from './tag-names.ts';

/** An opening tag as it was read. */
export interface ReadTag {
  readonly name: TagName;
  readonly attributes: Attributes;
  readonly readable: boolean;
}

/** What each tag knows. `thought` and `response` ignore the rest silently. */
const KNOWN: Readonly<Record<TagName, readonly string[]>> = {
  action: ['type', 'mode', 'id', 'key'],
  metadata: ['key'],
  if: ['test', 'key'],
  else: ['key'],
  foreach: ['in', 'as', 'key'],
  parallel: ['id', 'key'],
  thought: ['key'],
  response: ['final', 'key'],
  result: [],
  context_feed: [],
};

export const ID = /^[A-Za-z0-9_-]+$/;
export const ID_FORM = 'letters, digits, "_" and "-"';

const TYPES: readonly string[] = [...ACTION_KINDS, 'context_feed'];

export function unknownName({ name, attributes }: ReadTag): Fault | undefined {
  const known = KNOWN[name];
  for (const given of attributes.names)
    if (!known.includes(given)) return unknownAttribute(name, given, known);
  return undefined;
}

/** What keeps an `<action>` or `<metadata>` from acting because of its attributes. */
export function attributeFault(tag: ReadTag): Fault | undefined {
  const { name, attributes, readable } = tag;
  const { type, mode, id, repeated } = attributes;
  if (!readable) return unreadableAttributes(name);
  if (repeated !== undefined) return repeatedAttribute(name, repeated);
  const unknown = unknownName(tag);
  if (unknown !== undefined || name !== 'action') return unknown;
  if (type !== undefined && !TYPES.includes(type)) return badValue(name, 'type', type, TYPES.join(', '));
  if (mode !== undefined && !ACTION_MODES.includes(mode as never)) {
    return badValue(name, 'mode', mode, ACTION_MODES.join(', '));
  }
  return id === undefined || ID.test(id) ? undefined : badValue(name, 'id', id, ID_FORM);
}

export interface ActionSetting {
  readonly id: string;
  readonly inParallel: boolean;
  readonly in: SpeechTag | undefined;
  readonly repaired: boolean;
}

/** The event of an action whose attributes and body have been checked, fields always in the same order. */
export function actionIntent(
  { attributes }: ReadTag,
  body: JsonObject,
  setting: ActionSetting,
): ActionIntent {
  const intent: Record<string, unknown> = { type: 'action', id: setting.id };
  const template = field(body, 'template');
  const type = attributes.type ?? (template === undefined ? 'tool' : undefined);
  if (type !== undefined)
    intent.kind = (type === 'context_feed' ? 'internal' : type) satisfies string as ActionKind;
  const mode = attributes.mode ?? (template === undefined ? 'async' : undefined);
  if (mode !== undefined) intent.mode = setting.inParallel ? 'async' : mode;
  const name = field(body, 'name');
  if (name !== undefined) intent.name = name;
  intent.parameters = field(body, 'parameters') ?? {};
  for (const key of OPTIONAL) {
    const value = field(body, key);
    if (value !== undefined) intent[key] = value;
  }
  if (setting.in !== undefined) intent.in = setting.in;
  if (setting.repaired) intent.repaired = true;
  return intent as unknown as ActionIntent;
}

const OPTIONAL = [
  'output_key',
  'depends_on',
  'timeout',
  'retry',
  'on_error',
  'if',
  'compensate',
  'template',
] as const;
