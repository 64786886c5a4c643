import { once } from 'node:events';
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { readAnyEvent } from '../../src/agent/log/read-log.ts';
import { makeWorkspace, nodeOnPath, pacedModel, readTemplate } from '../../src/cli/demo/run-demo.ts';
import type { Io } from '../../src/cli/io.ts';
import { observe } from '../../src/cli/serve/long-running.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { stateMetrics } from '../../src/log/state-metrics.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import type { AgentCatalog } from '../../src/server/catalog/agent-catalog.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Telemetry } from '../../src/telemetry/create-telemetry.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder, tool } from '../agent/run-agent.ts';
import { openSink, type Sink, type SunkSpan } from './otlp-sink.ts';
import { type Family, parsePrometheus } from './parse-prometheus.ts';
import { type Told, telemetryOf, tellStory, watchWith } from './story.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function sinkOf(options: Parameters<typeof openSink>[0] = {}): Promise<Sink> {
  const sink = await openSink(options);
  closing.push(sink.close);
  return sink;
}

const named = (spans: readonly SunkSpan[], name: string): SunkSpan => {
  const found = spans.filter((span) => span.name === name);
  expect(found.map((span) => span.name)).toEqual([name]);
  return found[0] as SunkSpan;
};

const valueIn = (families: ReadonlyMap<string, Family>, name: string, labels: Record<string, string>) =>
  families
    .get(name)
    ?.samples.find(
      (sample) =>
        JSON.stringify(Object.entries(sample.labels).sort()) ===
        JSON.stringify(Object.entries(labels).sort()),
    )?.value;

