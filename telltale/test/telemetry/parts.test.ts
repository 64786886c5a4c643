import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { stateMetrics } from '../../src/log/state-metrics.ts';
import { ATTR, METRIC, modelName, OPERATION } from '../../src/telemetry/conventions.ts';
import { createSpanFold, prometheusText } from '../../src/telemetry/create-telemetry.ts';
import { createMetricReadings } from '../../src/telemetry/export/open-exporters.ts';
import { createInstruments, createRegistry } from '../../src/telemetry/metrics/instruments.ts';
import { createSessionMeter } from '../../src/telemetry/metrics/session-meter.ts';
import { createOpenStreams } from '../../src/telemetry/open-streams.ts';
import { readSettings, type SettingsEnv } from '../../src/telemetry/read-settings.ts';
import type { SpanRecord } from '../../src/telemetry/traces/open-span.ts';
import { callerIn, rootIn } from '../../src/telemetry/traces/open-span.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { recordedIo } from '../cli/recorded-io.ts';
import { madeUp } from './made-up.ts';
import { openSink } from './otlp-sink.ts';
import { parsePrometheus } from './parse-prometheus.ts';
import { telemetryOf } from './story.ts';

describe('names', () => {
  it('are those of the semantic conventions', () => {
    const known = new Set<unknown>(Object.values(conventions));
    for (const name of [...Object.values(ATTR), ...Object.values(METRIC), ...Object.values(OPERATION)])
      expect(known).toContain(name);
  });

  it('of models have the provider apart, as the conventions call it, and no path of the machine', () => {
    expect(modelName('anthropic/claude-sonnet-4-5')).toEqual({
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
    });
    expect(modelName('google/gemini-3')).toEqual({ provider: 'gcp.gemini', model: 'gemini-3' });
    expect(modelName('openrouter/meta/llama')).toEqual({ provider: 'openrouter', model: 'meta/llama' });
    expect(modelName('scripted:/home/me/turns.yml')).toEqual({ provider: 'scripted', model: 'turns.yml' });
    expect(modelName('scripted:turns.yml')).toEqual({ provider: 'scripted', model: 'turns.yml' });
  });

  it('of streams tell who called them, and who is at the top', () => {
    expect(callerIn('ses_1')).toBeUndefined();
    expect(callerIn('ses_1.fetch~2')).toEqual({ stream: 'ses_1', part: 'fetch' });
    expect(callerIn('run_1.each[2]/build#3')).toEqual({ stream: 'run_1', part: 'each[2]/build' });
    expect(callerIn('ses_1~lead')).toEqual({ stream: 'ses_1' });
    expect(callerIn('run_1~coder~2')).toEqual({ stream: 'run_1' });
    expect(callerIn('ses_1.feed:0a:4:1')).toEqual({ stream: 'ses_1' });
    expect(rootIn('ses_1.a.b~lead')).toBe('ses_1');
  });
});

