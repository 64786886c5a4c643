import fc from 'fast-check';
import type { EventBody } from '../../src/log/event.ts';
import { child, error, id, json, usage } from './arbitrary-bodies.ts';

const yes = fc.constant(true as const);
const run = fc.constantFrom('run_a', 'run_a.call', 'run_b');
const workflow = fc.constant('docs');
const review = fc.constantFrom('r1', 'r2');

/** What a session may be begun with, all of it or some. */
const startedBody: fc.Arbitrary<EventBody> = fc.record(
  {
    type: fc.constant('session.started' as const),
    agent: fc.constant('coder'),
    input: fc.string(),
    manifest: fc.constant({ path: 'agent.yml', hash: 'h', code: true as const }),
    model: fc.constant('scripted:x'),
    parent: fc.constant({ session: 'ses_above', action: 'a1', agents: ['boss'] }),
    seal: fc.constant('k3y'),
    environment: fc.constant({ date: '2026-11-19', folder: '/work', platform: 'linux' }),
    vars: fc.constant({ v: 1, w: 'x' }),
    classes: fc.constant({ w: 'derived' as const }),
    user: fc.constant('ann'),
    metadata: fc.constant({ status: 'IDLE' }),
    states: fc.constant(['status']),
    balance: fc.nat(9),
    max_turns: fc.nat(9),
    chat: yes,
    led: yes,
    forked: fc.constant({ session: 'ses_other', seq: 3 }),
  },
  { requiredKeys: ['type', 'agent', 'input', 'manifest', 'model'] },
);

/** What a sub-agent said and did, on the log of its parent. */
const copiedBody: fc.Arbitrary<EventBody> = fc.oneof(
  fc.record({
    type: fc.constant('child.thought' as const),
    action: id,
    child,
    event: fc.record({ text: fc.string(), depth: fc.nat(2) }),
  }),
  fc.record({
    type: fc.constant('child.text' as const),
    action: id,
    child,
    event: fc.record({ text: fc.string() }),
  }),
  fc.record({
    type: fc.constant('child.action.completed' as const),
    action: id,
    child,
    event: fc.record({ id, output: json, ms: fc.nat(), attempts: fc.nat(3) }),
  }),
  fc.record({
    type: fc.constant('child.action.failed' as const),
    action: id,
    child,
    event: fc.record({ id, error, ms: fc.nat(), attempts: fc.nat(3) }),
  }),
  fc.record({
    type: fc.constant('child.metadata.changed' as const),
    action: id,
    child,
    event: fc.record({
      changes: fc.record({ status: fc.record({ from: json, to: json }) }),
      by: fc.constant('model'),
    }),
  }),
  fc.record({
    type: fc.constant('child.variable.changed' as const),
    action: id,
    child,
    event: fc.record({
      name: fc.constant('v'),
      class: fc.constant('runtime' as const),
      from: json,
      to: json,
      by: fc.constant('model'),
    }),
  }),
);

/** What an agent that has the conversation did, on the log of the conversation. */
const speakerBody: fc.Arbitrary<EventBody> = fc
  .constantFrom(
    { type: 'child.turn.started' as const, event: { prompt: { tokens: 9, reused_prefix: 0 } } },
    {
      type: 'child.action.declared' as const,
      event: {
        action: { kind: 'tool' as const, mode: 'async' as const, name: 'x', id: 'a1', parameters: {} },
      },
    },
    { type: 'child.action.started' as const, event: { id: 'a1', attempt: 1, input: {} } },
    { type: 'child.action.skipped' as const, event: { id: 'a1', reason: 'if' as const } },
    { type: 'child.action.cancelled' as const, event: { id: 'a1', reason: 'enough' } },
    { type: 'child.action.interrupted' as const, event: { id: 'a1', attempt: 1 } },
    {
      type: 'child.review.requested' as const,
      event: {
        review: 'r1',
        action: 'a1',
        target: 'tool "x"',
        what: 'x',
        because: 'approval: always',
        input: {},
        grants: [],
      },
    },
    {
      type: 'child.review.resolved' as const,
      event: { review: 'r1', answer: 'approved' as const, by: 'ann' },
    },
    { type: 'child.review.voided' as const, event: { review: 'r1', changed: ['x'] } },
    { type: 'child.session.waiting' as const, event: { for: 'review r1' } },
  )
  .map((body) => ({
    ...body,
    action: 'speaker:billing',
    child: { session: 'ses_1.speaker.billing', seq: 7 },
  })) as fc.Arbitrary<EventBody>;

