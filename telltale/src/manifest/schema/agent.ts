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

const IMPORTED = 'Put it under "import".';
const LIMITED = 'Put it under "limits".';

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
      imports: 'Use "import".',
      mcp: 'Put an MCP server under "import: { tools: [{ mcp: { … } }] }".',
      mcp_servers: 'Put an MCP server under "import: { tools: [{ mcp: { … } }] }".',
      system_prompt: 'Use "instructions" for the system prompt.',
      system: 'Use "instructions" for the system prompt.',
      prompt: 'Use "instructions" for the system prompt. "prompts" are for actions of type llm.',
      context: 'Use "context_variables" or "context_feeds".',
      feeds: 'Use "context_feeds".',
      variables: 'Use "context_variables".',
      max_turns: 'Use "limits: { turns }".',
      max_iterations: 'Use "limits: { turns }".',
      max_tokens: 'Use "limits: { tokens }".',
      turns: LIMITED,
      tokens: LIMITED,
      timeout: 'Use "limits: { wall }" for a session, "limits: { action_timeout }" for an action.',
      timeout_seconds: 'Use "limits: { wall }" for a session, "limits: { action_timeout }" for an action.',
      cost_usd: LIMITED,
      triggers: 'Triggers belong in a Workflow.',
      trigger: 'Triggers belong in a Workflow.',
      steps: 'Steps belong in a Workflow. "workflow: NAME" leads this agent through it.',
      states: 'States belong in a Workflow. "workflow: NAME" leads this agent through it.',
      output_schema: 'Use "output: { schema }".',
      input_schema: 'Use "input".',
      parameters: 'Use "input" for the JSON Schema of what the agent is called with.',
      templates: 'Use "action_templates".',
      handoffs: 'Use "handoff".',
      next_speaker: 'Put it under "group".',
      notify: 'Use "notifications".',
      alerts: 'Use "notifications".',
      webhooks:
        'Put outgoing webhooks under "notifications: { channels }". Incoming webhooks are triggers of a Workflow.',
      on_sync: 'Put it under "protocol".',
      seal: 'Put it under "protocol".',
      fields: 'Put it under "metadata".',
      contextWindow: 'Use "context_window".',
      max_context: 'Use "context_window".',
      num_ctx: 'Use "context_window" for what the model can read. Ollama\'s server has its own setting.',
      temperature: 'A manifest cannot set sampling options.',
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
        slips: { type: 'Put a JSON Schema into "schema".', properties: 'Put a JSON Schema into "schema".' },
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