describe('a session with all that an agent can do', () => {
  let told: Told;
  let spans: readonly SunkSpan[];
  let sink: Sink;
  let text: string;

  beforeAll(async () => {
    sink = await openSink();
    const { telemetry, errors } = telemetryOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${sink.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'crew',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=not-this',
    });
    told = await tellStory(telemetry);
    await telemetry.close();
    await sink.close();
    expect(errors).toEqual([]);
    spans = sink.spans;
    text = telemetry.prometheus();
  });

  const at = (type: string, id?: string) =>
    told.events.find(
      (event) => event.type === type && (id === undefined || ('id' in event && event.id === id)),
    )?.at ?? Number.NaN;

  it('is sent to both addresses, with the headers and the resource that were set', () => {
    expect(new Set(sink.requests.map(({ path }) => path))).toEqual(new Set(['/v1/traces', '/v1/metrics']));
    expect(sink.requests.every(({ headers }) => headers['x-key'] === 'a b')).toBe(true);
    for (const resource of sink.resources)
      expect(resource).toMatchObject({
        'service.name': 'crew',
        'service.version': '1.2.3',
        'deployment.environment.name': 'test',
      });
  });

  it('has the session at the top of a trace, and turns and actions under it', () => {
    const root = named(spans, 'invoke_agent tester');
    expect(root.parentSpanId ?? '').toBe('');
    expect(root.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'tester',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-test',
      'gen_ai.conversation.id': told.session,
      'telltale.metadata.status': 'IDLE',
      'telltale.status': 'completed',
      'telltale.turns': 2,
    });
    const turns = spans.filter(({ name }) => name === 'chat claude-test');
    expect(turns.map(({ attributes }) => attributes['telltale.turn'])).toEqual([1, 2]);
    expect(turns.map(({ kind }) => kind)).toEqual([3, 3]);
    const usage = told.events.flatMap((event) => (event.type === 'turn.completed' ? [event.usage] : []));
    expect(turns.map(({ attributes }) => attributes['gen_ai.usage.input_tokens'])).toEqual(
      usage.map(({ input }) => input),
    );
    expect(root.attributes['gen_ai.usage.output_tokens']).toBe(
      usage.reduce((sum, { output }) => sum + output, 0),
    );
    const actions = ['echo', 'broken', 'flaky', 'helper', 'called', 'nosuch'].map((name) =>
      named(spans, `execute_tool ${name}`),
    );
    for (const span of [...turns, ...actions]) {
      expect(span.parentSpanId).toBe(root.spanId);
      expect(span.traceId).toBe(root.traceId);
    }
  });

  it('has a span of each action from its start to its end, the wait before it as an attribute', () => {
    const echo = named(spans, 'execute_tool echo');
    const declared = told.events.find(
      (event) => event.type === 'action.declared' && event.action.id === 't1',
    );
    expect([echo.startMs, echo.endMs]).toEqual([at('action.started', 't1'), at('action.completed', 't1')]);
    expect(echo.attributes).toMatchObject({
      'gen_ai.tool.name': 'echo',
      'gen_ai.tool.call.id': 't1',
      'telltale.attempts': 1,
      'telltale.status': 'completed',
      'telltale.wait_ms': at('action.started', 't1') - (declared?.at ?? Number.NaN),
    });
    expect(echo.status.code ?? 0).toBe(0);
  });

  it('has times and durations of the log', () => {
    const root = named(spans, 'invoke_agent tester');
    expect([root.startMs, root.endMs]).toEqual([at('session.started'), at('session.completed')]);
    const turns = spans.filter(({ name }) => name === 'chat claude-test');
    for (const [index, event] of told.events.filter(({ type }) => type === 'turn.completed').entries())
      if (event.type === 'turn.completed')
        expect(Math.abs((turns[index]?.endMs ?? 0) - (turns[index]?.startMs ?? 0) - event.ms)).toBeLessThan(
          1.5,
        );
  });

  it('has failures with their code, and tries as events', () => {
    const broken = named(spans, 'execute_tool broken');
    expect(broken.status.code).toBe(2);
    expect(broken.attributes).toMatchObject({ 'error.type': 'tool_failed', 'telltale.status': 'failed' });
    const flaky = named(spans, 'execute_tool flaky');
    expect(flaky.attributes['telltale.attempts']).toBe(2);
    expect(flaky.events).toMatchObject([
      { name: 'action.retrying', attributes: { 'telltale.attempt': 2, 'error.type': 'tool_failed' } },
      { name: 'action.started', attributes: { 'telltale.attempt': 2 } },
    ]);
  });

  it('has a sub-agent under the action that called it, and a called workflow with its steps and agents likewise', () => {
    const calls = named(spans, 'execute_tool helper');
    const helpers = spans.filter(({ name }) => name === 'invoke_agent helper');
    const called = named(spans, 'invoke_workflow called');
    const ask = named(spans, 'step ask');
    expect(called.parentSpanId).toBe(named(spans, 'execute_tool called').spanId);
    expect(ask.parentSpanId).toBe(called.spanId);
    expect(helpers.map(({ parentSpanId }) => parentSpanId).sort()).toEqual([calls.spanId, ask.spanId].sort());
    expect(named(spans, 'step fail')).toMatchObject({ status: { code: 2 }, parentSpanId: called.spanId });
    expect(new Set([called, ask, ...helpers].map(({ traceId }) => traceId))).toEqual(
      new Set([calls.traceId]),
    );
  });

  it('has a run that a trigger set off as a trace of its own, linked to the trigger', () => {
    const run = named(spans, 'invoke_workflow docs');
    const trigger = named(spans, 'trigger docs');
    const fired = told.events.find(({ type }) => type === 'trigger.fired');
    expect(run.parentSpanId ?? '').toBe('');
    expect(run.traceId).not.toBe(trigger.traceId);
    expect(run.links).toMatchObject([
      {
        traceId: trigger.traceId,
        spanId: trigger.spanId,
        attributes: { 'telltale.cause.stream': told.session, 'telltale.cause.seq': fired?.seq },
      },
    ]);
    expect(trigger.parentSpanId).toBe(named(spans, 'invoke_agent tester').spanId);
    const each = named(spans, 'step each');
    expect(each.parentSpanId).toBe(run.spanId);
    expect(
      spans
        .filter(({ name }) => name === 'step write')
        .map(({ parentSpanId, attributes }) => [parentSpanId, attributes['telltale.step']])
        .sort(),
    ).toEqual([
      [each.spanId, 'each[0]/write'],
      [each.spanId, 'each[1]/write'],
    ]);
  });

  it('tells no contents, neither in spans nor in metrics', () => {
    const sent = JSON.stringify([spans, [...sink.metrics()], text]);
    for (const secret of ['private', 'secret words', 'hello', 'Helped', 'Please', 'Done.'])
      expect(sent).not.toContain(secret);
  });

  it('counts sessions, turns, actions, triggers and runs by how they ended', () => {
    const families = parsePrometheus(text);
    const count = (name: string, labels: Record<string, string>) =>
      valueIn(families, `telltale_${name}_total`, labels);
    expect(count('sessions_started', { agent: 'helper' })).toBe(2);
    expect(count('sessions_ended', { agent: 'tester', status: 'completed' })).toBe(1);
    expect(count('turns', { agent: 'tester', status: 'completed' })).toBe(2);
    expect(count('actions', { agent: 'tester', kind: 'tool', target: 'broken', status: 'failed' })).toBe(1);
    expect(count('actions', { agent: 'tester', kind: 'tool', target: 'flaky', status: 'completed' })).toBe(1);
    expect(count('actions', { agent: 'tester', kind: 'tool', target: 'unknown', status: 'failed' })).toBe(1);
    expect(count('triggers_fired', { agent: 'tester', workflow: 'docs' })).toBe(1);
    expect(count('runs_ended', { workflow: 'docs', status: 'completed' })).toBe(1);
    expect(count('steps', { workflow: 'called', status: 'failed' })).toBe(1);
    const spoken = told.events.find(({ type }) => type === 'turn.completed')?.seq ?? 0;
    const early = told.events.filter(
      (event) => event.type === 'action.started' && event.attempt === 1 && event.seq < spoken,
    );
    expect(early.length).toBeGreaterThan(0);
    const leads = families.get('telltale_action_lead_seconds')?.samples ?? [];
    expect(leads.find(({ name }) => name.endsWith('_count'))?.value).toBe(early.length);
    const turnMs = told.events.flatMap((event) => (event.type === 'turn.completed' ? [event.ms] : []));
    const model = {
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: 'anthropic',
      gen_ai_request_model: 'claude-test',
    };
    const duration = families.get('gen_ai_client_operation_duration_seconds');
    const sum = duration?.samples.find(
      ({ name, labels }) =>
        name.endsWith('_sum') && labels.gen_ai_request_model === model.gen_ai_request_model,
    );
    expect(sum?.value).toBeCloseTo(turnMs.reduce((total, ms) => total + ms, 0) / 1_000, 9);
    expect(sum?.labels).toEqual(model);
  });

  it('has time, tokens and turns by state as the session’s own page has them', () => {
    const families = parsePrometheus(text);
    const [field] = stateMetrics(told.events);
    expect(field?.values.map(({ value }) => value)).toEqual(['IDLE', 'CODING', 'DONE']);
    for (const { value, ms, turns, input, output, entries } of field?.values ?? []) {
      const labels = { agent: 'tester', field: 'status', state: String(value) };
      expect(valueIn(families, 'telltale_state_time_seconds_total', labels)).toBe(ms * 0.001);
      expect(valueIn(families, 'telltale_state_turns_total', labels)).toBe(turns);
      expect(valueIn(families, 'telltale_state_entries_total', labels)).toBe(entries);
      expect(valueIn(families, 'telltale_state_tokens_total', { ...labels, type: 'input' })).toBe(input);
      expect(valueIn(families, 'telltale_state_tokens_total', { ...labels, type: 'output' })).toBe(output);
    }
  });

  it('sends the same metrics that it shows', () => {
    const families = parsePrometheus(text);
    const sent = sink.metrics();
    expect(sent.size).toBe(families.size);
    const time = sent.get('telltale.state.time');
    expect(time?.temporality).toBe(2);
    for (const { attributes, value } of time?.points ?? [])
      expect(
        valueIn(families, 'telltale_state_time_seconds_total', attributes as Record<string, string>),
      ).toBe(value);
    const usage = sent.get('gen_ai.client.token.usage')?.points ?? [];
    expect(usage.find(({ attributes }) => attributes['gen_ai.token.type'] === 'input')).toMatchObject({
      count: 2,
    });
  });

  it('gives the same spans from the same log, in any process', async () => {
    const again = await sinkOf();
    const { telemetry } = telemetryOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${again.url}/v1/traces` });
    for (const event of told.all) telemetry.observe(event);
    await telemetry.close();
    const bare = (all: readonly SunkSpan[]) =>
      all.map(({ attributes, ...span }) => ({ ...span, attributes }));
    expect(bare(again.spans)).toEqual(bare(spans));
    expect(again.metrics().size).toBe(0);
  });

  it('tells contents where that is asked for, each cut to a bounded size', async () => {
    const open = await sinkOf();
    const { telemetry } = telemetryOf({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${open.url}/v1/traces`,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    });
    for (const event of told.all)
      telemetry.observe(
        event.type === 'session.started' && event.parent === undefined
          ? { ...event, input: `Do it. ${'x'.repeat(100_000)}` }
          : event,
      );
    await telemetry.close();
    const { attributes } = named(open.spans, 'invoke_agent tester');
    expect(attributes['gen_ai.input.messages']).toMatch(/^\[\{"role":"user".*Do it\. x/);
    expect(String(attributes['gen_ai.input.messages']).length).toBeLessThan(9_000);
    expect(attributes['gen_ai.output.messages']).toContain('Done.');
    expect(named(open.spans, 'execute_tool echo').attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"text":"hello"}',
      'gen_ai.tool.call.result': '{"said":"hello"}',
    });
    expect(named(open.spans, 'execute_tool broken').status.message).toContain('secret words');
  });
});