/** Types and fields that most logs have none of. */
export const restBody: fc.Arbitrary<EventBody> = fc.oneof(
  { arbitrary: startedBody, weight: 2 },
  { arbitrary: copiedBody, weight: 3 },
  { arbitrary: speakerBody, weight: 3 },
  fc.record({ type: fc.constant('text' as const), text: fc.string() }),
  fc.record({ type: fc.constant('audit' as const), who: fc.constant('ann'), what: fc.string() }),
  fc.record({
    type: fc.constant('artifact.written' as const),
    artifact: fc.constant('gate'),
    version: fc.nat(3),
    parent: fc.nat(3),
    restores: fc.nat(3),
    by: fc.constant('coder'),
  }),
  fc.record(
    {
      type: fc.constant('trigger.suppressed' as const),
      trigger: fc.constant('docs#0'),
      workflow,
      reason: fc.constantFrom('depth' as const, 'cooldown' as const, 'busy' as const, 'test' as const),
      message: fc.string(),
      chain: fc.constant(['docs']),
    },
    { requiredKeys: ['type', 'trigger', 'workflow', 'reason', 'message'] },
  ),
  fc.record(
    { type: fc.constant('workflow.failed' as const), run, workflow, error, told: yes },
    { requiredKeys: ['type', 'run', 'workflow', 'error'] },
  ),
  fc.record(
    { type: fc.constant('workflow.cancelled' as const), run, workflow, reason: fc.string(), told: yes },
    { requiredKeys: ['type', 'run', 'workflow', 'reason'] },
  ),
  fc.record({ type: fc.constant('session.resumed' as const), by: fc.constant('cli'), budget: fc.nat(9) }),
  fc.record(
    {
      type: fc.constant('turn.failed' as const),
      error,
      retry_in: fc.nat(9),
      kept: fc.nat(9),
      usage,
      again: fc.constant(true as const),
      fallback: fc.constantFrom('x/spare', 'x/other'),
      exceeded: fc.record({ window: fc.nat(9_000), tokens: fc.nat(9_000) }),
    },
    { requiredKeys: ['type', 'error'] },
  ),
  fc.record({
    type: fc.constant('review.requested' as const),
    review,
    action: id,
    target: fc.constant('tool "x"'),
    what: fc.string(),
    because: fc.constant('approval: always'),
    input: fc.constant({ p: 2 }),
    grants: fc.constant(['call x']),
    definition: fc.constant('hash'),
    always: fc.constant({ key: 'call x', covers: 'every call of x' }),
    replaces: fc.constant({ review: 'r1', changed: ['"p" is 2, and was 1'] }),
    files: fc.constant([{ path: 'build.sh', content: 'sha256:00' }]),
    uncovered: fc.constant(['"make" may run other files']),
  }),
  fc.record({
    type: fc.constant('review.resolved' as const),
    review,
    answer: fc.constantFrom('approved' as const, 'rejected' as const),
    by: fc.constant('ann'),
    note: fc.string(),
    always: yes,
    standing: fc.constant('r0'),
    key: fc.constant('k'),
    away: yes,
  }),
  fc.record({
    type: fc.constant('metadata.changed' as const),
    changes: fc.record({ status: fc.record({ from: json, to: json }) }),
    by: fc.constant('workflow:docs'),
    run,
  }),
  fc.record({
    type: fc.constant('variable.changed' as const),
    name: fc.constantFrom('v', 'w'),
    class: fc.constantFrom('derived' as const, 'defined' as const),
    from: json,
    to: json,
    by: fc.constant('derived:event'),
    run,
  }),
  fc.record({
    type: fc.constant('prompt.compacted' as const),
    through: fc.nat(4),
    summary: fc.string(),
    usage,
    cost_usd: fc.constant(0.25),
    feed_tokens: fc.nat(99),
  }),
  fc.record({
    type: fc.constant('feed.removed' as const),
    id: fc.constantFrom('clock', 'tree'),
    by: fc.constant('model'),
    declared: yes,
  }),
  fc.record({
    type: fc.constant('feed.updated' as const),
    id: fc.constantFrom('clock', 'tree'),
    value: json,
    tokens: fc.nat(99),
    truncated: fc.nat(9),
    cached: yes,
    loaded_at: fc.nat(99),
  }),
  fc.record({
    type: fc.constant('invoke' as const),
    artifact: fc.constant('decider'),
    method: fc.constant('decide'),
    args: fc.constant([]),
    where: fc.constantFrom('trigger docs#0', 'hook'),
    result: json,
    fallback: fc.constant({ reason: 'missing' as const, message: 'gone' }),
    cached: fc.boolean(),
    ms: fc.nat(9),
    cost: fc.constant(0),
  }),
  fc.record({
    type: fc.constant('hook.ran' as const),
    hook: fc.constantFrom('before_turn' as const, 'after_turn' as const),
    of: fc.constant('agent'),
    index: fc.nat(2),
    by: fc.constant('gate.judge'),
    outcome: fc.constant('passed' as const),
    fallback: fc.constant('missing'),
    ms: fc.nat(9),
  }),
);
