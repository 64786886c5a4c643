import type { JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { Target } from '../../targets/target.ts';

export interface ShownParameter {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

export interface ShownOperation {
  readonly name: string;
  readonly description: string;
  readonly isDefault: boolean;
  readonly parameters: readonly ShownParameter[];
}

/** The operations of a target, each with its own parameters; undefined where it has none. */
export function operationsOf({
  operations,
  byDefault,
}: Pick<Target, 'operations' | 'byDefault'>): readonly ShownOperation[] | undefined {
  if (operations === undefined) return undefined;
  return Object.entries(operations).map(([name, { description, parameters, required }]) => ({
    name,
    description,
    isDefault: byDefault === name,
    parameters: parametersIn({ properties: parameters, required: [...(required ?? [])] }),
  }));
}

/** The parameters of a schema. */
export function parametersIn(schema: JsonObject): readonly ShownParameter[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(isMap(schema.properties) ? schema.properties : {}).map(([name, value]) => ({
    name,
    type: typeOf(value),
    required: required.includes(name),
    description: descriptionOf(value),
  }));
}

const descriptionOf = (value: unknown): string => (isMap(value) ? String(value.description ?? '') : '');

function typeOf(value: unknown): string {
  if (!isMap(value)) return 'any';
  if (Array.isArray(value.enum)) return value.enum.map((each) => JSON.stringify(each)).join(' | ');
  if (value.const !== undefined) return JSON.stringify(value.const);
  if (Array.isArray(value.type)) return value.type.join(' | ');
  return typeof value.type === 'string' ? value.type : 'any';
}
