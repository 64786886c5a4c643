import { z } from 'zod';
import { choice, choiceByKey, choiceByValue, orReference } from '../choice.ts';
import { conditions, invocation, PROMPT_KEYS, promptKeys } from '../decision.ts';
import { commandLine } from '../hooks.ts';
import { modelRefOrAlias } from '../model-ref.ts';
import { isMap, once } from '../plain-values.ts';
import { eventType } from '../trigger.ts';
import {
  jsonObject,
  jsonValue,
  moment,
  name,
  nonEmptyText,
  positiveDuration,
  targetName,
  text,
} from '../values.ts';
import { compositeSteps, defineStep, guidedSteps } from './composite-steps.ts';

const transitionSlips = {
  to: 'Put "to" into an entry of "transitions".',
  options: 'Use "transition_map".',
  map: 'Use "transition_map".',
  source: 'Use "transition_source".',
};

const byModel = () =>
  defineStep(
    'transition',
    { description: 'A model chooses one of the answers.', exactlyOne: [PROMPT_KEYS], slips: transitionSlips },
    {
      type: z.literal('transition'),
      ...promptKeys('What is asked.'),
      transition_map: z
        .record(nonEmptyText('An answer.'), name('The state it leads to.'))
        .describe('The answers, each with the state it leads to.'),
      model: modelRefOrAlias("The model; the agent's own if absent.").optional(),
    },
  );

const mapped = () =>
  defineStep(
    'transition',
    {
      description: 'An artifact gives one of the answers.',
      slips: { ...transitionSlips, prompt: 'Remove it. An artifact decides here, without a prompt.' },
    },
    {
      type: z.literal('transition'),
      transition_source: invocation(
        'AnswerInvocation',
        jsonValue('What counts when the artifact is missing, fails or is too slow: an answer, or a state.'),
      ),
      transition_map: z
        .record(
          nonEmptyText('What the artifact returns, as text: `true`, `3`, `pivot`.'),
          name('The state it leads to.'),
        )
        .describe('What the artifact may return, each with the state it leads to.'),
    },
  );

const byArtifact = () =>
  defineStep(
    'transition',
    {
      description: 'An artifact names the state.',
      slips: { ...transitionSlips, prompt: 'Remove it. An artifact decides here, without a prompt.' },
    },
    {
      type: z.literal('transition'),
      transition_source: invocation(
        'StateInvocation',
        name('The state when the artifact is missing, fails or is too slow.'),
      ),
    },
  );

const transitionStep = () => {
  const [model, artifact, both] = [byModel(), byArtifact(), mapped()];
  const one = choiceByKey('A transition step', { transition_map: model, transition_source: artifact });
  return choice([model, artifact, both], (value) =>
    isMap(value) && value.transition_source !== undefined && value.transition_map !== undefined ? both : one,
  );
};

const approvalStep = () =>
  defineStep(
    'approval',
    {
      description: 'Waits for a person.',
      exactlyOne: [PROMPT_KEYS],
      slips: {
        message: 'Use "prompt".',
        approvers: 'Use "assignee".',
        approver: 'Use "assignee".',
        choices: 'Use "options".',
      },
    },
    {
      type: z.literal('approval'),
      ...promptKeys('What the person is asked.'),
      options: z
        .array(nonEmptyText('An answer.'))
        .min(1)
        .default(['approve', 'reject'])
        .describe('The answers to choose from.'),
      assignee: nonEmptyText('Who is asked; anyone if absent.').optional(),
      on_timeout: nonEmptyText('What happens after "timeout": fail, or one of the options.').default('fail'),
    },
  );

const waitSlips = {
  duration: 'Use "for".',
  seconds: 'Use "for".',
  sleep: 'Use "for".',
  delay: 'Use "for".',
  on: 'Use "event".',
  at: 'Use "until".',
};

const wait = <Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) =>
  defineStep('wait', { description, slips: waitSlips }, { type: z.literal('wait'), ...shape });

/** Durable: it holds no process. */
const waitStep = () =>
  choiceByKey('A wait step', {
    for: wait('Waits for a time.', { for: orReference('How long.', positiveDuration('How long.')) }),
    until: wait('Waits until a moment.', {
      until: orReference('The moment.', moment('The moment, ISO 8601.')),
    }),
    event: wait('Waits for an event.', {
      event: eventType('The type of the event.'),
      match: conditions('Conditions on its fields.').optional(),
    }),
  });

const valueSlips = {
  value: 'Use "values: { NAME: value }".',
  fields: 'Use "values".',
  metadata: 'Use "values".',
  variables: 'Use "values".',
  set: 'Use "values".',
  variable: 'Use "values: { NAME: value }".',
};

/** Steps that act on the session. */
const sessionSteps = () => ({
  set_metadata: defineStep(
    'set_metadata',
    { description: "Sets fields of the session's metadata.", slips: valueSlips },
    {
      type: z.literal('set_metadata'),
      values: orReference('The fields and their values.', jsonObject('The fields and their values.')),
    },
  ),
  set_variable: defineStep(
    'set_variable',
    { description: 'Sets context variables.', slips: valueSlips },
    {
      type: z.literal('set_variable'),
      values: orReference('The variables and their values.', jsonObject('The variables and their values.')),
    },
  ),
  notify: defineStep(
    'notify',
    {
      description: 'Tells people.',
      slips: { text: 'Use "message".', prompt: 'Use "message".', channel: 'Use "to".' },
    },
    {
      type: z.literal('notify'),
      message: nonEmptyText('What is said.'),
      to: text("Who is told: a channel of the agent's notifications; all of them if absent.").optional(),
      data: jsonValue('What goes with it.').optional(),
    },
  ),
  emit: defineStep(
    'emit',
    {
      description: 'Puts an event of type custom on the log.',
      slips: { type_name: 'Use "event".', payload: 'Use "data".' },
    },
    {
      type: z.literal('emit'),
      event: name('The name of the event.'),
      data: jsonValue('What it carries.').optional(),
    },
  ),
});

