import type { VariableClass } from '../../events/value-event.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { showValue } from '../../manifest/schema/show-value.ts';

export type DefinedVariable = AgentManifest['context_variables']['defined'][number];
export type RuntimeVariable = AgentManifest['context_variables']['runtime'][number];

/** A variable that can be set by hand. */
export type SettableVariable =
  | (RuntimeVariable & { readonly class: 'runtime' })
  | (DefinedVariable & { readonly class: 'defined' });

/** Who sets a variable: the model, a workflow's run, or a person (API, command line). */
export type VariableWriter = 'model' | 'workflow' | 'user';

/** Of a value, as JSON. */
const MAX_CHARS = 64 * 1024;

export function settableVariables({
  context_variables: { defined, runtime },
}: Pick<AgentManifest, 'context_variables'>): readonly SettableVariable[] {
  return [
    ...runtime.map((each) => ({ ...each, class: 'runtime' as const })),
    ...defined.map((each) => ({ ...each, class: 'defined' as const })),
  ];
}

export function classOf(
  { context_variables: variables }: Pick<AgentManifest, 'context_variables'>,
  name: string,
): VariableClass | undefined {
  const classes = ['runtime', 'defined', 'derived'] as const;
  return classes.find((each) => variables[each].some((variable) => variable.name === name));
}

/** What is wrong with a value for a variable; undefined where nothing is. */
export function valueProblem(
  { name, type }: Pick<SettableVariable, 'name' | 'type'>,
  value: Json,
): RuntimeError | undefined {
  if (type !== 'any' && typeOf(value) !== type) return wrongType(name, type, value);
  const chars = JSON.stringify(value).length;
  return chars > MAX_CHARS ? tooLarge(name, chars) : undefined;
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const wrongType = (name: string, type: string, value: Json) =>
  new RuntimeError(
    'bad_parameters',
    `The variable "${name}" holds a value of type ${type}, not ${showValue(value)}.`,
    { hint: `Give "value" as ${type}.` },
  );

const tooLarge = (name: string, chars: number) =>
  new RuntimeError(
    'bad_parameters',
    `The value of "${name}" has ${chars} characters; ${MAX_CHARS} are allowed.`,
    { hint: 'Keep it in a file or a relic, and its place in the variable.' },
  );
