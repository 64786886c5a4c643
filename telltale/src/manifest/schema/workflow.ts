import { z } from 'zod';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { contextVariables } from './context-variables.ts';
import { component, test } from './decision.ts';
import { hooks } from './hooks.ts';
import { once } from './plain-values.ts';
import { step } from './steps/step.ts';
import { trigger } from './trigger.ts';
import { userSchema } from './user-schema.ts';
import { count, flag, name, nonEmptyText, text, version } from './values.ts';

const TRANSITION_SLIPS = {
  target: 'Use "to".',
  state: 'Use "to".',
  if: 'Use "condition".',
  when: 'Use "condition".',
  test: 'Use "condition".',
  next: 'Use "to".',
};

export const workflow = once(() => {
  const condition = test('When it is taken: CEL or an invocation; always if absent.').optional();
  const to = name('The state it leads to.');
  const transition = closed(
    {
      title: 'a transition',
      slips: {
        ...TRANSITION_SLIPS,
        from: 'Remove it here. Only transitions in the workflow\'s own list have "from".',
      },
    },
    { to, condition },
  );

  const fromOne = z
    .string()
    .min(1)
    .meta({ description: 'A state, or "*" for every one.', expects: 'a state\'s name or "*"' });
  const fromSeveral = z.array(name('A state.')).min(1);

  const globalTransition = closed(
    { title: 'a transition', slips: TRANSITION_SLIPS },
    {
      from: choice([fromOne, fromSeveral], (value) =>
        Array.isArray(value) ? fromSeveral : fromOne,
      ).describe('The state it leaves: a name, a list of names, or "*".'),
      to,
      condition,
    },
  );

  const state = closed(
    {
      title: 'a state',
      id: 'State',
      description: 'One state of a machine.',
      slips: {
        on: 'Use "transitions", a list of { to, condition }.',
        entry: 'Use "steps".',
        on_enter: 'Use "steps".',
        type: 'Use "final: true" for an end.',
        end: 'Use "final: true".',
        terminal: 'Use "final: true".',
        next: 'Use "transitions: [{ to: NAME }]".',
        name: 'The key of a state is its name.',
        initial: 'Put "initial" next to "states".',
      },
    },
    {
      description: text('What the state is for.').optional(),
      steps: z.array(step()).prefault([]).describe('What runs when it is entered.'),
      transitions: z
        .array(transition)
        .prefault([])
        .describe('Where it goes next, tried in order after the steps.'),
      final: flag('true: the run ends here.').default(false),
    },
  );

  return closed(
    {
      title: 'a Workflow',
      id: 'Workflow',
      description: 'Steps or states, run by hand, by triggers, or as the lead of an agent.',
      exactlyOne: [['steps', 'states']],
      atMostOne: [['trigger', 'triggers']],
      demands: {
        states: ['initial'],
        initial: ['states'],
        transitions: ['states'],
        max_transitions: ['states'],
      },
      slips: {
        on: 'Use "trigger" or "triggers".',
        parameters: 'Use "input" for the JSON Schema of the input.',
        inputs: 'Use "input" for the JSON Schema of the input.',
        input_schema: 'Use "input" for the JSON Schema of the input.',
        output: 'The result of a workflow is the result of its last step.',
        outputs: 'The result of a workflow is the result of its last step.',
        variables: 'Use "context_variables".',
        vars: 'Use "context_variables".',
        jobs: 'Use "steps".',
        tasks: 'Use "steps".',
        nodes: 'Use "states" or "steps".',
        initial_state: 'Use "initial".',
        start: 'Use "initial".',
        import: 'Imports belong in the Agent.',
        model: 'Set models in the Agent, or in the step that uses one.',
        permissions: 'Permissions belong to the Agent.',
        timeout: 'A time limit belongs to a step.',
        concurrency: 'It belongs to a trigger.',
        cron: 'It belongs to a trigger of type schedule.',
      },
    },
    {
      $schema: nonEmptyText('The JSON Schema of this file, for editors.').optional(),
      kind: z.literal('Workflow'),
      name: name('The name of the workflow.'),
      version: version().optional(),
      description: text('What it does.').optional(),
      input: userSchema('A JSON Schema (2020-12) of the input.').optional(),
      context_variables: contextVariables.prefault({}),
      trigger: trigger().optional(),
      triggers: z.array(trigger()).optional().describe('What starts it.'),
      components: z
        .array(component)
        .prefault([])
        .describe('Fragments of prompt that join the prompts of steps.'),
      references: z
        .array(
          closed(
            {
              title: 'a reference',
              slips: { url: 'Use "source".', path: 'Use "source".', description: 'Use "purpose".' },
            },
            {
              title: nonEmptyText('What it is called.'),
              source: nonEmptyText('A file, or an address.'),
              purpose: nonEmptyText('What it is for.').optional(),
              authoritative: flag('true: where it and something else differ, it counts.').default(false),
            },
          ),
        )
        .prefault([])
        .describe('Documents that whoever works on its tasks is told of, with the first of them.'),
      hooks: hooks.prefault({}),
      steps: z
        .array(step())
        .min(1)
        .optional()
        .describe('What runs: in order, or as a graph where "needs" is given.'),
      states: z.record(name('A state.'), state).optional().describe('A machine in place of steps.'),
      initial: name('The state it begins in.').optional(),
      transitions: z
        .array(globalTransition)
        .optional()
        .describe("Transitions of several states at once; they come after a state's own."),
      max_transitions: count('The most transitions of a run; 100 if absent.').optional(),
      news: z
        .enum(['none', 'failures', 'ends'])
        .default('none')
        .describe(
          'Which ends of its runs the agent that set them off hears of in its next turn: none, failures, or all.',
        ),
    },
  );
});