describe('the settings', () => {
  const read = (env: SettingsEnv) => readSettings(env);

  it('are off where nothing is set, disabled or said to be none', () => {
    for (const env of [
      {},
      { OTEL_SERVICE_NAME: 'x', OTEL_EXPORTER_OTLP_ENDPOINT: '' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' },
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
        OTEL_TRACES_EXPORTER: 'none',
        OTEL_METRICS_EXPORTER: 'none',
      },
      { OTEL_METRICS_EXPORTER: 'prometheus' },
    ])
      expect(read(env)).toEqual({
        resource: { 'service.name': env.OTEL_SERVICE_NAME ?? 'telltale' },
        contents: false,
        problems: [],
      });
  });

  it('take the signal’s own variable before the shared one, and its address as it stands', () => {
    const { traces, metrics } = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://all:4318/base/',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces/in',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=2',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=3',
      OTEL_EXPORTER_OTLP_TIMEOUT: '7000',
      OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: 'soon',
    });
    expect(traces).toMatchObject({ url: 'https://traces/in', headers: { a: '1', b: '3' }, timeoutMs: 7_000 });
    expect(metrics).toMatchObject({ url: 'http://all:4318/base/v1/metrics', headers: { a: '1', b: '2' } });
    expect(metrics?.timeoutMs).toBe(7_000);
    expect(read({ OTEL_TRACES_EXPORTER: 'otlp' }).traces?.url).toBe('http://localhost:4318/v1/traces');
  });

  it('have a share of the traces sent', () => {
    const ratio = (sampler: string, arg?: string) =>
      read({
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_TRACES_SAMPLER: sampler,
        ...(arg === undefined ? {} : { OTEL_TRACES_SAMPLER_ARG: arg }),
      }).traces?.ratio;
    expect(['always_on', 'parentbased_always_off'].map((sampler) => ratio(sampler))).toEqual([1, 0]);
    expect(ratio('parentbased_traceidratio', '0.25')).toBe(0.25);
    expect([ratio('traceidratio'), ratio('traceidratio', '0'), ratio('traceidratio', '1')]).toEqual([
      1, 0, 1,
    ]);
    expect([ratio('traceidratio', '-0.1'), ratio('traceidratio', '1.1'), ratio('traceidratio', 'x')]).toEqual(
      [1, 1, 1],
    );
  });

  it('are compressed, and sent as what came since the last time, where that is asked for', () => {
    const asked = (env: SettingsEnv) => read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', ...env });
    expect(asked({})).toMatchObject({
      traces: { gzip: false },
      metrics: { gzip: false, temporality: 'cumulative' },
    });
    expect(
      asked({ OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip', OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: 'none' }),
    ).toMatchObject({ traces: { gzip: true }, metrics: { gzip: false }, problems: [] });
    const name = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE';
    for (const preference of ['delta', 'Delta', 'lowmemory'])
      expect(asked({ [name]: preference })).toMatchObject({
        metrics: { temporality: 'delta' },
        problems: [],
      });
    expect(asked({ [name]: 'cumulative' }).metrics?.temporality).toBe('cumulative');
  });

  it('take several exporters, and values as they were encoded', () => {
    expect(read({ OTEL_METRICS_EXPORTER: 'prometheus, otlp' }).metrics?.url).toBe(
      'http://localhost:4318/v1/metrics',
    );
    const { traces, resource } = read({
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_HEADERS: ' a = b%20c , =x, d , bad=%zz ',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=mine,team=%C3%BC',
    });
    expect(traces?.headers).toEqual({ a: 'b c', bad: '%zz' });
    expect(resource).toEqual({ 'service.name': 'mine', team: 'ü' });
  });

  it.each([
    ['grpc', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, ['telemetry_protocol', 'telemetry_protocol']],
    ['protobuf', { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }, ['telemetry_protocol']],
    ['an unknown exporter', { OTEL_TRACES_EXPORTER: 'zipkin' }, ['telemetry_setting']],
    ['an unknown sampler', { OTEL_TRACES_SAMPLER: 'sometimes' }, ['telemetry_setting']],
    [
      'an impossible share',
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '7' },
      ['telemetry_setting'],
    ],
    [
      'an unknown compression',
      { OTEL_EXPORTER_OTLP_COMPRESSION: 'zip' },
      ['telemetry_setting', 'telemetry_setting'],
    ],
    [
      'an unknown temporality',
      { OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'often' },
      ['telemetry_setting'],
    ],
    [
      'no address',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
      ['telemetry_setting', 'telemetry_setting'],
    ],
  ])('that cannot be done are said, and harm nothing: %s', (_, env, codes) => {
    const { problems } = read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', ...env });
    expect(problems.map(({ code }) => code)).toEqual(codes);
    for (const { hint } of problems) expect(hint).toBeTruthy();
  });

  it('with grpc send nothing, since it has a port of its own', () => {
    const { traces, metrics } = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    });
    expect([traces, metrics]).toEqual([undefined, undefined]);
  });
});

/** All that has a meaning in the text format, and some that has none. */
const label = fc.string({
  unit: fc.constantFrom('"', '\\', '\n', '{', '}', ',', '=', ' ', '#', 'n', 'é'),
  maxLength: 12,
});

