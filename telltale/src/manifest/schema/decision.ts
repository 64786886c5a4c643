import { z } from 'zod';
import type { ConditionCode } from '../../expressions/maps/condition-issues.ts';
import { likelyOperators, parseConditions } from '../../expressions/maps/parse-conditions.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { checkCel } from './checks/document-node.ts';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { isMap } from './plain-values.ts';
import { finding, flag, jsonValue, name, nonEmptyText, type ValuesFinding } from './values.ts';

const SLIPS = {
  artifact: 'Use "invoke" to name the artifact.',
  artifact_id: 'Use "invoke" to name the artifact.',
  function: 'Use "method" to name the function.',
  parameters: 'Put arguments into "args", a list. The context is always passed as the last argument.',
  params: 'Put arguments into "args", a list. The context is always passed as the last argument.',
  default: 'Use "fallback" for the value when the artifact fails.',
  else: 'Use "fallback" for the value when the artifact fails.',
  timeout: 'An invocation has no timeout of its own. Each artifact has 100 ms.',
};

/** A decision by an artifact. `fallback` has the type of the place, and is used if the artifact fails. */
export const invocation = <Fallback extends z.core.$ZodType>(id: string, fallback: Fallback) =>
  closed(
    { title: 'an invocation', id, slips: SLIPS, description: 'A decision taken by an artifact.' },
    {
      invoke: name('The artifact to ask.'),
      method: name('The method of the artifact.'),
      args: z
        .array(jsonValue('An argument.'))
        .prefault([])
        .describe('Arguments; the standard context is added as the last one.'),
      cache: flag('false asks afresh each time instead of once a run for the same context.').default(true),
      fallback,
    },
  );

/** A CEL expression. It is parsed when the manifest is checked; the manifest keeps the source. */
export const cel = (description: string) =>
  z
    .string()
    .check((ctx) => {
      for (const found of checkCel(ctx.value)) ctx.issues.push(finding(ctx.value, found));
    })
    .register(z.globalRegistry, { description, expects: 'a CEL expression' });

/** In place of CEL, `true` and `false` may be unquoted, because an environment variable inserts them that way. */
export const celOrBoolean = (description: string) =>
  z
    .boolean()
    .transform((value) => (value ? 'true' : 'false'))
    .register(z.globalRegistry, { description });

const askedTest = invocation(
  'TestInvocation',
  flag('The value when the artifact is missing, fails or is too slow.'),
);
const askedPrompt = invocation(
  'PromptInvocation',
  nonEmptyText('The prompt that counts when the artifact is missing, fails or is too slow.'),
);

/** A boolean: CEL, or an invocation whose fallback is true or false. */
export function test(description: string) {
  const expression = cel(description);
  const constant = celOrBoolean(description);
  return choice([expression, constant, askedTest], (value) =>
    isMap(value) ? askedTest : typeof value === 'boolean' ? constant : expression,
  ).register(z.globalRegistry, { description });
}

/** Text for a model: literal, or from an invocation whose fallback is text. */
function prompt(description: string) {
  const written = nonEmptyText(description);
  return choice([written, askedPrompt], (value) => (isMap(value) ? askedPrompt : written)).register(
    z.globalRegistry,
    { description },
  );
}

/** The keys of a prompt: its text, or the artifact that contains it. */
export const promptKeys = (description: string) => ({
  prompt: prompt(description).optional(),
  prompt_artifact_id: name('An artifact whose source is the prompt, instead of "prompt".').optional(),
});

export const PROMPT_KEYS = ['prompt', 'prompt_artifact_id'] as const;

const stepName = name('A step.');

const entry = closed(
  {
    title: 'an entry of "inject_into"',
    exactlyOne: [['always', 'if']],
    slips: { when: 'Use "if".', condition: 'Use "if".', name: 'Use "step" for the step.' },
  },
  {
    step: stepName,
    always: z.literal(true).describe('Without condition.').optional(),
    if: test('When it is injected.').optional(),
  },
);

const list = z
  .array(choice([stepName, entry], (value) => (isMap(value) ? entry : stepName)))
  .describe('Step names, or entries { step, always: true } or { step, if }.');

const asked = invocation(
  'StepsInvocation',
  z.array(stepName).describe('The steps when the artifact is missing, fails or is too slow.'),
);

/** A fragment of a prompt, and the steps whose prompts include it. */
export const component = closed(
  {
    title: 'a component',
    id: 'Component',
    description: 'A fragment of prompt that joins the prompts of steps.',
    exactlyOne: [PROMPT_KEYS],
    slips: {
      text: 'Use "prompt".',
      content: 'Use "prompt".',
      template: 'Use "prompt".',
      inject: 'Use "inject_into".',
      steps: 'Use "inject_into".',
    },
  },
  {
    name: name('The name of the component.'),
    ...promptKeys('The fragment.'),
    inject_into: choice([list, asked], (value) => (isMap(value) ? asked : list)).describe(
      'Step names; entries { step, always: true } or { step, if }; or an invocation that returns the list.',
    ),
  },
);

/** A condition map. It is parsed when the manifest is checked; the manifest keeps it as written. */
export const conditions = (description: string) =>
  z
    .record(
      z.string(),
      z.custom<Json>(() => true),
    )
    .check((ctx) => {
      for (const { path, ...found } of checkConditions(ctx.value as JsonObject))
        ctx.issues.push(finding(ctx.value, found, path));
    })
    .transform((value): JsonObject => value)
    .register(z.globalRegistry, { description, expects: 'a map of conditions' });

export interface ConditionFinding extends ValuesFinding {
  readonly path: readonly (string | number)[];
}

/** Everything that is wrong with a condition map on its own. Whether its fields exist is checked elsewhere. */
function checkConditions(conditions: Json): readonly ConditionFinding[] {
  const parsed = parseConditions(conditions);
  if (parsed.ok)
    return likelyOperators(conditions).map((found) => ({
      ...found,
      severity: 'warning',
      code: 'likely_operator',
      at: 'key',
    }));
  return parsed.error.map(({ code, message, hint, offset, path }) => ({
    code: 'bad_conditions',
    message,
    hint,
    path,
    ...(ABOUT_KEYS.has(code) ? { at: 'key' } : { offset }),
  }));
}

/** Problems of the last key of the path, not of its value. */
const ABOUT_KEYS: ReadonlySet<ConditionCode> = new Set(['bad_path', 'unknown_operator']);
