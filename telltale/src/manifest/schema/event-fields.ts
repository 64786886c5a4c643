/** Where an event stands on its log, and what it is. */
const HEAD = ['type', 'seq', 'at', 'session', 'turn', 'cause'] as const;

const RUN = ['run', 'workflow', 'told'] as const;
const OF_CHILD = ['action', 'child', 'event'] as const;

/** What events of a session's log say beyond that, by type; a test holds them against the events themselves. */
export const EVENT_FIELDS = {
  'session.started': [
    ...[
      'agent',
      'input',
      'manifest',
      'model',
      'parent',
      'seal',
      'environment',
      'vars',
      'classes',
      'user',
      'metadata',
    ],
    ...['states', 'balance', 'max_turns', 'chat', 'led', 'forked'],
  ],
  'session.completed': ['result'],
  'session.failed': ['error'],
  'session.stalled': ['error'],
  'session.cancelled': ['reason', 'by'],
  'session.resumed': ['by', 'max_turns', 'budget', 'chat', 'manifest', 'changed_files'],
  'session.waiting': ['for'],
  'turn.started': ['prompt', 'background'],
  'turn.completed': ['usage', 'cost_usd', 'ms', 'first_token_ms', 'finish'],
  'turn.failed': ['error', 'retry_in', 'again', 'exceeded', 'kept', 'groups', 'usage', 'cost_usd'],
  'model.output': ['offset', 'text', 'parts'],
  thought: ['text', 'depth'],
  text: ['text'],
  response: ['text', 'final', 'held'],
  'message.received': ['from', 'text'],
  audit: ['who', 'what'],
  'review.requested': [
    ...['review', 'action', 'target', 'what', 'because', 'input', 'grants', 'definition', 'replaces'],
    ...['always', 'files', 'uncovered'],
  ],
  'review.resolved': ['review', 'answer', 'by', 'note', 'always', 'standing', 'key', 'away'],
  'review.voided': ['review', 'changed'],
  'action.declared': ['action'],
  'action.started': ['id', 'attempt', 'input'],
  'action.completed': ['id', 'output', 'ms', 'attempts'],
  'action.failed': ['id', 'error', 'ms', 'attempts'],
  'action.skipped': ['id', 'reason', 'because'],
  'action.retrying': ['id', 'attempt', 'error', 'delay_ms'],
  'action.cancelled': ['id', 'reason'],
  'action.interrupted': ['id', 'attempt'],
  'action.compensated': ['id', 'by'],
  'metadata.changed': ['changes', 'by', 'run'],
  'metadata.rejected': ['errors', 'by'],
  'variable.changed': ['name', 'class', 'from', 'to', 'by', 'run'],
  fault: ['code', 'message', 'groups'],
  'if.decided': ['test', 'held', 'problem'],
  'budget.charged': ['what', 'amount', 'balance'],
  'prompt.compacted': ['through', 'summary', 'usage', 'cost_usd', 'feed_tokens'],
  'timer.set': ['id', 'due', 'data'],
  'timer.fired': ['id'],
  'trigger.fired': ['trigger', 'workflow', 'run', 'seen', 'chain'],
  'trigger.suppressed': ['trigger', 'workflow', 'reason', 'message', 'chain'],
  'workflow.completed': [...RUN, 'output'],
  'workflow.failed': [...RUN, 'error'],
  'workflow.cancelled': [...RUN, 'reason'],
  'workflow.asked': ['run', 'workflow', 'key', 'what'],
  'feed.added': ['id', 'feed', 'by'],
  'feed.removed': ['id', 'by', 'declared'],
  'feed.updated': ['id', 'value', 'tokens', 'truncated', 'cached', 'loaded_at', 'told'],
  'feed.failed': ['id', 'error', 'times', 'told'],
  invoke: [
    ...['where', 'artifact', 'version', 'method', 'args', 'result', 'fallback', 'cached', 'ms', 'cost'],
  ],
  'hook.ran': ['hook', 'of', 'index', 'by', 'action', 'outcome', 'reason', 'fallback', 'input', 'ms'],
  'artifact.written': ['artifact', 'version', 'parent', 'restores', 'by'],
  'handoff.requested': ['to', 'reason', 'carry', 'summary', 'action'],
  handoff: ['from', 'to', 'agent_session', 'by', 'reason', 'carry', 'text'],
  custom: ['name', 'data'],
  'child.thought': OF_CHILD,
  'child.text': OF_CHILD,
  'child.response': OF_CHILD,
  'child.turn.completed': OF_CHILD,
  'child.turn.failed': OF_CHILD,
  'child.action.completed': OF_CHILD,
  'child.action.failed': OF_CHILD,
  'child.metadata.changed': OF_CHILD,
  'child.variable.changed': OF_CHILD,
} as const;

/** Every field that an event of this type may have; undefined where the session's log holds none of it. */
export const eventFields = (type: string): readonly string[] | undefined =>
  Object.hasOwn(EVENT_FIELDS, type)
    ? [...EVENT_FIELDS[type as keyof typeof EVENT_FIELDS], ...HEAD]
    : undefined;
