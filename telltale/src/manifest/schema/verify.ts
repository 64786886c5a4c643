import { z } from 'zod';
import { choice, choiceByKey } from './choice.ts';
import { closed } from './closed.ts';
import { commandLine } from './hooks.ts';
import { isMap } from './is-map.ts';
import { jsonValue } from './json-value.ts';
import { modelRefOrAlias } from './model-ref.ts';
import { name, nonEmptyText } from './names.ts';
import { countFromZero, flag } from './numbers.ts';
import { positiveDuration } from './quantities.ts';

const common = {
  when: z
    .enum(['completion', 'turn'])
    .default('completion')
    .describe("Judge at completion, or after every turn's actions."),
  max_retries: countFromZero('How often the agent may try again before a person decides.').default(2),
};

const AS_ASKED =
  'Was all that the task asks for really done? What the notes claim has to show in the actions and their results.';

const SLIPS = {
  prompt: 'Use "instructions".',
  retries: 'Use "max_retries".',
  confidence: 'Use "threshold".',
  artifact: 'Use "invoke".',
};

const byModel = closed(
  {
    title: 'a verifier',
    description: 'A second model judges the step.',
    slips: SLIPS,
    atLeastOne: [['instructions', 'model', 'threshold']],
  },
  {
    model: modelRefOrAlias("The model that judges; the agent's fast one if absent, or its own.").optional(),
    instructions: nonEmptyText('What it judges by; whether the task was done as asked, if absent.').default(
      AS_ASKED,
    ),
    threshold: z
      .enum(['low', 'medium', 'high'])
      .default('medium')
      .describe('The least confidence that counts as a pass.'),
    ...common,
  },
);

const NAMED = ['instructions', 'invoke', 'command'];
const BY_MODEL = ['model', 'threshold'];

const byArtifact = closed(
  { title: 'a verifying artifact', description: 'An artifact judges the step.', slips: SLIPS },
  {
    invoke: name('The artifact.'),
    method: name('Its method.'),
    args: z.array(jsonValue('An argument.')).prefault([]).describe('Arguments before the context.'),
    cache: flag('false asks afresh each time.').default(true),
    fallback: z
      .enum(['pass', 'retry', 'escalate'])
      .describe('The value when the artifact is missing, fails or is too slow.'),
    ...common,
  },
);

const byCommand = closed(
  { title: 'a verifying command', description: 'A program judges the step: exit 0 is a pass.', slips: SLIPS },
  {
    command: commandLine('The program and its arguments.'),
    cwd: nonEmptyText('The folder it runs in.').optional(),
    env: z.record(z.string(), z.string()).prefault({}).describe('Environment variables for it.'),
    timeout: positiveDuration('How long it may take.').optional(),
    ...common,
  },
);

const verifiers = choiceByKey('A verifier', {
  instructions: byModel,
  invoke: byArtifact,
  command: byCommand,
});

/** A model may judge without instructions of its own: then another of its keys says that it does. */
export const verify = choice(verifiers.options, (value) =>
  isMap(value) &&
  BY_MODEL.some((key) => value[key] !== undefined) &&
  NAMED.every((key) => value[key] === undefined)
    ? byModel
    : verifiers,
).meta({
  id: 'Verifier',
  description: 'Who judges a completed step: a model, an artifact or a command.',
});