describe('metrics', () => {
  it('whose labels are too many are counted together', () => {
    const registry = createRegistry(3);
    const counter = registry.counter({ name: 'a.b', help: 'h', unit: '{x}', labels: ['one', 'two'] });
    for (let n = 0; n < 10; n++) counter.of(`v${n}`, 'w').value++;
    counter.of('v1', 'w').value++;
    expect(prometheusText(registry.metrics())).toBe(
      [
        '# HELP a_b_total h',
        '# TYPE a_b_total counter',
        'a_b_total{one="v0",two="w"} 1',
        'a_b_total{one="v1",two="w"} 2',
        'a_b_total{one="v2",two="w"} 1',
        'a_b_total{one="other",two="other"} 7',
        '',
      ].join('\n'),
    );
  });

  it('come back from the text as they went in, whatever labels hold', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(label, fc.nat()), { maxLength: 20 }), (all) => {
        const registry = createRegistry();
        const counter = registry.counter({ name: 'c', help: 'a \\ b\nc', unit: 's', labels: ['l'] });
        const sums = new Map<string, number>();
        for (const [label, n] of all) {
          counter.of(label).value += n;
          sums.set(label, (sums.get(label) ?? 0) + n);
        }
        const samples =
          parsePrometheus(prometheusText(registry.metrics())).get('c_seconds_total')?.samples ?? [];
        expect(new Map(samples.map(({ labels, value }) => [labels.l ?? '', value]))).toEqual(sums);
      }),
    );
  });

  it('of histograms have each value in the bucket of the first bound that is not below it', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 20, noNaN: true }), { minLength: 1 }), (values) => {
        const registry = createRegistry();
        const bounds = [0.5, 1, 10];
        const histogram = registry.histogram({ name: 'h', help: 'h', unit: 's', labels: [], bounds });
        for (const value of values) histogram.record(value);
        const samples = parsePrometheus(prometheusText(registry.metrics())).get('h_seconds')?.samples ?? [];
        for (const { labels, value } of samples)
          if (labels.le !== undefined && labels.le !== '+Inf')
            expect(value).toBe(values.filter((each) => each <= Number(labels.le)).length);
      }),
    );
  });

  it('are sent as what came since the last time where a collector wants it so', () => {
    const registry = createRegistry();
    const counter = registry.counter({ name: 'c', help: '', unit: '', labels: [] }).of();
    const gauge = registry.gauge({ name: 'g', help: '', unit: '', labels: [] }).of();
    const histogram = registry.histogram({ name: 'h', help: '', unit: 's', labels: [], bounds: [1] });
    const readings = createMetricReadings(0, 'delta');
    const read = (now: number) =>
      readings
        .read(registry.metrics(), now)
        .map(({ dataPoints: [point] }) => [point?.value, point?.startTime[0]]);
    const buckets = (counts: number[], sum: number, count: number) => ({
      buckets: { boundaries: [1], counts },
      sum,
      count,
    });
    counter.value = 3;
    gauge.value = 2;
    histogram.record(0.5);
    expect(read(1_000)).toEqual([
      [3, 0],
      [2, 0],
      [buckets([1, 0], 0.5, 1), 0],
    ]);
    counter.value = 5;
    histogram.record(4);
    expect(read(2_000)).toEqual([
      [2, 1],
      [2, 1],
      [buckets([0, 1], 4, 1), 1],
    ]);
  });
});

