/** What a step sees of the agent that set it off. */
export const AGENT_MEMBERS = [
  ...[
    'session_id',
    'agent_name',
    'iteration_count',
    'started_at',
    'metadata',
    'tools',
    'workflows',
    'agents',
    'relics',
    'parent',
  ],
  ...['actions_executed', 'thoughts', 'responses', 'environment', 'workspace_path', 'manifest', 'variables'],
];
