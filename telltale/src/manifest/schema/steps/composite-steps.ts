import { z } from 'zod';
import { choice, choiceByKey } from '../choice.ts';
import { type ClosedPlace, closed, type Slips } from '../closed.ts';
import { PROMPT_KEYS, promptKeys, test } from '../decision.ts';
import { commandLine, hooks } from '../hooks.ts';
import { modelRefOrAlias } from '../model-ref.ts';
import { isMap, once } from '../plain-values.ts';
import { showValue } from '../show-value.ts';
import { userSchema } from '../user-schema.ts';
import {
  count,
  countFromZero,
  finding,
  flag,
  identifier,
  jsonObject,
  jsonValue,
  name,
  nonEmptyText,
  positiveDuration,
  targetName,
  text,
} from '../values.ts';

const LIST_REFERENCE = /^\$(?:\{[^{}]+\}|[A-Za-z_][A-Za-z0-9_.[\]-]*)$/;

const BODY_SLIPS = { steps: 'Use "body".', do: 'Use "body".' };
const BRANCH_SLIPS = {
  steps: 'Use "branches": a list of steps, or of lists of steps.',
  body: 'Use "branches".',
};

/** Steps that hold other steps; `step` is what may stand inside. */
export function compositeSteps<Step>(step: z.ZodType<Step>) {
  const written = z.array(jsonValue('An item.')).describe('The items.');
  const referred = z.string().regex(LIST_REFERENCE).meta({
    description: 'A reference to a list.',
    expects: `a list, or one reference to a list, like \${steps.NAME.output}`,
  });

  const body = (description: string) => z.array(step).min(1).describe(description);
  const one = step.transform((only): Step[] => [only]);
  const several = body('Steps, one after the other.');
  const branches = z
    .array(choice([several, one], (value) => (Array.isArray(value) ? several : one)))
    .min(1)
    .describe('What runs side by side: each a step or a list of steps.');
  const max_parallel = count('How many at a time; all if absent.').optional();
  const switchCase = closed(
    {
      title: 'a case',
      slips: {
        ...BODY_SLIPS,
        when: 'Use "if".',
        condition: 'Use "if".',
        case: 'Use "if".',
        value: 'Use "if", and write the comparison in CEL.',
      },
    },
    { if: test('Whether this case counts.'), body: body('Its steps.') },
  );
  return {
    parallel: defineStep(
      'parallel',
      {
        description: 'Branches run side by side.',
        slips: { ...BRANCH_SLIPS, concurrency: 'Use "max_parallel".' },
      },
      {
        type: z.literal('parallel'),
        branches,
        max_parallel,
        fail_fast: flag('true: a failed branch cancels the others.').default(true),
      },
    ),
    race: defineStep(
      'race',
      {
        description: 'The first branch to succeed cancels the rest.',
        slips: { ...BRANCH_SLIPS, fail_fast: 'In a race the first to succeed cancels the rest.' },
      },
      { type: z.literal('race'), branches, max_parallel },
    ),
    foreach: defineStep(
      'foreach',
      {
        description: 'Its body runs once for each item.',
        slips: {
          ...BODY_SLIPS,
          items: 'Use "in".',
          over: 'Use "in".',
          item: 'Use "as".',
          concurrency: 'Use "max_parallel".',
        },
      },
      {
        type: z.literal('foreach'),
        in: choice([written, referred], (value) => (typeof value === 'string' ? referred : written)).describe(
          'The items, or a reference to them.',
        ),
        as: identifier('The name of the item inside the body.').default('item'),
        max: count('The most items: those behind them are left out.').optional(),
        max_parallel: count('How many at a time; 16 if absent.').optional(),
        body: body('What runs for each item.'),
      },
    ),
    loop: defineStep(
      'loop',
      {
        description: 'Its body runs again and again.',
        exactlyOne: [['while', 'until']],
        slips: {
          ...BODY_SLIPS,
          max_iterations: 'Use "max".',
          times: 'Use "max".',
          limit: 'Use "max".',
          in: 'Use a foreach step to loop over items.',
        },
      },
      {
        type: z.literal('loop'),
        while: test('Runs as long as this holds, asked before each round.').optional(),
        until: test('Runs until this holds, asked after each round.').optional(),
        max: count('The most rounds.'),
        body: body('What runs in each round.'),
      },
    ),
    switch: defineStep(
      'switch',
      {
        description: 'The first case that holds runs.',
        slips: {
          on: 'Each case has its own "if".',
          value: 'Each case has its own "if".',
          branches: 'Use "cases".',
          else: 'Use "default".',
        },
      },
      {
        type: z.literal('switch'),
        cases: z.array(switchCase).min(1).describe('The cases, in order.'),
        default: body('What runs when no case holds.').optional(),
      },
    ),
    try: defineStep(
      'try',
      {
        description: 'Steps with a way out.',
        atLeastOne: [['catch', 'finally']],
        slips: { ...BODY_SLIPS, except: 'Use "catch".', on_failure: 'Use "catch".' },
      },
      {
        type: z.literal('try'),
        body: body('What is tried.'),
        catch: body('What runs when the body fails.').optional(),
        finally: body('What runs in any case.').optional(),
      },
    ),
  };
}

