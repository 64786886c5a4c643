/** The reference reading of protocol.md, part three: the action envelope (section 4 and the end of 3). */

import { ACTION_KINDS, ACTION_MODES, ON_ERROR } from '../../src/kernel/action-envelope.ts';
import type { Json, JsonObject } from '../../src/kernel/json.ts';
import type { ActionIntent } from '../../src/protocol/intents.ts';
import { isObject } from './reference-json.ts';
import type { Attribute, Attributes } from './reference-lexis.ts';

const isText = (value: Json) => typeof value === 'string' && value !== '';
const isKind = (value: Json) => [...ACTION_KINDS, 'context_feed'].some((kind) => kind === value);

const FIELDS: Readonly<Record<string, (value: Json) => boolean>> = {
  name: isText,
  parameters: isObject,
  output_key: (value) => typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_-]*$/.test(value),
  depends_on: (value) => Array.isArray(value) && value.every(isText),
  timeout: (value) => typeof value === 'number' && Number.isFinite(value) && value > 0,
  retry: (value) => Number.isInteger(value) && (value as number) >= 0,
  on_error: (value) => ON_ERROR.some((choice) => choice === value),
  if: isText,
  compensate: (value) => isObject(value) && isEnvelope(value, { ...FIELDS, type: isKind }),
  template: isText,
};

/** `null` is absent; what is left must be a known field of its type, with a name or a template. */
function isEnvelope(body: JsonObject, fields = FIELDS): boolean {
  const given = present(body);
  const known = given.every(([field, value]) => Object.hasOwn(fields, field) && fields[field]?.(value));
  return known && given.some(([field]) => field === 'name' || field === 'template');
}

const present = (body: JsonObject) => Object.entries(body).filter(([, value]) => value !== null);

export type Envelope = Omit<ActionIntent, 'type' | 'id' | 'in' | 'repaired'>;

/** Undefined is `bad_action`. */
export function readEnvelope(
  body: JsonObject,
  written: ActionAttributes,
  inParallel: boolean,
): Envelope | undefined {
  if (!isEnvelope(body)) return undefined;
  const { parameters = {}, ...fields } = Object.fromEntries(present(body));
  const defaults = fields.template === undefined ? { type: 'tool', mode: 'async' } : {};
  const { type, mode } = { ...defaults, ...written };
  return {
    ...(type === undefined ? {} : { kind: type === 'context_feed' ? 'internal' : type }),
    ...(mode === undefined ? {} : { mode: inParallel ? 'async' : mode }),
    parameters,
    ...fields,
  } as Envelope;
}

export interface ActionAttributes {
  readonly type?: string;
  readonly mode?: string;
  readonly id?: string;
}

const ID = /^[A-Za-z0-9_-]+$/;
export const isId = (value: string): boolean => ID.test(value);

/** Undefined is `bad_attribute`. */
export function readActionAttributes(attributes: Attributes): ActionAttributes | undefined {
  const allowed: Readonly<Record<string, (value: string) => boolean>> = {
    type: isKind,
    mode: (value) => ACTION_MODES.some((mode) => mode === value),
    id: isId,
    key: () => true,
  };
  if (!isReadable(attributes)) return undefined;
  const good = attributes.list.every(
    ({ name, value }) => value !== undefined && Object.hasOwn(allowed, name) && allowed[name]?.(value),
  );
  return good ? Object.fromEntries(attributes.list.map(({ name, value }) => [name, value])) : undefined;
}

/** Every attribute is name=value and no name comes twice. */
export const isReadable = ({ list, readable }: Attributes): boolean =>
  readable && new Set(list.map(({ name }) => name)).size === list.length;

export const attributeOf = (list: readonly Attribute[], name: string): string | undefined =>
  list.find((attribute) => attribute.name === name)?.value;
