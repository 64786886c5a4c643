import { z } from 'zod';
import { agentInput, imports } from './agent-input.ts';
import { closed } from './closed.ts';
import { contextVariables } from './context-variables.ts';
import { cel, component } from './decision.ts';
import { feed } from './feed.ts';
import { group, handoff } from './handoff.ts';
import { hooks, notifications } from './hooks.ts';
import { metadataField } from './metadata-field.ts';
import { modelOptions, namedModel } from './model-options.ts';
import { modelName, modelRef, modelRefOrAlias } from './model-ref.ts';
import { permissions } from './permissions.ts';
import { userSchema } from './user-schema.ts';
import {
  amount,
  byteSize,
  count,
  countFromZero,
  flag,
  identifier,
  jsonObject,
  name,
  nonEmptyText,
  positiveDuration,
  targetName,
  text,
  version,
} from './values.ts';

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
  // No default, because a template without a type inherits it from its base template.
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

const actionTemplates = z
  .record(name('The name of a template.'), actionTemplate)
  .describe('Defaults that an action takes by "template".');

/** What a model may declare about itself, and how the prompt explains it. */
const metadata = closed(
  {
    title: '"metadata"',
    description: 'What the model may declare about itself; workflows are triggered by it.',
    slips: {
      schema: 'Put fields under "fields", each with its type. Only a field of type object has a "schema".',
      persistence: 'Use "scope: session" or "scope: agent" to set how long metadata lives.',
      max_fields: 'Put limits under "limits: { fields, bytes, depth }".',
      max_size: 'Put limits under "limits: { fields, bytes, depth }".',
    },
  },
  {
    scope: z
      .enum(['session', 'agent'])
      .default('session')
      .describe('agent: kept between runs of this agent.'),
    on_invalid: z
      .enum(['field', 'all'])
      .default('field')
      .describe(
        'field: valid fields apply, invalid ones become soft errors; all: one bad field rejects the update.',
      ),
    limits: closed(
      { title: '"metadata.limits"', description: 'How much metadata may hold.' },
      {
        fields: count('The greatest number of fields.').default(32),
        bytes: byteSize('The greatest size of all values as JSON.').prefault('64KiB'),
        depth: count('The greatest depth of a value.').default(8),
      },
    ).prefault({}),
    inherit: z
      .enum(['none', 'read', 'share'])
      .default('none')
      .describe(
        'What it gets of the metadata of an agent that calls it. none: nothing; read: the values, to look at; share: fields that both have begin with the values of the caller, and changes are written back.',
      ),
    fields: z
      .record(identifier('The name of a field.'), metadataField)
      .prefault({})
      .describe('The fields, by name.'),
    injection: closed(
      { title: '"metadata.injection"', description: 'How the model sees fields and values.' },
      {
        method: z
          .enum(['auto', 'on_change', 'off'])
          .default('on_change')
          .describe(
            'When the model is shown them. auto: all fields with their values before every turn; on_change: the values at first, then those that changed; off: never.',
          ),
        template: text('A page.')
          .nullable()
          .default(null)
          .describe(
            'A page of your own with {fields} {current} {values.NAME} {errors}; a line "- NAME:" may use {values} and {current_value}.',
          ),
      },
    ).prefault({}),
  },
);

const INTERNAL_ACTIONS = [
  ...([
    'add_context_feed',
    'update_context_feed',
    'remove_context_feed',
    'list_context_feeds',
    'read_context_feed',
  ] as const),
  ...([
    'read_artifact',
    'write_artifact',
    'rollback_artifact',
    'query_knowledge_graph',
    'update_knowledge_graph',
  ] as const),
  ...(['set_variable', 'delete_variable', 'list_actions', 'cancel_action'] as const),
  ...(['read_output', 'rollback', 'complete_step', 'handoff'] as const),
] as const;

const internalAction = z.enum(INTERNAL_ACTIONS).describe('An internal action.');

const internalActions = closed(
  {
    title: '"internal_actions"',
    description: "Actions on the agent's own environment.",
    slips: {
      allowed: 'Use "allowed_actions".',
      blocked: 'Use "blocked_actions".',
      allow: 'Use "allowed_actions".',
      deny: 'Use "blocked_actions".',
    },
  },
  {
    enabled: flag('false: none at all.').default(true),
    allowed_actions: z.array(internalAction).optional().describe('Only these; all if absent.'),
    blocked_actions: z.array(internalAction).prefault([]).describe('Not these.'),
  },
);

const protocolOptions = closed(
  { title: '"protocol"', description: "How the model's tags are read." },
  {
    on_sync: z
      .enum(['buffer', 'observe'])
      .default('buffer')
      .describe(
        'At a sync action: buffer what follows, or cut the generation and show the result in the next turn.',
      ),
    actions_in: z
      .array(z.enum(['outside', 'thought', 'response']))
      .default(['outside', 'thought'])
      .describe('Where actions, metadata and control tags count.'),
    bare_text: z
      .enum(['auto', 'remind', 'final', 'nudge'])
      .default('auto')
      .describe(
        'Text without tags or calls. auto: the answer in chats and in the dialect tools, else one reminder. remind: one reminder, then it is the answer (formerly nudge). final: the answer at once.',
      ),
    final_with_actions: z
      .enum(['held', 'accept', 'hold', 'bind'])
      .default('held')
      .describe(
        'A final response beside an action whose result it neither names nor could have seen. held: the model sees the results first and confirms it (formerly hold). accept: it counts once the actions have succeeded (formerly bind).',
      ),
    seal: flag('true: every tag that acts must carry the key of the session.').default(false),
    max_body: byteSize('The longest body of a tag.').prefault('1MiB'),
  },
);

