import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { globSync } from 'tinyglobby';
import { describe, expect, it } from 'vitest';
import type { EventBody, SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import { foldRun } from '../../src/log/reduce-run.ts';
import { openReviews } from '../../src/log/reviews.ts';
import type { RunEvent, RunEventBody } from '../../src/log/run-event.ts';
import { emptyRunSummary, foldRunSummary, RUN_SUMMARY_TYPES } from '../../src/log/run-summary.ts';
import {
  emptySummary,
  foldSummary,
  MAX_SPANS,
  type SessionSummary,
  SUMMARY_TYPES,
} from '../../src/log/session-summary.ts';
import { arbitraryLog } from './arbitrary-log.ts';

const summaryOf = (events: readonly SessionEvent[], before = emptySummary('ses_test')): SessionSummary =>
  events.reduce(foldSummary, before);

const STARTED: EventBody = {
  type: 'session.started',
  agent: 'coder',
  input: 'Do it.',
  manifest: { path: 'agent.yml', hash: 'h' },
  model: 'scripted:x',
  metadata: { status: 'IDLE' },
  states: ['status'],
};

/** As a session writes it: it starts once, and then. */
const sessionLog = fc
  .tuple(arbitraryLog, fc.array(fc.record({ at: fc.nat(80), body: moreBodies() }), { maxLength: 12 }))
  .map(([log, more]) => {
    const bodies = log
      .filter(({ type }) => type !== 'session.started')
      .map(({ seq: _, at: __, session: ___, turn: ____, cause: _____, ...body }) => body as EventBody);
    for (const { at, body } of more) bodies.splice(Math.min(at, bodies.length), 0, body);
    return numbered([STARTED, ...bodies]);
  });

/** What the other folds' logs have none of. */
function moreBodies(): fc.Arbitrary<EventBody> {
  const run = fc.constantFrom('run_1', 'run_2');
  const of = { trigger: 'w#0', workflow: 'w', seen: {}, chain: ['w'] };
  return fc.oneof(
    run.map((run): EventBody => ({ type: 'trigger.fired', run, ...of })),
    run.map((run): EventBody => ({ type: 'workflow.completed', run, workflow: 'w', output: 1 })),
    fc.constant<EventBody>({ type: 'session.resumed', by: 'user', chat: true }),
    fc.constant<EventBody>({ type: 'session.waiting', for: 'message' }),
    fc.constant<EventBody>({ type: 'session.cancelled', reason: 'no', by: 'ann' }),
    fc.constant<EventBody>({
      type: 'custom',
      name: 'llm.usage',
      data: { input: 3, output: 4, cost_usd: 0.5 },
    }),
    fc.constant<EventBody>({
      type: 'child.turn.completed',
      action: 'a1',
      child: { session: 'ses_a', seq: 1 },
      event: { usage: { input: 5, output: 6 }, cost_usd: 0.25, ms: 1, first_token_ms: 1, finish: 'stop' },
    }),
    fc.constant<EventBody>({
      type: 'turn.failed',
      error: { code: 'x', message: 'x', retryable: false },
      usage: { input: 1, output: 1 },
      cost_usd: 0.5,
    }),
    fc.constant<EventBody>({
      type: 'custom',
      name: 'llm.usage',
      data: { input: 1, output: 1, estimated: true, cost_usd: 0 },
    }),
    fc.constant<EventBody>({
      type: 'prompt.compacted',
      through: 0,
      summary: '',
      usage: { input: 7, output: 8 },
    }),
  );
}

function numbered(bodies: readonly EventBody[]): readonly SessionEvent[] {
  let turn = 0;
  return bodies.map((body, index) => {
    if (body.type === 'turn.started') turn++;
    const cause = { stream: 'ses_test', seq: 0, depth: 0 };
    return { seq: index + 1, at: 1_000 + index, session: 'ses_test', turn, cause, ...body } as SessionEvent;
  });
}

/** An end of its action closes a review, too: a session withdraws it before, which a log of any events does not. */
const ENDS = /^action\.(?:completed|failed|skipped|cancelled|interrupted)$/;

const count = (log: readonly SessionEvent[], type: string) =>
  log.filter((event) => event.type === type).length;

function agreesWithState(log: readonly SessionEvent[]): void {
  const state = fold(log);
  const summary = summaryOf(log);
  const { input, output, cost_usd } = state.totals;
  expect(summary).toMatchObject({
    agent: state.agent,
    model: state.model,
    status: state.status,
    turn: state.turn,
    seq: state.seq,
    updatedAt: state.at,
    startedAt: state.startedAt,
    metadata: state.metadata,
    input_tokens: input,
    output_tokens: output,
    runs: state.runs.map(({ run }) => run),
    actions: {
      declared: count(log, 'action.declared'),
      completed: count(log, 'action.completed'),
      failed: count(log, 'action.failed') + count(log, 'action.interrupted'),
    },
    reviews: openReviews(fold(log.filter(({ type }) => !ENDS.test(type)))).map(({ review }) => review),
  });
  expect(summary.cost_usd).toBeCloseTo(cost_usd, 9);
  expect(Object.keys(summary.metadata)).toEqual(Object.keys(state.metadata));
  expect(summary.error).toEqual(state.error);
  expect(summary.chat).toBe(state.chat);
  expect(summary.estimated).toBe(state.totals.estimated);
  expect(summary.result === undefined).toBe(state.result === undefined);
}

describe('the summary of a session', () => {
  it('says what its state says, after any log', () => {
    fc.assert(fc.property(sessionLog, agreesWithState));
  });

  it('runs again once the conversation is handed to another agent', () => {
    const waiting: EventBody = { type: 'session.waiting', for: 'review' };
    const handoff: EventBody = {
      type: 'handoff',
      from: 'coder',
      to: 'billing',
      agent_session: 'ses_test.speaker.billing',
      by: 'rule',
      carry: 'messages',
      text: '',
    };
    const log = numbered([STARTED, waiting, handoff]);
    expect(summaryOf(log).status).toBe('running');
    agreesWithState(log);
  });

  it('says what its state says after every event of the logs of the examples', () => {
    const files = globSync('examples/*/expected.events.jsonl', { absolute: true });
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) {
      const lines = readFileSync(file, 'utf8').trim().split('\n');
      // What differs from run to run is left out of the files.
      const bodies = lines
        .map((line) => JSON.parse(line) as EventBody & { readonly run?: string })
        .filter((body) => 'turn' in body && !('step' in body))
        .map((body) => ({
          ...(body.type === 'turn.completed' ? { usage: { input: 2, output: 3 }, cost_usd: 1 } : {}),
          ...body,
        }));
      const log = numbered(bodies as readonly EventBody[]);
      for (let length = 1; length <= log.length; length++) agreesWithState(log.slice(0, length));
    }
  });

  it('is the same folded in two pieces, and changes nothing that it is given', () => {
    fc.assert(
      fc.property(sessionLog, fc.nat(90), (log, cut) => {
        const first = summaryOf(log.slice(0, cut));
        const frozen = JSON.stringify(first);
        expect(summaryOf(log.slice(cut), first)).toEqual(summaryOf(log));
        expect(JSON.stringify(first)).toBe(frozen);
      }),
    );
  });

  it('changes by events of its types only, but for its place', () => {
    fc.assert(
      fc.property(sessionLog, (log) => {
        let before = emptySummary('ses_test');
        for (const event of log) {
          const after = foldSummary(before, event);
          if (!SUMMARY_TYPES.has(event.type))
            expect(after).toEqual({ ...before, seq: event.seq, updatedAt: event.at });
          before = after;
        }
      }),
    );
  });

  it('shows the states over time, the newest of them, with where they began', () => {
    const changes = Array.from({ length: MAX_SPANS + 5 }, (_, index): EventBody => {
      const to = `S${index}`;
      return {
        type: 'metadata.changed',
        changes: { status: { from: 'x', to }, note: { from: 1, to } },
        by: 'model',
      };
    });
    const { bands } = summaryOf(numbered([STARTED, ...changes]));
    expect(Object.keys(bands)).toEqual(['status']);
    expect(bands.status).toHaveLength(MAX_SPANS);
    expect(bands.status?.at(-1)).toEqual({
      value: `S${MAX_SPANS + 4}`,
      at: 1_000 + MAX_SPANS + 5,
      seq: MAX_SPANS + 6,
    });
    const two = { ...STARTED, states: ['status', 'phase'] } as EventBody;
    expect(summaryOf(numbered([two])).bands).toEqual({
      status: [{ value: 'IDLE', at: 1_000, seq: 1 }],
      phase: [{ value: null, at: 1_000, seq: 1 }],
    });
  });

  it('says by whom it was called, where it was branched off, and whether it is a chat', () => {
    const parent = { session: 'ses_above', action: 'a', agents: ['boss'] };
    const forked = { session: 'ses_other', seq: 7 };
    const given = { ...STARTED, parent, forked, chat: true } as EventBody;
    expect(summaryOf(numbered([given]))).toMatchObject({ parent: 'ses_above', forked, chat: true });
    for (const field of ['parent', 'forked', 'chat'])
      expect(summaryOf(numbered([STARTED]))).not.toHaveProperty(field);
  });

  it('has a text as it is for a result, and another value as JSON', () => {
    const ended = (result: string | { a: number }) =>
      summaryOf(numbered([STARTED, { type: 'session.completed', result }])).result;
    expect(ended('Done.')).toBe('Done.');
    expect(ended({ a: 1 })).toBe('{"a":1}');
  });

  it('cuts a long input and a long result, and no character in two', () => {
    const { title, result } = summaryOf(
      numbered([
        { ...STARTED, input: `${'x'.repeat(199)}🙂${'y'.repeat(300)}` } as EventBody,
        { type: 'session.completed', result: { text: 'z'.repeat(1_000) } },
      ]),
    );
    expect(title).toBe('x'.repeat(199));
    expect(result).toHaveLength(500);
  });
});

