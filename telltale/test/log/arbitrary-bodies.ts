import fc from 'fast-check';
import type { EventBody } from '../../src/log/event.ts';

export const error = fc.record({
  code: fc.constantFrom('timeout', 'tool_failed'),
  message: fc.string(),
  retryable: fc.boolean(),
});
export const usage = fc.record({ input: fc.nat(1000), output: fc.nat(1000) });
export const child = fc.record({ session: fc.constantFrom('ses_a', 'ses_b'), seq: fc.nat(9) });
export const id = fc.constantFrom('a1', 'a2', 'a3', 'fetch', 'x-1', 'foreach_1');
/** As it comes back from JSON, which knows no -0. */
export const json = fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text) as never);

const task = fc.constantFrom('t1', 't2');
const nth = fc.integer({ min: 1, max: 2 });
const run = fc.constantFrom('run_a', 'run_a.call', 'run_a~2', 'run_b');
const workflow = fc.constant('docs');
const trigger = fc.constantFrom('docs#0', 'docs#1');
const timer = fc.constantFrom('t1', 't2');

/** What the task of a run brings onto the log of the session that works on it. */
export const taskBody: fc.Arbitrary<EventBody> = fc.oneof(
  fc.record({ type: fc.constant('task.given' as const), task, prompt: fc.string() }),
  fc.record(
    {
      type: fc.constant('task.claimed' as const),
      task,
      nth,
      action: id,
      notes: fc.string(),
      context_updates: fc.constant({ k: 1 }),
      artifacts: fc.constant([1]),
      evidence: fc.constant(['a1']),
    },
    { requiredKeys: ['type', 'task', 'nth', 'action', 'notes'] },
  ),
  fc.record(
    { type: fc.constant('task.stuck' as const), task, nth, why: fc.string() },
    { requiredKeys: ['type', 'task', 'why'] },
  ),
  fc.record({ type: fc.constant('task.turn' as const), task, nth }),
  fc.record(
    { type: fc.constant('task.answered' as const), task, nth, text: fc.string(), by: fc.constant('ann') },
    { requiredKeys: ['type', 'task', 'nth', 'by'] },
  ),
  fc.record({ type: fc.constant('task.over' as const), task }),
);

/** Timers, triggers, and what comes of the runs that they begin. */
export const reactionBody: fc.Arbitrary<EventBody> = fc.oneof(
  fc.record({ type: fc.constant('timer.set' as const), id: timer, due: fc.nat(), data: json }),
  fc.record({ type: fc.constant('timer.fired' as const), id: timer }),
  fc.record({
    type: fc.constant('trigger.fired' as const),
    trigger,
    workflow,
    run,
    seen: fc.constant({ type: 'manual' }),
    chain: fc.constant(['docs']),
  }),
  fc.record(
    {
      type: fc.constant('workflow.completed' as const),
      run,
      workflow,
      output: json,
      told: fc.constant(true as const),
    },
    { requiredKeys: ['type', 'run', 'workflow', 'output'] },
  ),
  fc.record({
    type: fc.constant('workflow.asked' as const),
    run,
    workflow,
    key: fc.constantFrom('k1', 'k2'),
    what: fc.constant('notify' as const),
  }),
  fc.record({
    type: fc.constant('invoke' as const),
    artifact: fc.constant('decider'),
    version: fc.constant(1),
    method: fc.constant('decide'),
    args: fc.constant([]),
    where: fc.constantFrom('trigger docs#0', 'hook'),
    result: fc.boolean(),
    cached: fc.constant(false),
    ms: fc.nat(9),
    cost: fc.constant(0),
  }),
);

/** More than a list is copied up to: it is added to in place then. */
const groups = fc.array(
  fc.nat(40).map((n) => `g${n}`),
  { minLength: 1, maxLength: 12 },
);

/** How a session rests, is taken up again and counts what others have used for it. */
export const lifeBody: fc.Arbitrary<EventBody> = fc.oneof(
  fc.record({ type: fc.constant('session.waiting' as const), for: fc.constant('message') }),
  fc.record({ type: fc.constant('session.cancelled' as const), reason: fc.string(), by: fc.constant('cli') }),
  fc.record({
    type: fc.constant('session.resumed' as const),
    by: fc.constant('cli'),
    max_turns: fc.nat(9),
    chat: fc.constant(true as const),
    manifest: fc.constant({ path: 'agent.yml', hash: 'i', files: { 'count.sh': 'f' } }),
    changed_files: fc.constant(['count.sh']),
  }),
  fc.record(
    {
      type: fc.constant('turn.failed' as const),
      error: fc
        .constantFrom('interrupted', 'overloaded')
        .map((code) => ({ code, message: 'cut', retryable: true })),
      groups,
      usage,
      cost_usd: fc.constant(0.25),
    },
    { requiredKeys: ['type', 'error', 'usage', 'cost_usd'] },
  ),
  fc.record(
    { type: fc.constant('fault' as const), code: fc.constant('bad_json'), message: fc.string(), groups },
    { requiredKeys: ['type', 'code', 'message'] },
  ),
  fc.record(
    {
      type: fc.constant('if.decided' as const),
      test: fc.constant('x'),
      held: fc.boolean(),
      problem: fc.string(),
    },
    { requiredKeys: ['type', 'test', 'held'] },
  ),
  fc.record({
    type: fc.constant('custom' as const),
    name: fc.constant('llm.usage'),
    data: fc.record({ input: fc.nat(9), output: fc.nat(9), cost_usd: fc.constant(0.25) }),
  }),
  fc.record({
    type: fc.constant('child.turn.completed' as const),
    action: id,
    child,
    event: fc.record({
      usage,
      cost_usd: fc.constant(0.25),
      ms: fc.nat(),
      first_token_ms: fc.nat(),
      finish: fc.constant('stop' as const),
    }),
  }),
  fc.record({
    type: fc.constant('metadata.changed' as const),
    changes: fc.constant({}),
    by: fc.constant('seed'),
  }),
);
