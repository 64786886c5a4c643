import { z } from 'zod';
import { PROMPT_KEYS, promptKeys } from '../decision.ts';
import { jsonObject } from '../json-value.ts';
import { modelRefOrAlias } from '../model-ref.ts';
import { targetName } from '../names.ts';
import { defineStep } from './define-step.ts';

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
export const callSteps = () => ({
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