const runBody: fc.Arbitrary<RunEventBody> = (() => {
  const step = fc.constantFrom('a', 'b@1/c');
  const review = fc.constantFrom('r1', 'r2');
  const error = { code: 'x', message: 'no', retryable: false };
  const times = { ms: 1, attempts: 1 };
  return fc.oneof(
    fc.constant<RunEventBody>({ type: 'workflow.resumed', by: 'runtime' }),
    fc.option(fc.nat(99), { nil: undefined }).map(
      (due): RunEventBody => ({
        type: 'workflow.waiting',
        for: 'an event',
        ...(due === undefined ? {} : { due }),
      }),
    ),
    fc.constant<RunEventBody>({ type: 'workflow.completed', output: 1 }),
    fc.constant<RunEventBody>({ type: 'workflow.failed', error }),
    fc.constant<RunEventBody>({ type: 'workflow.cancelled', reason: 'no', by: 'ann' }),
    fc.constant<RunEventBody>({ type: 'state.entered', state: 's', visit: 1, by: 'start' } as RunEventBody),
    step.map(
      (step): RunEventBody => ({ type: 'step.started', step, attempt: 1, repeatable: true }) as RunEventBody,
    ),
    step.map((step): RunEventBody => ({ type: 'step.completed', step, output: 1, ...times })),
    step.map((step): RunEventBody => ({ type: 'step.failed', step, error, ...times, policy: 'fail' })),
    review.map(
      (review): RunEventBody => ({
        type: 'review.requested',
        review,
        step: 'a',
        prompt: '?',
        options: ['yes'],
      }),
    ),
    review.map(
      (review): RunEventBody => ({
        type: 'review.resolved',
        review,
        answer: 'approved',
        choice: 'yes',
        by: 'ann',
      }),
    ),
    fc.constant<RunEventBody>({
      type: 'model.used',
      step: 'a',
      model: 'm',
      usage: { input: 1, output: 2 },
      cost_usd: 0.5,
    }),
    fc.constant<RunEventBody>({ type: 'audit', who: 'ann', what: 'x' }),
    fc.constant<RunEventBody>({ type: 'timer.set', id: 't', due: 5 }),
  );
})();