const agent = () => name('The agent that works on it; the bound or triggering one if absent.').optional();

const fragments = () =>
  z
    .array(
      closed(
        {
          title: 'a fragment',
          slips: { when: 'Use "if".', condition: 'Use "if".', prompt: 'Use "text".' },
        },
        {
          text: nonEmptyText('What joins the prompt; references count in it.'),
          if: test('When it does: CEL or an invocation; always if absent.').optional(),
        },
      ),
    )
    .prefault([])
    .describe('Parts that join the prompt, in order, each where its test holds when the step begins.');

const confirm = () =>
  choice([z.literal(true), nonEmptyText('What the person is asked.')], (value) =>
    value === true ? z.literal(true) : nonEmptyText('What the person is asked.'),
  )
    .optional()
    .describe('A person says whether the step may begin: true, or what they are asked.');

/** Steps that an agent works on while the runtime owns the progress. */
export const guidedSteps = () => ({
  task: defineStep(
    'task',
    {
      description: 'An agent works on the prompt until it completes the step.',
      exactlyOne: [PROMPT_KEYS],
      slips: {
        target: 'Use "agent" for the agent of a task.',
        instructions: 'Use "prompt".',
        max_iterations: 'Use "max_turns".',
      },
    },
    {
      type: z.literal('task'),
      agent: agent(),
      ...promptKeys('What to do.'),
      requires: z
        .record(
          name('A key of context_updates.'),
          userSchema('A JSON Schema (2020-12) that its value must satisfy.'),
        )
        .prefault({})
        .describe('What complete_step must bring in context_updates, each with its schema.'),
      evidence: z
        .array(name('A tool, relic, agent or workflow.'))
        .prefault([])
        .describe(
          'Proof, not words: complete_step must name an action of each that was done in this step and succeeded.',
        ),
      fragments: fragments(),
      confirm: confirm(),
      max_turns: count('The most turns before it fails.').optional(),
      verify: verify.optional(),
    },
  ),
  plan: defineStep(
    'plan',
    {
      description: 'One call plans; the runtime executes the plan without the model.',
      exactlyOne: [PROMPT_KEYS],
      slips: {
        target: 'Use "agent" for the agent of a plan.',
        max_turns: 'Remove it. A plan always takes one call, at most one re-plan and a closing call.',
      },
    },
    {
      type: z.literal('plan'),
      agent: agent(),
      ...promptKeys('What to plan.'),
      fragments: fragments(),
      model: modelRefOrAlias("The model; the agent's own if absent.").optional(),
      tools: z
        .array(name('A tool, relic, agent or workflow.'))
        .optional()
        .describe('What the plan may call; all that the agent can, if absent.'),
      approval: z
        .enum(['always', 'never'])
        .default('never')
        .describe('always: a person approves the plan before it is executed.'),
      verify: verify.optional(),
    },
  ),
});

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
const verify = choice(verifiers.options, (value) =>
  isMap(value) &&
  BY_MODEL.some((key) => value[key] !== undefined) &&
  NAMED.every((key) => value[key] === undefined)
    ? byModel
    : verifiers,
).meta({
  id: 'Verifier',
  description: 'Who judges a completed step: a model, an artifact or a command.',
});

interface StepPlace extends Omit<ClosedPlace, 'title' | 'slips'> {
  readonly slips?: Slips;
}

/** A closed map with the keys of every step and those of this type. */
export function defineStep<Shape extends z.core.$ZodLooseShape>(
  type: string,
  place: StepPlace,
  shape: Shape,
) {
  const title = `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type} step`;
  const common = { ...STEP_SLIPS, ...(Object.hasOwn(shape, 'parameters') ? PARAMETER_SLIPS : {}) };
  const elsewhere = Object.fromEntries(Object.entries(common).filter(([key]) => !Object.hasOwn(shape, key)));
  return closed({ ...place, title, slips: { ...elsewhere, ...place.slips } }, { ...stepKeys(), ...shape });
}

/** Words of `condition` that are not CEL. */
export const STEP_CONDITIONS = ['previous_steps_success', 'always', 'on_failure'] as const;

