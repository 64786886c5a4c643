import fc from 'fast-check';
import type { EventBody, SessionEvent } from '../../src/log/event.ts';
import { child, error, id, json, lifeBody, reactionBody, taskBody, usage } from './arbitrary-bodies.ts';
import { restBody } from './arbitrary-rest.ts';

const SESSION = 'ses_test';

/** Any event in any order: the fold is total, so even logs that no session writes must fold. */
const body: fc.Arbitrary<EventBody> = fc.oneof(
  { arbitrary: taskBody, weight: 3 },
  { arbitrary: reactionBody, weight: 3 },
  { arbitrary: lifeBody, weight: 3 },
  { arbitrary: restBody, weight: 6 },
  fc.record({
    type: fc.constant('session.started' as const),
    agent: fc.constant('coder'),
    input: fc.string(),
    manifest: fc.constant({ path: 'agent.yml', hash: 'h' }),
    model: fc.constant('scripted:x'),
    metadata: fc.constant({ status: 'IDLE' }),
    vars: fc.constant({ v: 1 }),
  }),
  fc.record({ type: fc.constant('session.completed' as const), result: json }),
  fc.record({ type: fc.constant('session.failed' as const), error }),
  fc.record({ type: fc.constant('session.stalled' as const), error }),
  fc.record({ type: fc.constant('session.resumed' as const), by: fc.constant('cli') }),
  fc.record(
    {
      type: fc.constant('turn.started' as const),
      prompt: fc.constant({ tokens: 1, reused_prefix: 1 }),
      background: fc.array(id, { maxLength: 2 }),
      model: fc.constantFrom('x/spare', 'x/other'),
    },
    { requiredKeys: ['type', 'prompt'] },
  ),
  fc.record({
    type: fc.constant('turn.completed' as const),
    usage,
    cost_usd: fc.constant(0.25),
    ms: fc.nat(),
    first_token_ms: fc.nat(),
    finish: fc.constantFrom('stop' as const, 'cut' as const),
  }),
  fc.record({ type: fc.constant('turn.failed' as const), error }),
  fc.record({
    type: fc.constant('model.output' as const),
    offset: fc.nat(),
    text: fc.string({ unit: 'binary' }),
  }),
  fc
    .record({ at: fc.nat(), text: fc.string(), signature: fc.base64String() })
    .map(({ at, text, signature }) => ({
      type: 'model.output' as const,
      offset: at,
      text,
      parts: [{ type: 'reasoning' as const, at, text, meta: { anthropic: { signature } }, model: 'a/b' }],
    })),
  fc.record({ type: fc.constant('thought' as const), text: fc.string(), depth: fc.nat(3) }),
  fc.record(
    {
      type: fc.constant('response' as const),
      text: fc.string(),
      final: fc.boolean(),
      held: fc.array(id, { maxLength: 2 }),
    },
    { requiredKeys: ['type', 'text', 'final'] },
  ),
  fc.record({
    type: fc.constant('message.received' as const),
    from: fc.constantFrom('steer' as const, 'user' as const),
    text: fc.string(),
  }),
  fc
    .record({
      id,
      name: fc.constantFrom('http_fetch', 'shell', 'foreach'),
      kind: fc.constantFrom('tool' as const, 'internal' as const, 'agent' as const),
      mode: fc.constantFrom('sync' as const, 'async' as const, 'fire_and_forget' as const),
      output_key: fc.constantFrom('page', 'report'),
    })
    .map((action) => ({ type: 'action.declared' as const, action: { ...action, parameters: {} } })),
  fc.record({
    type: fc.constant('action.started' as const),
    id,
    attempt: fc.nat(3),
    input: fc.constant({ p: 1 }),
  }),
  fc.record({
    type: fc.constant('action.completed' as const),
    id,
    output: json,
    ms: fc.nat(),
    attempts: fc.nat(3),
  }),
  fc.record({ type: fc.constant('action.failed' as const), id, error, ms: fc.nat(), attempts: fc.nat(3) }),
  fc.record({
    type: fc.constant('action.skipped' as const),
    id,
    reason: fc.constantFrom('if' as const, 'dependency' as const),
    because: fc.constant('a1'),
  }),
  fc.record({ type: fc.constant('action.cancelled' as const), id, reason: fc.string() }),
  fc.record({ type: fc.constant('action.interrupted' as const), id, attempt: fc.nat(3) }),
  fc.record({ type: fc.constant('action.compensated' as const), id, by: id }),
  fc.record({
    type: fc.constant('metadata.changed' as const),
    changes: fc.record({ status: fc.record({ from: json, to: json }) }),
    by: fc.constant('model'),
  }),
  fc.record({
    type: fc.constant('metadata.rejected' as const),
    errors: fc.constant([
      { field: 'status', code: 'not_allowed', sent: 1, message: 'no', allowed: 'IDLE, CODING' },
    ]),
    by: fc.constant('model'),
  }),
  fc.record({
    type: fc.constant('variable.changed' as const),
    name: fc.constantFrom('v', 'w'),
    class: fc.constant('runtime' as const),
    from: json,
    to: json,
    by: fc.constant('start'),
  }),
  fc.record({
    type: fc.constant('review.requested' as const),
    review: fc.constantFrom('r1', 'r2'),
    action: id,
    target: fc.constant('tool "x"'),
    what: fc.string(),
    because: fc.constant('approval: always'),
    input: fc.constant({ p: 1 }),
    grants: fc.constant(['call x']),
  }),
  fc.record({
    type: fc.constant('review.resolved' as const),
    review: fc.constantFrom('r1', 'r2'),
    answer: fc.constantFrom('approved' as const, 'rejected' as const, 'withdrawn' as const),
    by: fc.constant('ann'),
  }),
  fc.record({
    type: fc.constant('review.voided' as const),
    review: fc.constantFrom('r1', 'r2'),
    changed: fc.constant(['"p" is 2, and was 1']),
  }),
  fc.record({ type: fc.constant('session.waiting' as const), for: fc.constant('review r1') }),
  fc.record({
    type: fc.constant('hook.ran' as const),
    hook: fc.constantFrom('before_action' as const, 'after_action' as const, 'on_error' as const),
    of: fc.constant('agent'),
    index: fc.nat(2),
    by: fc.constant('gate.judge'),
    action: id,
    outcome: fc.constantFrom('passed' as const, 'refused' as const, 'changed' as const),
    reason: fc.constant('no'),
    input: fc.constant({ p: 2 }),
    ms: fc.nat(9),
  }),
  fc.record({ type: fc.constant('fault' as const), code: fc.constant('bad_json'), message: fc.string() }),
  fc.record({
    type: fc.constant('feed.updated' as const),
    id: fc.constantFrom('clock', 'tree'),
    value: json,
    tokens: fc.nat(99),
    loaded_at: fc.nat(99),
    told: fc.constant(true as const),
  }),
  fc.record({
    type: fc.constant('feed.failed' as const),
    id: fc.constantFrom('clock', 'tree'),
    error,
    times: fc.nat(3),
    told: fc.constant(true as const),
  }),
  fc.record({
    type: fc.constant('feed.added' as const),
    id: fc.constantFrom('clock', 'errors'),
    feed: fc.constant({ id: 'errors', source: { type: 'metadata' } }),
    by: fc.constant('model'),
  }),
  fc.record({
    type: fc.constant('feed.removed' as const),
    id: fc.constantFrom('clock', 'builtin:results'),
    by: fc.constant('model'),
  }),
  fc.record({
    type: fc.constant('budget.charged' as const),
    what: fc.constant('turn' as const),
    amount: fc.constant(1),
    balance: fc.nat(),
  }),
  fc.record({
    type: fc.constant('prompt.compacted' as const),
    through: fc.nat(4),
    summary: fc.string(),
  }),
  fc.record({ type: fc.constant('custom' as const), name: fc.string(), data: json }),
  fc.record({
    type: fc.constant('action.retrying' as const),
    id,
    attempt: fc.nat(3),
    error,
    delay_ms: fc.nat(),
  }),
  fc.record({
    type: fc.constant('child.response' as const),
    action: id,
    child,
    event: fc.record({ text: fc.string(), final: fc.boolean() }),
  }),
  fc.record({
    type: fc.constant('child.turn.failed' as const),
    action: id,
    child,
    event: fc.record({ error, usage, cost_usd: fc.constant(0.25) }),
  }),
  fc.record(
    {
      type: fc.constant('handoff.requested' as const),
      to: id,
      action: id,
      reason: fc.string(),
      carry: fc.constantFrom('messages' as const, 'summary' as const, 'none' as const),
      summary: fc.string(),
    },
    { requiredKeys: ['type', 'to', 'action'] },
  ),
  fc.record(
    {
      type: fc.constant('handoff' as const),
      from: fc.constantFrom('agent', 'billing'),
      to: fc.constantFrom('agent', 'billing', 'support'),
      agent_session: fc.constant('ses_1.speaker.billing'),
      by: fc.constantFrom('model' as const, 'rule' as const, 'group' as const, 'message' as const),
      reason: fc.string(),
      carry: fc.constant('messages' as const),
      text: fc.string(),
    },
    { requiredKeys: ['type', 'from', 'to', 'agent_session', 'by', 'carry', 'text'] },
  ),
  fc.record({ type: fc.constant('child.usage' as const), action: id, child, usage, charged: fc.nat(3) }),
);

/**
 * A log with gapless numbers, in which each `turn.started` begins the next turn and compactions only go on. An action
 * that is declared again is the same: a snapshot holds an id once, so that it cannot tell what else it was before.
 */
export const arbitraryLog: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(body, { maxLength: 80 })
  .map((bodies) => {
    let turn = 0;
    let compacted = 0;
    const declared = new Map<string, EventBody>();
    return bodies.map((body, i) => {
      if (body.type === 'turn.started') turn++;
      if (body.type === 'prompt.compacted') compacted = Math.max(compacted, Math.min(body.through, turn));
      if (body.type === 'action.declared' && !declared.has(body.action.id))
        declared.set(body.action.id, body);
      const same = body.type === 'action.declared' ? (declared.get(body.action.id) ?? body) : body;
      const each = same.type === 'prompt.compacted' ? { ...same, through: compacted } : same;
      const cause =
        i % 3 === 2 ? { stream: 'ses_other', seq: i, depth: 2 } : { stream: SESSION, seq: i, depth: 1 };
      return { seq: i + 1, at: 1000 + i, session: SESSION, turn, cause, ...each };
    });
  });