const slips = {
  source: 'Use "script".',
  code: 'Use "script".',
  run: 'Use "script" or "command".',
  shell: 'Write "command" as a list, because no shell is used.',
};

const javascript = () =>
  defineStep(
    'script',
    { description: 'Sandboxed JavaScript.', slips },
    {
      type: z.literal('script'),
      script: nonEmptyText('Sandboxed JavaScript; its last value is the result.'),
      parameters: jsonObject('What it sees as "parameters".').prefault({}),
    },
  );

const command = () =>
  defineStep(
    'script',
    { description: 'A program.', slips },
    {
      type: z.literal('script'),
      command: commandLine('The program and its arguments; never passed through a shell.'),
      cwd: nonEmptyText('The folder it runs in.').optional(),
      env: z.record(z.string(), z.string()).prefault({}).describe('Environment variables for it.'),
      stdin: text('What it reads from standard input.').optional(),
    },
  );

const scriptStep = () => choiceByKey('A script step', { script: javascript(), command: command() });

const parameters = () => jsonObject(`Its parameters; \${…} is resolved when the step runs.`).prefault({});

const call = <Type extends string>(type: Type, description: string) =>
  defineStep(
    type,
    {
      description,
      slips: { prompt: `${type === 'agent' ? 'An' : 'A'} ${type} step has "target" and "parameters".` },
    },
    { type: z.literal(type), target: targetName(`The ${type} that is called.`), parameters: parameters() },
  );

/** Steps that call a target and take its result. */
const callSteps = () => ({
  tool: call('tool', 'Calls a tool.'),
  relic: call('relic', 'Calls a relic; "parameters" holds the operation.'),
  agent: call('agent', 'Runs an agent and takes its final response.'),
  workflow: call('workflow', 'Runs another workflow.'),
  llm: defineStep(
    'llm',
    { description: 'Asks a model once.', exactlyOne: [['target', ...PROMPT_KEYS]] },
    {
      type: z.literal('llm'),
      target: targetName('A prompt of the agent\'s "prompts".').optional(),
      ...promptKeys('The prompt itself, in place of target.'),
      parameters: parameters(),
      model: modelRefOrAlias("The model; the agent's own if absent.").optional(),
    },
  ),
});

const simpleSteps = () => ({
  ...callSteps(),
  ...guidedSteps(),
  script: scriptStep(),
  transition: transitionStep(),
  ...sessionSteps(),
  approval: approvalStep(),
  wait: waitStep(),
});
type Simple = ReturnType<typeof simpleSteps>;

type StepComposite = ReturnType<typeof compositeSteps<unknown>>;
type Own<Type extends keyof StepComposite, Nested extends string> = Omit<
  z.output<StepComposite[Type]>,
  Nested
>;

export type SimpleStep = z.output<Simple[keyof Simple]>;
export type ParallelStep = Own<'parallel', 'branches'> & { readonly branches: readonly (readonly Step[])[] };
export type RaceStep = Own<'race', 'branches'> & { readonly branches: readonly (readonly Step[])[] };
export type ForeachStep = Own<'foreach', 'body'> & { readonly body: readonly Step[] };
export type StepLoopStep = Own<'loop', 'body'> & { readonly body: readonly Step[] };
export type SwitchStep = Own<'switch', 'cases' | 'default'> & {
  readonly cases: readonly { readonly if: SimpleStep['if'] & {}; readonly body: readonly Step[] }[];
  readonly default?: readonly Step[] | undefined;
};
export type TryStep = Own<'try', 'body' | 'catch' | 'finally'> & {
  readonly body: readonly Step[];
  readonly catch?: readonly Step[] | undefined;
  readonly finally?: readonly Step[] | undefined;
};

/** A step of a workflow, told apart by `type`. */
export type Step = SimpleStep | ParallelStep | RaceStep | ForeachStep | StepLoopStep | SwitchStep | TryStep;

type Given<Type extends keyof StepComposite, Nested extends string> = Omit<
  z.input<StepComposite[Type]>,
  Nested
>;
type WrittenBranches = { readonly branches: readonly (WrittenStep | readonly WrittenStep[])[] };

/** A step as it stands in a manifest. */
export type WrittenStep =
  | z.input<Simple[keyof Simple]>
  | (Given<'parallel', 'branches'> & WrittenBranches)
  | (Given<'race', 'branches'> & WrittenBranches)
  | (Given<'foreach', 'body'> & { readonly body: readonly WrittenStep[] })
  | (Given<'loop', 'body'> & { readonly body: readonly WrittenStep[] })
  | (Given<'switch', 'cases' | 'default'> & {
      readonly cases: readonly {
        readonly if: NonNullable<z.input<Simple['tool']>['if']>;
        readonly body: readonly WrittenStep[];
      }[];
      readonly default?: readonly WrittenStep[] | undefined;
    })
  | (Given<'try', 'body' | 'catch' | 'finally'> & {
      readonly body: readonly WrittenStep[];
      readonly catch?: readonly WrittenStep[] | undefined;
      readonly finally?: readonly WrittenStep[] | undefined;
    });

/** Every type of step. */
export const step: () => z.ZodType<Step> = once(() => {
  const nested: z.ZodType<Step> = z.lazy(() => step());
  const steps = { ...simpleSteps(), ...compositeSteps(nested) };
  return choiceByValue('A step', 'type', steps).meta({
    id: 'Step',
    description: 'One step of a workflow.',
  });
});