const promptTemplate = closed(
  {
    title: 'a prompt',
    description: 'A prompt that actions of type llm name.',
    slips: {
      prompt: 'Use "template" for the text of a prompt.',
      text: 'Use "template" for the text of a prompt.',
    },
  },
  {
    template: nonEmptyText('The text; {name} stands for a parameter of the action.'),
    model: modelRefOrAlias("The model to ask; the agent's own if absent.").optional(),
    description: text('What it is for; the model reads it.').optional(),
  },
);

const prompts = z
  .record(name('The name of a prompt.'), promptTemplate)
  .describe('What actions of type llm name. Built in: summarize, extract, classify.');

const models = z
  .record(modelName('A name for a model.'), namedModel)
  .describe(
    'Names of models, usable in llm actions, verifiers and llm feeds: each a model, or { model, temperature, … }.',
  );

const memory = closed(
  {
    title: '"memory"',
    description: 'The knowledge graph.',
    demands: { inject: ['graph'] },
    slips: { path: 'Use "graph".', max_tokens: 'Use "inject".' },
  },
  {
    graph: nonEmptyText('The folder whose code and facts the graph holds.').optional(),
    inject: countFromZero('Tokens of the most relevant part shown at the start of a session.').optional(),
  },
);

const limits = closed(
  {
    title: '"limits"',
    description: 'Where a session ends by itself.',
    slips: {
      max_turns: 'In "limits", use "turns".',
      max_iterations: 'In "limits", use "turns".',
      iterations: 'In "limits", use "turns".',
      max_tokens: 'In "limits", use "tokens".',
      max_cost: 'In "limits", use "cost_usd".',
      cost: 'In "limits", use "cost_usd".',
      max_handoffs: 'In "limits", use "handoffs".',
      rounds: 'In "limits", use "handoffs".',
      timeout: 'In "limits", use "wall" for the whole session and "action_timeout" for each action.',
      timeout_seconds: 'In "limits", use "wall" for the whole session and "action_timeout" for each action.',
      max_parallel: 'In "limits", use "parallel_actions".',
      concurrency: 'In "limits", use "parallel_actions".',
      time_to_first_token: 'In "limits", use "first_token".',
      first_token_timeout: 'In "limits", use "first_token".',
      feeds: 'In "limits", use "feed_deadline".',
      deadline: 'In "limits", use "feed_deadline".',
      results: 'In "limits", use "result".',
      max_result: 'In "limits", use "result".',
      output: 'In "limits", use "result".',
      settle_timeout: 'In "limits", use "settle".',
    },
  },
  {
    turns: count('Turns of the model.').default(50),
    tokens: count('Tokens in and out, all turns together. No limit if absent.').optional(),
    cost_usd: amount('Cost in US dollars. No limit if absent.').optional(),
    wall: positiveDuration('Time from start to end. No limit if absent.').optional(),
    handoffs: count(
      'How often the conversation moves from one agent to another before it waits for a person.',
    ).default(20),
    parallel_actions: count('Actions that run at the same time.').default(16),
    action_timeout: positiveDuration('Time for each try of an action whose target sets none.').prefault(
      '300s',
    ),
    first_token: positiveDuration(
      'Time until the first token of an answer. After that the request is made again.',
    ).prefault('10m'),
    settle: positiveDuration(
      'Time that a turn waits for its actions at its end; the others continue in the background.',
    ).prefault('5m'),
    feed_deadline: positiveDuration(
      'Time that a turn waits for its feeds; later ones come with the next turn.',
    ).prefault('5s'),
    result: byteSize(
      'Characters of one result that the model is shown; of more, the beginning and the end. At least 512.',
    ).prefault('32KiB'),
  },
);

const budget = closed(
  {
    title: '"budget"',
    description: 'What decision artifacts see as balance; at 0 the session ends as failed (limit_budget).',
    slips: {
      cost_usd: 'For a limit in dollars, use "limits.cost_usd". A budget is counted in units of your own.',
      tokens: 'For a limit on tokens, use "limits.tokens".',
    },
  },
  {
    balance: amount('The balance at the start.'),
    costs: closed(
      { title: '"budget.costs"', description: 'What each thing costs.' },
      {
        turn: amount('Each turn.').default(1),
        action: amount('Each action.').default(0),
        artifact: amount('Each call of a decision artifact.').default(0.1),
      },
    ).prefault({}),
  },
);

const IMPORTED = 'Put it under "import".';
const LIMITED = 'Put it under "limits".';
const OPTION = 'Put it under "model_options".';

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
      temperature: OPTION,
      top_p: OPTION,
      top_k: OPTION,
      seed: OPTION,
      max_output_tokens: OPTION,
      stop_sequences: OPTION,
      presence_penalty: OPTION,
      frequency_penalty: OPTION,
      fallback: 'Use "fallback_models", a list.',
      fallbacks: 'Use "fallback_models".',
      fallback_model: 'Use "fallback_models", a list.',
      sampling: 'Use "model_options".',
      model_parameters: 'Use "model_options".',
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
    model_options: modelOptions.prefault({}),
    fallback_models: z
      .array(modelRefOrAlias('A model, or a name in "models".'))
      .prefault([])
      .describe('Models that a turn asks, in this order, where its model has failed for good.'),
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
