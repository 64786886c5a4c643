import { deepEqual } from '../../conditions/deep-equal.ts';
import type { Json } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { InternalEdges } from './definition.ts';

type RuntimeVariable = AgentManifest['context_variables']['runtime'][number];

/** Of a value, as JSON. */
const MAX_CHARS = 64 * 1024;

const writable = ({ context_variables: { runtime } }: AgentManifest): readonly string[] =>
  runtime.flatMap(({ name, writers }) => (writers.includes('model') ? [name] : []));

export const noneToWrite = (manifest: AgentManifest): string | undefined =>
  writable(manifest).length > 0
    ? undefined
    : 'The manifest declares no variable in "context_variables.runtime" that the model may write.';

/** The runtime variable of that name, if the model may write it. */
export function variableToWrite(name: string, manifest: AgentManifest): RuntimeVariable {
  const { defined, runtime, derived } = manifest.context_variables;
  const found = runtime.find((each) => each.name === name);
  if (found?.writers.includes('model') === true) return found;
  if (found !== undefined) throw notYours(name, found.writers);
  if (derived.some((each) => each.name === name)) throw notByHand(name, 'is derived from events');
  if (defined.some((each) => each.name === name)) throw notByHand(name, 'is kept between runs');
  throw variableUnknown(name, writable(manifest));
}

/** Puts the change on the log, if it is one. */
export function change({ state, append }: InternalEdges, name: string, to: Json): Json {
  const from = state.variables.get(name)?.value ?? null;
  if (!deepEqual(from, to))
    append({ type: 'variable.changed', name, class: 'runtime', from, to, by: 'model' });
  return { name, from, to };
}

export function checkValue({ name, type }: RuntimeVariable, value: Json): void {
  if (type !== 'any' && typeOf(value) !== type) throw wrongType(name, type, value);
  const chars = JSON.stringify(value).length;
  if (chars > MAX_CHARS) throw tooLarge(name, chars);
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const variableUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('variable_unknown', `No runtime variable is named "${name}".`, {
    hint: suggest(name, known, 'Those you may set'),
  });

const notYours = (name: string, writers: readonly string[]) =>
  new RuntimeError('variable_denied', `The variable "${name}" is not yours to set.`, {
    hint: `Its "writers" are: ${writers.length === 0 ? 'nobody' : writers.join(', ')}.`,
  });

const notByHand = (name: string, why: string) =>
  new RuntimeError('variable_denied', `The variable "${name}" ${why}, and cannot be set by an action.`, {
    hint: 'Only variables of "context_variables.runtime" can be.',
  });

const wrongType = (name: string, type: string, value: Json) =>
  new RuntimeError(
    'bad_parameters',
    `The variable "${name}" holds a value of type ${type}, not ${showValue(value)}.`,
    {
      hint: `Give "value" as ${type}.`,
    },
  );

const tooLarge = (name: string, chars: number) =>
  new RuntimeError(
    'bad_parameters',
    `The value of "${name}" has ${chars} characters; ${MAX_CHARS} are allowed.`,
    { hint: 'Keep it in a file or a relic, and its place in the variable.' },
  );