describe('what is spent by state', () => {
  const usage = fc.record({ input: fc.nat(1_000), output: fc.nat(1_000) });
  const value = fc.constantFrom('A', 'B', null);
  const body = fc.oneof(
    fc.constant({ type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } }),
    fc.record({
      type: fc.constant('turn.completed'),
      usage,
      cost_usd: fc.nat(9),
      ms: fc.nat(9),
      first_token_ms: fc.nat(9),
      finish: fc.constant('stop'),
    }),
    fc.record({
      type: fc.constant('turn.failed'),
      error: fc.constant({ code: 'x', message: '', retryable: false }),
      usage,
      cost_usd: fc.nat(9),
    }),
    value.map((to) => ({
      type: 'metadata.changed',
      changes: { status: { from: null, to }, free: { from: null, to: 'text' } },
      by: 'model',
    })),
    fc.constantFrom('message', 'a review').map((what) => ({ type: 'session.waiting', for: what })),
    fc.constant({ type: 'message.received', from: 'user', text: '' }),
    fc.constant({ type: 'session.resumed', by: 'user' }),
    fc.boolean().map((away) => ({
      type: 'review.resolved',
      review: 'r',
      answer: 'approved',
      by: 'me',
      ...(away ? { away } : {}),
    })),
    fc.record({
      type: fc.constant('prompt.compacted'),
      through: fc.constant(0),
      summary: fc.constant(''),
      usage,
      cost_usd: fc.nat(9),
    }),
    usage.map((used) => ({ type: 'custom', name: 'llm.usage', data: { ...used, cost_usd: 2 } })),
    fc.record({
      type: fc.constant('child.usage'),
      action: fc.constant('a'),
      child: fc.constant({ session: 'c', seq: 1 }),
      usage,
      cost_usd: fc.nat(9),
    }),
    fc.constant({ type: 'thought', text: '', depth: 0 }),
  );

  it('is what events/state-metrics says, for any log', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(body, fc.integer({ min: -5, max: 100 }))), value, (bodies, initial) => {
        let at = 1_000;
        const head = (seq: number) => ({
          seq,
          at,
          session: 's',
          turn: 1,
          cause: { stream: 's', seq: 0, depth: 0 },
        });
        const first = {
          type: 'session.started',
          agent: 'a',
          input: '',
          manifest: { path: '', hash: '' },
          model: 'm/n',
          states: ['status'],
          metadata: initial === null ? {} : { status: initial },
          ...head(1),
        } as SessionEvent;
        const events = [
          first,
          ...bodies.map(([each, ms], index) => {
            at += ms;
            return { ...each, ...head(index + 2) } as unknown as SessionEvent;
          }),
        ];
        const registry = createRegistry();
        const meter = createSessionMeter(createInstruments(registry));
        for (const event of events) meter.add(event);
        const read = (name: string, ...labels: string[]) => {
          const metric = registry.metrics().find((each) => each.name === name);
          const series = metric?.kind === 'counter' ? metric.series.get(JSON.stringify(labels)) : undefined;
          return series?.value ?? 0;
        };
        const [field] = stateMetrics(events);
        for (const { value: state, ms, turns, entries, input, output, cost_usd } of field?.values ?? []) {
          const labels = ['a', 'status', state === null ? '(unset)' : String(state)];
          expect([
            read('telltale.state.time', ...labels),
            read('telltale.state.turns', ...labels),
            read('telltale.state.entries', ...labels),
            read('telltale.state.tokens', ...labels, 'input'),
            read('telltale.state.tokens', ...labels, 'output'),
            read('telltale.state.cost', ...labels),
          ]).toEqual([ms, turns, entries, input, output, cost_usd]);
        }
      }),
    );
  });
});