const runLog = fc.array(runBody, { maxLength: 40 }).map((bodies): readonly RunEvent[] => {
  const started: RunEventBody = {
    type: 'workflow.started',
    workflow: 'w',
    input: {},
    vars: {},
    manifest: { path: 'agent.yml', hash: 'h', agent: 'coder' },
    origin: {
      session: { id: 'ses_1', seq: 4 },
      trigger: { id: 'w#0', seen: {} },
      chain: ['w'],
      agents: ['coder'],
    },
  };
  return [started, ...bodies].map((body, index) => ({
    seq: index + 1,
    at: 1_000 + index,
    run: 'run_1',
    cause: { stream: 'run_1', seq: 0, depth: 0 },
    ...body,
  }));
});

describe('the summary of a run', () => {
  it('says what its state says, after any log', () => {
    fc.assert(
      fc.property(runLog, (log) => {
        const state = foldRun(log);
        const summary = log.reduce(foldRunSummary, emptyRunSummary('run_1'));
        expect(summary).toMatchObject({
          id: state.id,
          workflow: state.workflow,
          agent: state.manifest.agent,
          status: state.status,
          seq: state.seq,
          updatedAt: state.at,
          startedAt: state.startedAt,
          session: 'ses_1',
          trigger: 'w#0',
          reviews: state.reviews.filter(({ choice }) => choice === undefined).map(({ review }) => review),
          cost_usd: state.usage.cost_usd,
        });
        expect(summary.error).toEqual(state.error);
        expect(summary.state).toBe(state.state);
        expect(summary.waiting).toEqual(state.status === 'waiting' ? state.waiting : undefined);
      }),
    );
  });

  it('is the same folded in two pieces, and changes by events of its types only', () => {
    fc.assert(
      fc.property(runLog, fc.nat(41), (log, cut) => {
        const whole = log.reduce(foldRunSummary, emptyRunSummary('run_1'));
        const first = log.slice(0, cut).reduce(foldRunSummary, emptyRunSummary('run_1'));
        expect(log.slice(cut).reduce(foldRunSummary, first)).toEqual(whole);
        let before = emptyRunSummary('run_1');
        for (const event of log) {
          const after = foldRunSummary(before, event);
          if (!RUN_SUMMARY_TYPES.has(event.type))
            expect(after).toEqual({ ...before, seq: event.seq, updatedAt: event.at });
          before = after;
        }
      }),
    );
  });
});
