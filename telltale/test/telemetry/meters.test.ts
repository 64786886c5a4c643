import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createRecaller } from '../../src/telemetry/create-telemetry.ts';
import { madeUp } from './made-up.ts';
import { parsePrometheus } from './parse-prometheus.ts';
import { telemetryOf } from './story.ts';

type Made = ReturnType<typeof madeUp>;

/** Values by their labels, of a metric after these events. */
function measured(
  events: (made: Made) => readonly Parameters<ReturnType<typeof telemetryOf>['telemetry']['observe']>[0][],
) {
  const { telemetry, errors } = telemetryOf({});
  for (const event of events(madeUp())) telemetry.observe(event);
  expect(errors).toEqual([]);
  const text = parsePrometheus(telemetry.prometheus());
  return (name: string) =>
    Object.fromEntries(
      (text.get(name)?.samples ?? [])
        .filter(({ name: each }) => !each.endsWith('_bucket'))
        .map(({ name: each, labels, value }) => [
          [
            ...Object.values(labels),
            ...(each.endsWith('_sum') ? ['sum'] : each.endsWith('_count') ? ['count'] : []),
          ].join(' '),
          value,
        ]),
    );
}

const declared = (id: string, name: string) => ({
  type: 'action.declared',
  action: { id, kind: 'tool', mode: 'async', name, parameters: {} },
});
const failed = (id: string, code: string) => ({
  type: 'action.failed',
  id,
  error: { code, message: '', retryable: false },
  ms: 1,
  attempts: 1,
});

describe('what a session does is counted', () => {
  it('by trigger, fault and decision, each by its reason', () => {
    const values = measured(({ session }) => [
      session('s', { type: 'session.started' }),
      session('s', { type: 'trigger.fired', workflow: 'docs' }),
      session('s', { type: 'trigger.suppressed', workflow: 'docs', reason: 'cooldown' }),
      session('s', { type: 'trigger.suppressed', workflow: 'docs', reason: 'cooldown' }),
      session('s', { type: 'fault', code: 'tag_unclosed', message: '' }),
      session('s', { type: 'invoke', artifact: 'judge', method: 'm', result: true }),
      session('s', { type: 'invoke', artifact: 'judge', method: 'm', fallback: { reason: 'timeout' } }),
    ]);
    expect(values('telltale_triggers_fired_total')).toEqual({ 'a docs': 1 });
    expect(values('telltale_triggers_suppressed_total')).toEqual({ 'a docs cooldown': 2 });
    expect(values('telltale_faults_total')).toEqual({ 'a tag_unclosed': 1 });
    expect(values('telltale_artifact_invokes_total')).toEqual({ 'judge decided': 1, 'judge timeout': 1 });
  });

  it('by action: its target where there is one, from its start, and how long before the end of the stream', () => {
    const values = measured(({ session }) => [
      session('s', { type: 'session.started' }),
      session('s', { type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } }),
      session('s', declared('1', 'search')),
      session('s', { type: 'action.started', id: '1', attempt: 1, at: 5_000 }),
      session('s', { type: 'action.started', id: '1', attempt: 2, at: 6_000 }),
      session('s', { type: 'action.completed', id: '1', result: null, ms: 1, attempts: 1, at: 9_000 }),
      session('s', declared('2', 'made up by the model')),
      session('s', failed('2', 'target_unknown')),
      session('s', declared('3', 'search')),
      session('s', failed('3', 'timeout')),
      session('s', failed('3', 'timeout')),
      session('s', {
        type: 'turn.completed',
        usage: { input: 1, output: 1 },
        cost_usd: 0,
        finish: 'stop',
        ms: 1,
        first_token_ms: 1,
        at: 10_000,
      }),
    ]);
    expect(values('telltale_actions_total')).toEqual({
      'a tool search completed': 1,
      'a tool unknown failed': 1,
      'a tool search failed': 1,
    });
    expect(values('telltale_action_duration_seconds')).toEqual({
      'tool search sum': 4,
      'tool search count': 1,
    });
    expect(values('telltale_action_lead_seconds')).toEqual({ 'a sum': 5, 'a count': 1 });
  });
});

describe('what a run does is counted', () => {
  it('by step and by how it ended, with what its artifacts decided and people were asked', () => {
    const values = measured(({ run }) => [
      run('r', { type: 'workflow.started', at: 1_000 }),
      ...['completed', 'failed', 'skipped', 'cancelled'].map((end) =>
        run('r', { type: `step.${end}`, step: 'x' }),
      ),
      run('r', { type: 'invoke', artifact: 'judge', method: 'm', fallback: { reason: 'error' } }),
      run('r', { type: 'review.requested', review: 'one', step: 'x' }),
      run('r', { type: 'review.requested', review: 'one', step: 'x' }),
      run('r', { type: 'review.requested', review: 'two', step: 'y' }),
      run('r', { type: 'review.resolved', review: 'one', answer: 'approved', by: 'me' }),
      run('r', { type: 'review.resolved', review: 'one', answer: 'approved', by: 'me' }),
      run('q', { type: 'workflow.started', at: 1_000 }),
      run('q', { type: 'workflow.cancelled', reason: '', by: 'me', at: 3_000 }),
      run('q', { type: 'step.completed', step: 'late' }),
    ]);
    expect(values('telltale_steps_total')).toEqual({
      'w completed': 1,
      'w failed': 1,
      'w skipped': 1,
      'w cancelled': 1,
    });
    expect(values('telltale_artifact_invokes_total')).toEqual({ 'judge error': 1 });
    expect(values('telltale_reviews_open')).toMatchObject({ run: 1 });
    expect(values('telltale_runs_started_total')).toEqual({ w: 2 });
    expect(values('telltale_runs_ended_total')).toEqual({ 'w cancelled': 1 });
    expect(values('telltale_run_duration_seconds')).toEqual({ 'w cancelled sum': 2, 'w cancelled count': 1 });
  });

  it('as of an unknown workflow where nobody here knows how it began', () => {
    const values = measured(({ run }) => [
      run('r', { type: 'step.completed', step: 'x' }),
      run('r', { type: 'workflow.resumed', by: 'me' }),
      run('r', { type: 'step.completed', step: 'y' }),
      run('r', { type: 'workflow.completed', output: null }),
    ]);
    expect(values('telltale_steps_total')).toEqual({ 'unknown completed': 1 });
    expect(values('telltale_runs_ended_total')).toEqual({ 'unknown completed': 1 });
    expect(values('telltale_run_duration_seconds')).toEqual({});
  });
});