describe('what costs, asks and decides', () => {
  it('is counted once: by the session that a step called, not by its run again', () => {
    const { telemetry, errors } = telemetryOf({});
    const { session, run } = madeUp();
    const used = (step: string, more: object = {}) =>
      run('r', {
        type: 'model.used',
        step,
        model: 'm/n',
        usage: { input: 1, output: 1 },
        cost_usd: 2,
        ...more,
      });
    const ended = {
      type: 'turn.completed',
      usage: { input: 1, output: 1 },
      cost_usd: 2,
      ms: 1,
      first_token_ms: 1,
      finish: 'stop',
    };
    for (const event of [
      run('r', { type: 'workflow.started' }),
      used('prompt'),
      session('r.ask', { type: 'session.started', parent: { session: 'r', action: 'ask', agents: [] } }),
      session('r.ask', { type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } }),
      session('r.ask', ended),
      used('ask'),
      used('task', { worker: 'r~a' }),
      session('s', { type: 'session.started' }),
      session('s', {
        type: 'child.turn.completed',
        action: 'x',
        child: { session: 's.x', seq: 1 },
        event: ended,
      }),
    ])
      telemetry.observe(event);
    expect(errors).toEqual([]);
    expect(parsePrometheus(telemetry.prometheus()).get('telltale_cost_usd_total')?.samples).toEqual([
      { name: 'telltale_cost_usd_total', labels: { workflow: 'w' }, value: 2 },
      { name: 'telltale_cost_usd_total', labels: { agent: 'a' }, value: 2 },
    ]);
  });

  it('shows how many reviews are open, until they are answered or nobody needs an answer any more', () => {
    const { telemetry } = telemetryOf({});
    const { session, run } = madeUp();
    const open = () =>
      parsePrometheus(telemetry.prometheus())
        .get('telltale_reviews_open')
        ?.samples.map(({ labels, value }) => [labels.asked_by, value]);
    telemetry.observe(session('s', { type: 'session.started' }));
    telemetry.observe(run('r', { type: 'workflow.started' }));
    for (const review of ['one', 'two'])
      telemetry.observe(session('s', { type: 'review.requested', review, action: 'x' }));
    telemetry.observe(run('r', { type: 'review.requested', review: 'three', step: 'x' }));
    expect(open()).toEqual([
      ['session', 2],
      ['run', 1],
    ]);
    telemetry.observe(session('s', { type: 'review.resolved', review: 'one', answer: 'approved', by: 'me' }));
    telemetry.observe(session('s', { type: 'session.cancelled', reason: '', by: 'me' }));
    telemetry.observe(
      run('r', { type: 'workflow.failed', error: { code: 'x', message: '', retryable: false } }),
    );
    expect(open()).toEqual([
      ['session', 0],
      ['run', 0],
    ]);
  });

  it('has a span of each question to an artifact, as long as the answer took', () => {
    const spans: SpanRecord[] = [];
    const fold = createSpanFold({ emit: (span) => spans.push(span), contents: false });
    const { session } = madeUp();
    fold.session(session('s', { type: 'session.started' }));
    const asked = {
      type: 'invoke',
      artifact: 'judge',
      version: 3,
      method: 'decide',
      args: ['secret'],
      result: 'secret',
    };
    const fallback = { reason: 'timeout', message: 'secret' };
    const event = session('s', { ...asked, where: 'trigger w#0', fallback, cached: false, ms: 40, cost: 1 });
    fold.session(event);
    expect(spans).toMatchObject([
      {
        name: 'invoke_artifact judge.decide',
        startAt: event.at - 40,
        endAt: event.at,
        attributes: {
          'telltale.artifact.version': 3,
          'telltale.fallback': 'timeout',
          'telltale.where': 'trigger w#0',
        },
      },
    ]);
    expect(JSON.stringify(spans)).not.toContain('secret');
  });

  it('ends with its session what has not ended before, and says so', () => {
    const spans: SpanRecord[] = [];
    const fold = createSpanFold({ emit: (span) => spans.push(span), contents: false });
    const { session } = madeUp();
    for (const body of [
      { type: 'session.started' },
      { type: 'turn.started', prompt: { tokens: 1, reused_prefix: 1 } },
      {
        type: 'action.declared',
        action: { id: 'a1', kind: 'tool', mode: 'async', name: 'echo', parameters: {} },
      },
      { type: 'session.failed', error: { code: 'limit_wall', message: 'secret', retryable: false } },
      // The end of a run that a trigger set off comes later, and opens nothing.
      { type: 'workflow.completed', run: 'r', workflow: 'w', output: null },
    ])
      fold.session(session('s', body));
    expect(spans.map(({ name, attributes }) => [name, attributes['telltale.status']])).toEqual([
      ['execute_tool echo', 'unfinished'],
      ['chat n', undefined],
      ['invoke_agent a', 'failed'],
    ]);
    expect(spans.at(-1)).toMatchObject({ error: {}, attributes: { 'error.type': 'limit_wall' } });
  });
});