describe('a session that two processes work on', () => {
  const held = tool(
    'hold',
    "await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(new Error('over'))));",
  );
  const TURNS = [
    '<metadata>{"status": "CODING"}</metadata><action id="h" mode="sync">{"name":"hold","parameters":{}}</action>',
    '<metadata>{"status": "DONE"}</metadata><response>Done.</response>',
  ];

  async function twice(first: Telemetry, second: (store: ReturnType<typeof createMemoryStore>) => Telemetry) {
    const folder = agentFolder(
      'import: { tools: [./tools/*.yml] }\nmetadata: { fields: { status: { values: [IDLE, CODING, DONE], default: IDLE } } }\n',
      held,
    );
    const store = createMemoryStore({ clock: createSystemClock() });
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const model = createScriptedModel({ turns: TURNS, id: 'scripted:test' });
    const runtime = await createRuntime({ store, cwd: folder });
    runtime.watch(first.observe);
    const session = runtime.start(agent, { input: 'Do it.', model });
    for await (const event of session.events) if (event.type === 'action.started') break;
    await session.interrupt();
    await runtime.close();
    await first.close();
    const other = await createRuntime({ store, cwd: folder });
    const telemetry = second(store);
    other.watch(telemetry.observe);
    const resumed = await other.resume(session.id, { agent, model });
    expect((await resumed.result).status).toBe('completed');
    const events = await other.events(session.id);
    await other.close();
    await telemetry.close();
    return { events, telemetry };
  }

  it('is one trace, whose session span comes from the second process and has its true start', async () => {
    const sink = await sinkOf();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url };
    const { events, telemetry } = await twice(
      telemetryOf(env).telemetry,
      (store) => telemetryOf(env, { recall: (stream) => readAnyEvent(store, stream, 1) }).telemetry,
    );
    const root = named(sink.spans, 'invoke_agent tester');
    expect(root.attributes['telltale.resumed']).toBe(true);
    expect(root.startMs).toBe(events[0]?.at);
    expect(new Set(sink.spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]));
    for (const span of sink.spans) if (span !== root) expect(span.parentSpanId).toBe(root.spanId);
    expect(
      sink.spans.find(({ attributes }) => attributes['gen_ai.tool.call.id'] === 'h')?.attributes,
    ).toMatchObject({ 'telltale.status': 'interrupted', 'error.type': 'interrupted' });
    expect(
      sink.spans.map(({ attributes }) => attributes['telltale.turn']).filter((turn) => turn === 2),
    ).toHaveLength(1);
    const families = parsePrometheus(telemetry.prometheus());
    expect(valueIn(families, 'telltale_sessions_ended_total', { agent: 'tester', status: 'completed' })).toBe(
      1,
    );
    expect(families.has('telltale_sessions_started_total')).toBe(false);
    expect(
      valueIn(families, 'telltale_state_entries_total', { agent: 'tester', field: 'status', state: 'DONE' }),
    ).toBe(1);
  });

  it('has the same ids where nobody can look its start up, and begins with what was seen', async () => {
    const sink = await sinkOf();
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${sink.url}/v1/traces` };
    const { events } = await twice(telemetryOf(env).telemetry, () => telemetryOf(env).telemetry);
    const root = named(sink.spans, 'invoke_agent');
    expect(root.attributes).toMatchObject({
      'telltale.resumed': true,
      'gen_ai.conversation.id': events[0]?.session,
    });
    expect(root.startMs).toBe(events.find(({ type }) => type === 'session.resumed')?.at);
    expect(sink.spans.length).toBeGreaterThan(2);
    for (const span of sink.spans) {
      expect(span.traceId).toBe(root.traceId);
      if (span !== root) expect(span.parentSpanId).toBe(root.spanId);
    }
  });
});

it('a question that another process has answered is open no longer in the metrics of the one that asked', async () => {
  const folder = agentFolder(
    'import: { tools: [./tools/*.yml] }\n',
    tool('deploy', 'return 1;', 'approval: always\n'),
  );
  const clock = createSystemClock();
  const home = { cwd: folder, clock, store: 'sqlite:shared.db', durability: 'process' } as const;
  const [asking, answering] = [await createRuntime(home), await createRuntime(home)];
  onTestFinished(() => asking.close());
  onTestFinished(() => answering.close());
  const going = { io: { env: {}, clock } as unknown as Io, version: '1', catalog: {} as AgentCatalog };
  const { metrics, close } = await observe(asking, {
    ...going,
    onError: (thrown) => expect.unreachable(String(thrown)),
  });
  onTestFinished(close);
  const open = async () =>
    parsePrometheus(await metrics())
      .get('telltale_reviews_open')
      ?.samples.find(({ labels }) => labels.asked_by === 'session')?.value;
  const model = scripted([
    '<action id="d">{"name":"deploy"}</action><action id="e">{"name":"deploy"}</action>',
  ]);
  const session = asking.start(await loadAgent('agent.yml', { cwd: folder }), { input: 'Go.', model });
  const { status, reviews = [] } = await session.result;
  expect([status, reviews.length]).toEqual(['waiting', 2]);
  expect(await open()).toBe(2);
  await answering.answer(reviews[0]?.review ?? '', { approved: true, by: 'ann' });
  expect(await open()).toBe(1);
});

describe('examples/coding', () => {
  it('is a tree without holes: every parent is there, no child begins before it, and links lead to spans', async () => {
    const sink = await sinkOf();
    const { telemetry, errors } = telemetryOf({ OTEL_EXPORTER_OTLP_ENDPOINT: sink.url });
    const env = nodeOnPath({ PATH: process.env.PATH }, process.execPath);
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-coding-')));
    const { folder } = await makeWorkspace(await readTemplate(), dir, { cwd: dir });
    const clock = createSystemClock();
    const all: (SessionEvent | RunEvent)[] = [];
    const agent = await loadAgent('agent.yml', { cwd: folder, env });
    const runtime = await createRuntime({ store: 'memory', clock, cwd: folder, env, random: () => 0 });
    watchWith(runtime, telemetry, all);
    const input = 'Add a --json flag to the report command';
    const session = runtime.start(agent, { input, model: await pacedModel(agent, undefined, clock) });
    expect((await session.result).status).toBe('completed');
    await runtime.workflows.idle();
    const events = await runtime.events(session.id);
    await runtime.close();
    await telemetry.close();
    expect(errors).toEqual([]);
    const ids = new Map(sink.spans.map((span) => [span.spanId, span]));
    expect(ids.size).toBe(sink.spans.length);
    for (const span of sink.spans) {
      if (span.parentSpanId) {
        expect(ids.get(span.parentSpanId)).toMatchObject({ traceId: span.traceId });
        expect(span.startMs).toBeGreaterThanOrEqual(ids.get(span.parentSpanId)?.startMs ?? Number.NaN);
      }
      for (const link of span.links) expect(ids.get(link.spanId)).toMatchObject({ traceId: link.traceId });
    }
    const counted = (type: string) => events.filter((event) => event.type === type).length;
    const spansOf = (operation: string) =>
      sink.spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === operation).length;
    expect(spansOf('chat')).toBe(counted('turn.started'));
    expect(spansOf('execute_tool')).toBe(counted('action.declared'));
    expect(spansOf('invoke_workflow')).toBe(counted('trigger.fired'));
    expect(sink.spans.filter(({ links }) => links.length > 0)).toHaveLength(counted('trigger.fired'));
    const families = parsePrometheus(telemetry.prometheus());
    for (const { field, values } of stateMetrics(events))
      for (const { value, ms } of values)
        expect(
          valueIn(families, 'telltale_state_time_seconds_total', {
            agent: events[0]?.type === 'session.started' ? events[0].agent : '',
            field,
            state: value === null ? '(unset)' : String(value),
          }),
        ).toBe(ms * 0.001);
  });
});

describe('a collector that is not as it should be', () => {
  const told = (telemetry: Telemetry) => {
    const head = { at: 1_000, session: 'ses_1', turn: 0, cause: { stream: 'ses_1', seq: 0, depth: 0 } };
    const manifest = { path: '', hash: '' };
    telemetry.observe({
      ...head,
      type: 'session.started',
      agent: 'a',
      input: '',
      manifest,
      model: 'm/n',
      seq: 1,
    });
    telemetry.observe({ ...head, type: 'session.completed', result: null, seq: 2, at: 2_000 });
  };

  it('that refuses is told of once, with its status', async () => {
    const sink = await sinkOf({ answer: (response) => void response.writeHead(500).end('no') });
    const { telemetry, errors } = telemetryOf({ OTEL_EXPORTER_OTLP_ENDPOINT: sink.url });
    told(telemetry);
    await telemetry.close();
    expect(errors.map(({ code, message }) => `${code} ${message}`)).toEqual([
      expect.stringMatching(/^telemetry_unsent The (traces|metrics) did not reach http:.*\(status 500\)\.$/),
    ]);
    expect(telemetry.prometheus()).toContain(
      'telltale_sessions_ended_total{agent="a",status="completed"} 1\n',
    );
  });

  it('that is away is told of once', async () => {
    const gone = await openSink();
    await gone.close();
    const { telemetry, errors } = telemetryOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: gone.url,
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    });
    told(telemetry);
    await telemetry.close();
    expect(errors.map(({ code }) => code)).toEqual(['telemetry_unsent']);
    expect(errors[0]?.message).toContain('ECONNREFUSED');
  });

  it('that never answers holds nobody for longer than two seconds', async () => {
    const answered = new AbortController();
    const sink = await sinkOf({
      answer: (response) => void once(answered.signal, 'abort').then(() => response.end('{}')),
    });
    const clock = createSimulatedClock();
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${sink.url}/v1/traces` };
    const { telemetry, errors } = telemetryOf(env, { clock });
    told(telemetry);
    const closed = telemetry.close();
    await expect.poll(() => sink.requests.length).toBe(1);
    await clock.advance(2_000);
    await closed;
    expect(errors).toMatchObject([
      { code: 'telemetry_unsent', message: expect.stringContaining('within 2 s') },
    ]);
    answered.abort();
  });
});
