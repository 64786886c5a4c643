import { z } from 'zod';
import { cel } from './cel.ts';
import { closed } from './closed.ts';
import { jsonObject } from './json-value.ts';
import { name, targetName } from './names.ts';
import { countFromZero } from './numbers.ts';
import { positiveDuration } from './quantities.ts';

const ACTION_TYPES = [
  'tool',
  'agent',
  'relic',
  'workflow',
  'llm',
  'artifact',
  'internal',
  'context_feed',
] as const;

const SLIPS = {
  id: 'Each use of a template has an id of its own: give it on the <action> tag.',
  tool: 'Write "type: tool" and "name: NAME".',
  target: 'In an action, use "name". Only a workflow step has "target".',
  params: 'Use "parameters".',
  needs: 'In an action, use "depends_on". Only a workflow step has "needs".',
  timeout_seconds: 'Use "timeout": a bare number is seconds.',
  retries: 'Use "retry".',
  max_retries: 'Use "retry".',
  extends: 'To take the defaults of another template, use "template".',
};

const envelopeKeys = {
  // No default: a template without a type has that of the one it names.
  type: z
    .enum(ACTION_TYPES)
    .optional()
    .describe(
      'What is called; if absent, what its template calls, else a tool. context_feed is an alias of internal.',
    ),
  mode: z.enum(['sync', 'async', 'background', 'fire_and_forget']).optional().describe('async if absent.'),
  name: targetName('The tool, agent, relic, workflow, prompt, artifact or internal action.').optional(),
  parameters: jsonObject('Its parameters; $variables are resolved just before the start.').optional(),
  output_key: name('Also store the result under this name.').optional(),
  depends_on: z.array(name("An action's id.")).optional().describe('Ids that must have succeeded first.'),
  timeout: positiveDuration('Time for each try.').optional(),
  retry: countFromZero('Further tries after a failure.').optional(),
  on_error: z
    .enum(['skip', 'fail', 'retry'])
    .optional()
    .describe('skip: record it and go on; fail: end the session; retry: as retry: 3.'),
  if: cel('A CEL test over metadata, vars, actions and agent; false: the action is skipped.').optional(),
  literal: z.boolean().optional().describe('true: nothing in the parameters is replaced.'),
  template: name('Another template whose fields are the defaults.').optional(),
};

const compensation = closed(
  {
    title: 'a compensation',
    description: 'An action that undoes this one when the session rolls back.',
    slips: SLIPS,
    atLeastOne: [['name', 'template']],
  },
  envelopeKeys,
);

const actionTemplate = closed(
  {
    title: 'an action template',
    description: 'Defaults for an action that names this template.',
    slips: SLIPS,
  },
  { ...envelopeKeys, compensate: compensation.optional() },
);

export const actionTemplates = z
  .record(name('The name of a template.'), actionTemplate)
  .describe('Defaults that an action takes by "template".');