describe('telemetry', () => {
  it('forgets the oldest streams where too much is open', () => {
    const forgotten: string[] = [];
    const streams = createOpenStreams<{ size: number; name: string }>(3, ({ name }) => forgotten.push(name));
    for (const name of ['a', 'b', 'c']) streams.open(name, { size: 1, name });
    const c = streams.get('c');
    if (c !== undefined) streams.grow(c, 2);
    expect(forgotten).toEqual(['a', 'b']);
    streams.close('c');
    streams.open('d', { size: 3, name: 'd' });
    expect(forgotten).toEqual(['a', 'b']);
    // Opened anew, it counts once.
    streams.open('d', { size: 2, name: 'd' });
    streams.open('e', { size: 1, name: 'e' });
    expect(forgotten).toEqual(['a', 'b']);
    const e = streams.get('e');
    if (e !== undefined) streams.grow(e, 5);
    expect([forgotten, streams.get('d'), streams.get('e')?.size]).toEqual([['a', 'b', 'd'], undefined, 6]);
    streams.close('none');
  });

  it('that cannot make sense of an event says so once, and goes on', () => {
    const { telemetry, errors } = telemetryOf({});
    const head = { seq: 1, at: 1, session: 's', turn: 0, cause: { stream: 's', seq: 0, depth: 0 } };
    const manifest = { path: '', hash: '' };
    telemetry.observe({ ...head, type: 'session.started', agent: 'a', input: '', manifest, model: 'm/n' });
    for (let n = 0; n < 3; n++)
      telemetry.observe({ ...head, type: 'action.declared' } as unknown as SessionEvent);
    telemetry.observe({ ...head, type: 'session.completed', result: null });
    expect(errors.map(({ code }) => code)).toEqual(['internal']);
    expect(telemetry.prometheus()).toContain(
      'telltale_sessions_ended_total{agent="a",status="completed"} 1\n',
    );
  });

  it('loads nothing of OpenTelemetry where nothing is to be sent', async () => {
    const folder = agentFolder('');
    const file = join(folder, 'look.mjs');
    const source = (name: string) => new URL(`../../src/${name}`, import.meta.url).href;
    writeFileSync(
      file,
      `import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ resolve: (name, context, next) => (loaded.push(name), next(name, context)) });
      const { createTelemetry } = await import('${source('telemetry/create-telemetry.ts')}');
      const { createSystemClock } = await import('${source('lib/clock.ts')}');
      const look = async (env) => {
        const telemetry = createTelemetry({ env, version: '1', clock: createSystemClock(), onError() {} });
        const head = { session: 's', turn: 0, cause: { stream: 's', seq: 0, depth: 0 } };
        telemetry.observe({ ...head, type: 'session.started', agent: 'a', input: '', manifest: {}, model: 'm', seq: 1, at: 1 });
        telemetry.observe({ ...head, type: 'session.completed', result: null, seq: 2, at: 2 });
        telemetry.prometheus();
        await telemetry.close();
        return loaded.some((name) => name.startsWith('@opentelemetry/'));
      };
      const off = await look({});
      const on = await look({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_EXPORTER_OTLP_TIMEOUT: '50' });
      console.log(JSON.stringify({ off, on }));
      process.exit();`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(JSON.parse(stdout)).toEqual({ off: false, on: true });
  });

  it('is sent by `telltale run`, too, and a collector that is away costs it a warning', async () => {
    const sink = await openSink();
    const folder = agentFolder('', { 'none.yml': 'turns: ["<response>Done.</response>"]\n' });
    const run = async () => {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url, OTEL_EXPORTER_OTLP_TIMEOUT: '100' };
      const io = recordedIo({ env: { PATH: process.env.PATH, ...env }, cwd: folder });
      const code = await main(['run', 'agent.yml', 'Do it.', '--store', 'memory'], io);
      return { code, err: io.err() };
    };
    expect(await run()).toMatchObject({ code: 0, err: expect.not.stringContaining('warning') });
    expect(sink.spans.map(({ name }) => name)).toEqual(['chat none.yml', 'invoke_agent tester']);
    await sink.close();
    const { code, err } = await run();
    expect(code).toBe(0);
    expect(err).toMatch(/warning: The (traces|metrics) did not reach http:.*\n {2}→ /);
  });
});
