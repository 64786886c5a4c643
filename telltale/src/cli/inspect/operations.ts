import type { JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';

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

/**
 * The operations of a target whose parameters are one flat schema (`targets/operations.ts`): each parameter names its
 * operations in brackets at the end of its description. Undefined where the schema is none of those.
 */
export function operationsIn(schema: JsonObject): readonly ShownOperation[] | undefined {
  const properties = isMap(schema.properties) ? schema.properties : {};
  const { operation } = properties;
  if (!isMap(operation) || !Array.isArray(operation.enum)) return undefined;
  const names = operation.enum.map(String);
  const told = linesOf(String(operation.description ?? ''), names);
  const others = Object.entries(properties).filter(([name]) => name !== 'operation');
  return names.map((name) => {
    const [description = '', needs = ''] = (told.get(name) ?? '').split('; needs ');
    const needed = needs.split(', ');
    const parameters = others.flatMap(([parameter, value]): readonly ShownParameter[] => {
      const [, text = '', users] = /^(.*?) ?\(([\w, ]+)\)$/s.exec(descriptionOf(value)) ?? [];
      if (users !== undefined && !users.split(', ').includes(name)) return [];
      const said = users === undefined ? descriptionOf(value) : text;
      return [
        { name: parameter, type: typeOf(value), required: needed.includes(parameter), description: said },
      ];
    });
    return { name, description, isDefault: operation.default === name, parameters };
  });
}

/** The parameters of a plain schema. */
export function parametersIn(schema: JsonObject): readonly ShownParameter[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(isMap(schema.properties) ? schema.properties : {}).map(([name, value]) => ({
    name,
    type: typeOf(value),
    required: required.includes(name),
    description: descriptionOf(value),
  }));
}

/** `set: writes a value; needs key. get: reads one.` by operation. */
function linesOf(text: string, names: readonly string[]): ReadonlyMap<string, string> {
  const starts = names
    .map((name, index) => ({ name, at: text.indexOf(`${index === 0 ? '' : '. '}${name}: `) }))
    .filter(({ at }) => at !== -1);
  return new Map(
    starts.map(({ name, at }, index) => [
      name,
      text
        .slice(at, starts[index + 1]?.at)
        .replace(/^\. /, '')
        .slice(name.length + 2),
    ]),
  );
}

const descriptionOf = (value: unknown): string => (isMap(value) ? String(value.description ?? '') : '');

function typeOf(value: unknown): string {
  if (!isMap(value)) return 'any';
  if (Array.isArray(value.enum)) return value.enum.map((each) => JSON.stringify(each)).join(' | ');
  if (value.const !== undefined) return JSON.stringify(value.const);
  if (Array.isArray(value.type)) return value.type.join(' | ');
  return typeof value.type === 'string' ? value.type : 'any';
}