describe('questions to people', () => {
  const openIn = ({ telemetry }: ReturnType<typeof telemetryOf>) =>
    Object.fromEntries(
      (parsePrometheus(telemetry.prometheus()).get('telltale_reviews_open')?.samples ?? []).map(
        ({ labels, value }) => [labels.asked_by, value],
      ),
    );

  it('are open no longer once another process has answered them, and one that is asked meanwhile is', async () => {
    const { session, run } = madeUp();
    const ask = (review: string) => session('s', { type: 'review.requested', review });
    const looked: (readonly string[])[] = [];
    const made = telemetryOf(
      {},
      {
        async stillOpen(reviews) {
          looked.push(reviews);
          made.telemetry.observe(ask('asked meanwhile'));
          await undefined;
          return new Set(['waits']);
        },
      },
    );
    await made.telemetry.refresh();
    expect(looked).toEqual([]);
    for (const event of [
      session('s', { type: 'session.started' }),
      ask('waits'),
      ask('answered'),
      run('r', { type: 'workflow.started' }),
      run('r', { type: 'review.requested', review: 'answered, too', step: 'x' }),
    ])
      made.telemetry.observe(event);
    expect(openIn(made)).toEqual({ session: 2, run: 1 });
    await Promise.all([made.telemetry.refresh(), made.telemetry.refresh()]);
    expect(looked).toEqual([['waits', 'answered', 'answered, too']]);
    expect(openIn(made)).toEqual({ session: 2, run: 0 });
    // Whoever answered it may be heard of after all.
    made.telemetry.observe(session('s', { type: 'review.resolved', review: 'answered', answer: 'approved' }));
    expect(openIn(made)).toEqual({ session: 2, run: 0 });
    made.telemetry.observe(session('s', { type: 'session.cancelled', reason: '', by: 'me' }));
    expect(openIn(made)).toEqual({ session: 0, run: 0 });
  });

  it('stay as they are counted where the store does not answer', async () => {
    const { session } = madeUp();
    const made = telemetryOf({}, { stillOpen: () => Promise.reject(new Error('away')) });
    made.telemetry.observe(session('s', { type: 'session.started' }));
    made.telemetry.observe(session('s', { type: 'review.requested', review: 'one' }));
    await made.telemetry.refresh();
    expect(openIn(made)).toMatchObject({ session: 1 });
  });
});

describe('a stream that began elsewhere', () => {
  const recalling = () => {
    const { session, run } = madeUp();
    const first = session('s', { type: 'session.started' });
    const taken: string[] = [];
    const answers: ((found: typeof first | undefined) => void)[] = [];
    const recaller = createRecaller({
      recall: () => new Promise((resolve) => answers.push(resolve)),
      isKnown: (stream) => stream === 'known',
      takeUp: ({ type }) => taken.push(type),
      take: ({ type, seq }) => taken.push(`${type} ${seq}`),
    });
    const answer = async (found: typeof first | undefined) => {
      for (const each of answers.splice(0)) each(found);
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { session, run, first, taken, recaller, answer };
  };

  it('is taken up with its first event, then with all that came meanwhile, in order', async () => {
    const { session, first, taken, recaller, answer } = recalling();
    expect(recaller.holds(session('s', { type: 'session.resumed' }))).toBe(true);
    expect(recaller.holds(session('s', { type: 'turn.started' }))).toBe(true);
    expect(recaller.holds(session('other', { type: 'turn.started' }))).toBe(false);
    expect(recaller.holds(session('known', { type: 'session.resumed' }))).toBe(false);
    expect(taken).toEqual([]);
    await answer(first);
    expect(taken).toEqual(['session.started', 'session.resumed 2', 'turn.started 3']);
    expect(recaller.holds(session('s', { type: 'turn.started' }))).toBe(false);
  });

  it('is taken without it where there is none, where too much waits for it, or where it is too late', async () => {
    const { session, run, first, taken, recaller, answer } = recalling();
    recaller.holds(run('r', { type: 'workflow.resumed' }));
    await answer(undefined);
    expect(taken.splice(0)).toEqual(['workflow.resumed 1']);

    for (let n = 0; n < 1_001; n++)
      expect(recaller.holds(session('s', { type: n === 0 ? 'session.resumed' : 'turn.started' }))).toBe(true);
    expect(taken.splice(0)).toHaveLength(1_001);
    await answer(first);
    expect(taken).toEqual([]);

    const clock = createSimulatedClock();
    recaller.holds(run('late', { type: 'workflow.resumed' }));
    const settled = recaller.settled(clock);
    await clock.advance(499);
    expect(taken).toEqual([]);
    await clock.advance(1);
    await settled;
    expect(taken).toEqual(['workflow.resumed 1']);
  });
});
