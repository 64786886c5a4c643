import { z } from 'zod';
import { choiceByKey } from './choice.ts';
import { closed } from './closed.ts';
import { invocation } from './invocation.ts';
import { jsonValue } from './json-value.ts';
import { nonEmptyText, text } from './names.ts';
import { positiveDuration } from './quantities.ts';

/** Arguments of a program; never passed through a shell. */
export const commandLine = (description: string) =>
  z.array(text('The program or an argument.')).min(1).meta({
    description,
    expects: 'a list of the program and its arguments ([git, log, "-n", "5"]), because no shell is used',
  });

const hookCommand = closed(
  {
    title: 'a hook',
    id: 'HookCommand',
    description: 'A program asked at this point.',
    slips: {
      run: 'Write a program as "command: [program, argument]".',
      script: 'A hook has "invoke" or "command".',
    },
  },
  {
    command: commandLine('The program and its arguments; the context comes as JSON on its standard input.'),
    cwd: nonEmptyText('The folder it runs in.').optional(),
    env: z.record(z.string(), z.string()).prefault({}).describe('Environment variables for it.'),
    timeout: positiveDuration('How long it may take.').optional(),
    fallback: jsonValue('The result when it fails or is too slow.'),
  },
);

const hookInvocation = invocation(
  'HookInvocation',
  jsonValue('The value when the artifact is missing, fails or is too slow.'),
);

const hookList = (description: string) =>
  z
    .array(choiceByKey('A hook', { invoke: hookInvocation, command: hookCommand }))
    .prefault([])
    .describe(description);

/** Order: the agent's hooks, then the workflow's, then the step's. */
export const hooks = closed(
  {
    title: '"hooks"',
    id: 'Hooks',
    description: 'Invocations and commands around turns and actions.',
    slips: {
      before_tool: 'Use "before_action".',
      after_tool: 'Use "after_action".',
      after_error: 'Use "on_error".',
    },
  },
  {
    before_turn: hookList('Before a turn begins.'),
    after_turn: hookList('After a turn.'),
    before_action: hookList('Before an action; may refuse it or change its parameters.'),
    after_action: hookList('After an action; may change the result the model sees.'),
    on_error: hookList('When an action or a turn fails.'),
  },
);
