import { z } from 'zod';
import { actionTemplates } from './action-template.ts';
import { agentInput } from './agent-input.ts';
import { closed } from './closed.ts';
import { component } from './component.ts';
import { contextVariables } from './context-variables.ts';
import { feed } from './feed.ts';
import { group, handoff } from './handoff.ts';
import { hooks } from './hooks.ts';
import { imports } from './imports.ts';
import { internalActions } from './internal-actions.ts';
import { budget, limits } from './limits.ts';
import { memory } from './memory.ts';
import { metadata } from './metadata.ts';
import { modelRef } from './model-ref.ts';
import { name, nonEmptyText, text, version } from './names.ts';
import { notifications } from './notifications.ts';
import { count } from './numbers.ts';
import { permissions } from './permissions.ts';
import { models, prompts } from './prompts.ts';
import { protocolOptions } from './protocol-options.ts';
import { userSchema } from './user-schema.ts';

const IMPORTED = 'It stands under "import".';
const LIMITED = 'It stands under "limits".';

export const agent = closed(
  {
    title: 'an Agent',
    id: 'Agent',
    description: 'A model with instructions, what it may declare, what it may call and where it ends.',
    slips: {
      tools: IMPORTED,
      relics: IMPORTED,
      agents: IMPORTED,
      workflows: IMPORTED,
      artifacts: IMPORTED,
      imports: 'It is "import".',
      mcp: 'An MCP server stands under "import: { tools: [{ mcp: { … } }] }".',
      mcp_servers: 'An MCP server stands under "import: { tools: [{ mcp: { … } }] }".',
      system_prompt: 'The system prompt is "instructions".',
      system: 'The system prompt is "instructions".',
      prompt: 'The system prompt is "instructions"; "prompts" are what actions of type llm name.',
      context: 'It is "context_variables" or "context_feeds".',
      feeds: 'It is "context_feeds".',
      variables: 'It is "context_variables".',
      max_turns: 'It is "limits: { turns }".',
      max_iterations: 'It is "limits: { turns }".',
      max_tokens: 'It is "limits: { tokens }".',
      turns: LIMITED,
      tokens: LIMITED,
      timeout: 'It is "limits: { wall }" for a session, "limits: { action_timeout }" for an action.',
      timeout_seconds: 'It is "limits: { wall }" for a session, "limits: { action_timeout }" for an action.',
      cost_usd: LIMITED,
      triggers: 'Triggers stand in a Workflow.',
      trigger: 'Triggers stand in a Workflow.',
      steps: 'Steps stand in a Workflow; "workflow: NAME" leads this agent through it.',
      states: 'States stand in a Workflow; "workflow: NAME" leads this agent through it.',
      output_schema: 'It is "output: { schema }".',
      input_schema: 'It is "input".',
      parameters: 'The JSON Schema of what the agent is called with is "input".',
      templates: 'It is "action_templates".',
      handoffs: 'It is "handoff".',
      next_speaker: 'It stands under "group".',
      notify: 'It is "notifications".',
      alerts: 'It is "notifications".',
      webhooks:
        'Webhooks that are sent stand under "notifications: { channels }"; those that start something are triggers of a Workflow.',
      on_sync: 'It stands under "protocol".',
      seal: 'It stands under "protocol".',
      fields: 'It stands under "metadata".',
      contextWindow: 'It is "context_window".',
      max_context: 'It is "context_window".',
      num_ctx: 'What the model can read is "context_window"; Ollama\'s server has its own setting.',
      temperature: 'Sampling options are not set in a manifest.',
    },
  },
  {
    $schema: nonEmptyText('The JSON Schema of this file, for editors.').optional(),
    kind: z.literal('Agent'),
    name: name('The name of the agent.'),
    version: version().optional(),
    description: text('What it does; shown to agents that may call it.').optional(),
    model: modelRef(
      "provider/model or scripted:FILE; Claude, GPT and Gemini models need no provider. A sub-agent without a model uses its parent's.",
    ).optional(),
    context_window: count(
      'Tokens that the model can read; by default what is known of it, and 128,000 where nothing is.',
    ).optional(),
    models: models.prefault({}),
    instructions: text('The system prompt; it never changes within a session.').default(''),
    dialect: z.enum(['tags', 'tools', 'step']).default('tags').describe('How the model acts.'),
    workflow: name('A workflow.')
      .nullable()
      .default(null)
      .describe('The workflow that leads every session of this agent.'),
    prompts: prompts.prefault({}),
    protocol: protocolOptions.prefault({}),
    limits: limits.prefault({}),
    budget: budget.optional(),
    metadata: metadata.prefault({}),
    context_variables: contextVariables.prefault({}),
    context_feeds: z.array(feed).prefault([]).describe('What is kept in front of the model.'),
    components: z
      .array(component)
      .prefault([])
      .describe('Fragments of prompt that join the prompts of steps.'),
    hooks: hooks.prefault({}),
    notifications: notifications.optional(),
    input: agentInput,
    output: closed(
      {
        title: '"output"',
        description: 'The final response must be JSON of this schema.',
        slips: { type: 'A JSON Schema goes into "schema".', properties: 'A JSON Schema goes into "schema".' },
      },
      { schema: userSchema('A JSON Schema (2020-12) of the final response.') },
    ).optional(),
    internal_actions: internalActions.prefault({}),
    memory: memory.optional(),
    import: imports.prefault({}),
    handoff,
    group: group.optional(),
    action_templates: actionTemplates.prefault({}),
    permissions: permissions.prefault({}),
    examples: z
      .array(nonEmptyText('An input.'))
      .optional()
      .describe('Inputs to try the agent with; the console offers them where a session is started.'),
  },
);