export type StepErrorPolicy = 'fail' | 'continue' | { readonly goto: string };

const ON_ERROR = /^(?:fail|continue|goto +[A-Za-z_][A-Za-z0-9_-]*)$/;

const CALL_TYPES = ['tool', 'relic', 'agent', 'llm', 'workflow'] as const;

const STEP_SLIPS: Slips = {
  depends_on: 'Steps use "needs".',
  dependsOn: 'Steps use "needs".',
  after: 'Steps use "needs".',
  id: 'A step is named by "name".',
  when: 'Use "if" (CEL) or "condition".',
  uses: 'Use "type" and "target" to name what is called.',
  tool: 'Write "type: tool" and "target: NAME".',
  relic: 'Write "type: relic" and "target: NAME".',
  timeout_seconds: 'Use "timeout": a bare number is seconds.',
  timeout_minutes: 'Use "timeout": write 5m.',
  retries: 'Use "retry: { max, backoff }".',
  max_retries: 'Use "retry: { max, backoff }".',
  continue_on_error: 'Use "on_error: continue".',
  'continue-on-error': 'Use "on_error: continue".',
  output: `Read the result of a step as \${steps.NAME.output}. "output_key" also stores it.`,
  outputs: `Read the result of a step as \${steps.NAME.output}. "output_key" also stores it.`,
  save_as: 'Use "output_key".',
  rollback: 'Use "compensate" for what undoes a step.',
  next: 'Steps run in the order of the list, or by "needs". To jump after a failure, use "on_error: goto NAME".',
  transitions: 'Transitions belong to a state.',
  inject_into: 'Use "inject_into" in a component. Components are next to "steps".',
};

/** Of the steps that have "parameters". */
const PARAMETER_SLIPS: Slips = {
  params: 'Use "parameters".',
  args: 'Use "parameters".',
  with: 'Use "parameters".',
  input: 'Use "parameters".',
  inputs: 'Use "parameters".',
};

/** What every step takes. */
const stepKeys = once(() => {
  const onError = z
    .string()
    .meta({ pattern: ON_ERROR.source, expects: '"fail", "continue" or "goto STEP"' })
    .transform((value, ctx): StepErrorPolicy => {
      if (value === 'fail' || value === 'continue') return value;
      if (ON_ERROR.test(value)) return { goto: value.replace(/^goto +/, '') };
      const hint = 'Allowed: fail, continue, goto STEP.';
      const found = finding(value, {
        code: 'not_allowed',
        message: `"on_error" cannot be ${showValue(value)}.`,
        hint,
      });
      ctx.issues.push(found as z.core.$ZodRawIssue<z.core.$ZodIssueCustom>);
      return z.NEVER;
    })
    .meta({
      description: 'When the step fails: fail the run, go on, or go to another step of the same list.',
    });

  const tries = countFromZero('Further tries after a failure.');
  const retryMap = closed(
    {
      title: '"retry"',
      slips: {
        attempts: 'Use "max".',
        times: 'Use "max".',
        count: 'Use "max".',
        delay: 'Use "backoff".',
      },
    },
    { max: tries, backoff: positiveDuration('The first pause; it doubles each time.').prefault('250ms') },
  );
  const retryCount = tries.transform((max) => ({ max, backoff: { ms: 250 } }));
  const retry = choice([retryMap, retryCount], (value) => (isMap(value) ? retryMap : retryCount)).describe(
    'Further tries: { max, backoff }, or just the number.',
  );

  const compensation = closed(
    {
      title: 'a compensation',
      id: 'StepCompensation',
      description: 'A call that undoes the step when the run rolls back.',
      slips: { name: 'Use "target".', params: 'Use "parameters".' },
    },
    {
      type: z.enum(CALL_TYPES).default('tool').describe('What is called.'),
      target: targetName('Its name.'),
      parameters: jsonObject('Its parameters.').prefault({}),
      timeout: positiveDuration('Time for each try.').optional(),
    },
  );

  return {
    name: name('The name of the step, unique in the workflow.'),
    description: text('What it is for.').optional(),
    if: test('Whether it runs at all: CEL or an invocation.').optional(),
    condition: test('previous_steps_success, always, on_failure, CEL, or an invocation.').optional(),
    needs: z
      .array(name('A step of the same list.'))
      .optional()
      .describe('Steps that come first; with it the list is a graph.'),
    timeout: positiveDuration('Time for each try.').optional(),
    retry: retry.optional(),
    on_error: onError.optional(),
    output_key: name('Also store the result under this name.').optional(),
    compensate: compensation.optional(),
    hooks: hooks.optional(),
  };
});
