import type { JsonObject } from '../../kernel/json.ts';
import type { Converted } from './convert-workflow.ts';

export const DEFAULT_MODEL = 'anthropic/claude-sonnet-4-5';

/** An agent that the workflow leads. */
export const agentOf = (
  { name, workflow, checks }: Converted,
  files: { readonly workflow: string; readonly checks: string },
  model: string,
): JsonObject => ({
  kind: 'Agent',
  name: `${name}-agent`,
  ...(workflow.description === undefined ? {} : { description: workflow.description }),
  model,
  instructions:
    'You work through a procedure, one step at a time. Do what the step in hand asks for, with your tools, and complete it with notes that say what you did and what came of it. What you find out and later steps need, you put into context_updates.\n',
  // A procedure takes longer than a question: loops, second opinions, people.
  limits: { turns: 500 },
  workflow: name,
  import: {
    workflows: [`./${files.workflow}`],
    ...(checks === undefined ? {} : { artifacts: [`./${files.checks}`] }),
    tools: ['builtin:filesystem'],
  },
});
