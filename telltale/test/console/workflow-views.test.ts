import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ordinal } from '../../../console/src/format/format-number.ts';
import { decisionsOf } from '../../../console/src/pages/runs/model/decisions.ts';
import { missingGraph, missingSteps } from '../../../console/src/pages/runs/model/missing-graph.ts';
import { createRunModel } from '../../../console/src/pages/runs/model/run-model.ts';
import { stateVisits } from '../../../console/src/pages/runs/model/state-visits.ts';
import { stepStories } from '../../../console/src/pages/runs/model/step-stories.ts';
import { conditionWords } from '../../../console/src/pages/workflows/condition-words.ts';
import { drawnGraph } from '../../../console/src/pages/workflows/graph/drawn-graph.ts';
import { firstView } from '../../../console/src/pages/workflows/graph/first-view.ts';
import { type GraphLayout, layoutGraph } from '../../../console/src/pages/workflows/graph/layout-graph.ts';
import { crossings, orderLayers } from '../../../console/src/pages/workflows/graph/order-layers.ts';
import { poolApart } from '../../../console/src/pages/workflows/graph/pool-apart.ts';
import { runPosition } from '../../../console/src/pages/workflows/graph/run-position.ts';
import { inputFields, readInput, readObject } from '../../../console/src/pages/workflows/input-fields.ts';
import { triggerWords } from '../../../console/src/pages/workflows/trigger-words.ts';
import type { ApiGraph } from '../../src/client/api.ts';
import type { Followed } from '../../src/client/client.ts';
import { foldRun } from '../../src/log/reduce-run.ts';
import type { RunEvent, RunEventBody } from '../../src/log/run-event.ts';
import { moreRuns } from '../more-runs.ts';

type Node = ApiGraph['nodes'][number];
const node = (id: string, more: Partial<Node> = {}): Node => ({
  id,
  kind: 'step',
  name: id,
  lines: [],
  ...more,
});
const edge = (from: string, to: string, label?: string): ApiGraph['edges'][number] => ({
  from,
  to,
  kind: 'next',
  ...(label === undefined ? {} : { label }),
});
const graphOf = (graph: Partial<ApiGraph>): ApiGraph => ({
  workflow: 'w',
  nodes: [],
  groups: [],
  edges: [],
  ...graph,
});

interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
const overlap = (a: Rect, b: Rect) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const holds = (outer: Rect, inner: Rect) =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;
const placed = (layout: GraphLayout, id: string) =>
  [...layout.nodes, ...layout.groups].find((one) => one.id === id)!;

/** Graphs as manifests make them, with groups in groups, circles and edges to oneself. */
const anyGraph = fc
  .record({
    groups: fc.integer({ min: 0, max: 4 }),
    nodes: fc.array(fc.tuple(fc.nat(4), fc.string({ maxLength: 30 })), { minLength: 1, maxLength: 14 }),
    edges: fc.array(fc.tuple(fc.nat(13), fc.nat(13), fc.option(fc.string({ maxLength: 20 }))), {
      maxLength: 30,
    }),
  })
  .map(({ groups, nodes, edges }) =>
    graphOf({
      groups: Array.from({ length: groups }, (_, at) => ({
        id: `g${at}`,
        name: `g${at}`,
        type: 'parallel',
        ...(at === 0 ? {} : { group: `g${at - 1}` }),
      })),
      nodes: nodes.map(([group, name], at) =>
        node(`n${at}`, { name, ...(group < groups ? { group: `g${group}` } : {}) }),
      ),
      edges: edges.map(([from, to, label]) =>
        edge(`n${from % nodes.length}`, `n${to % nodes.length}`, label ?? undefined),
      ),
    }),
  );

describe('the layout of a graph', () => {
  test('no box overlaps another, and each stands in its group and in no other', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const layout = layoutGraph(graph);
        expect(layout.nodes).toHaveLength(graph.nodes.length);
        layout.nodes.forEach((one, at) => {
          for (const other of layout.nodes.slice(at + 1)) expect(overlap(one, other)).toBe(false);
          const { group } = graph.nodes.find(({ id }) => id === one.id)!;
          for (const box of layout.groups) {
            const inside = group !== undefined && within(graph, group, box.id);
            expect(inside ? holds(box, one) : !overlap(box, one)).toBe(true);
          }
        });
      }),
      { numRuns: moreRuns(60) },
    );
  });

  test('every edge begins and ends at its boxes, and all of it lies in the drawing', () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const layout = layoutGraph(graph);
        for (const { at, points } of layout.edges) {
          const { from, to } = graph.edges[at]!;
          const [first, last] = [points[0]!, points.at(-1)!];
          expect(touches(placed(layout, from), first)).toBe(true);
          expect(touches(placed(layout, to), last)).toBe(true);
          for (const { x, y } of points) {
            expect(x).toBeGreaterThanOrEqual(-1);
            expect(x).toBeLessThanOrEqual(layout.width + 1);
            expect(y).toBeGreaterThanOrEqual(-1);
            expect(y).toBeLessThanOrEqual(layout.height + 1);
          }
        }
      }),
      { numRuns: moreRuns(60) },
    );
  });

  test('what follows stands below, a way back leads up, and the same graph is drawn the same', () => {
    const graph = graphOf({
      nodes: [node('a'), node('b'), node('c')],
      edges: [edge('a', 'b'), edge('b', 'c'), edge('c', 'a', 'again')],
    });
    const layout = layoutGraph(graph);
    expect(placed(layout, 'a').y).toBeLessThan(placed(layout, 'b').y);
    expect(placed(layout, 'b').y).toBeLessThan(placed(layout, 'c').y);
    const back = layout.edges[2]!;
    expect(back.points[0]!.y).toBeGreaterThan(back.points.at(-1)!.y);
    expect(back.label).toBeDefined();
    expect(layoutGraph(graph)).toEqual(layout);
  });

  test('an edge that passes boxes goes around them', () => {
    const nodes = ['a', 'b', 'c', 'd'].map((id) => node(id));
    const layout = layoutGraph(
      graphOf({ nodes, edges: [edge('a', 'b'), edge('b', 'c'), edge('c', 'd'), edge('a', 'd')] }),
    );
    const { points } = layout.edges[3]!;
    for (const id of ['b', 'c'])
      for (const { x, y } of points) {
        const box = placed(layout, id);
        expect(x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height).toBe(false);
      }
  });

  test('ways that say nothing and join the same two groups are one', () => {
    const graph = graphOf({
      groups: ['g1', 'g2'].map((id) => ({ id, name: id, type: 'parallel' })),
      nodes: [
        ...['a', 'b'].map((id) => node(id, { group: 'g1' })),
        ...['c', 'd'].map((id) => node(id, { group: 'g2' })),
      ],
      edges: ['a', 'b'].flatMap((from) => ['c', 'd'].map((to) => edge(from, to))),
    });
    const layout = layoutGraph(graph);
    const [above, below] = ['g1', 'g2'].map((id) => placed(layout, id));
    const between = layout.edges.map(({ points }) =>
      points.filter(({ y }) => y >= above!.y + above!.height && y <= below!.y),
    );
    expect(between[0]!.length).toBeGreaterThan(1);
    for (const points of between) expect(points).toEqual(between[0]);
  });

  test('a drawing is shown whole where it can be read, else around what is of interest', () => {
    const room = { width: 800, height: 600 };
    expect(firstView({ width: 400, height: 300 }, room, { x: 0, y: 0 })).toEqual({ x: 200, y: 150, zoom: 1 });
    const tall = { width: 400, height: 3_000 };
    const top = firstView(tall, room, { x: 200, y: 0 });
    expect(top.zoom).toBeGreaterThan(0.6);
    expect(top.y).toBe(30);
    const middle = firstView(tall, room, { x: 200, y: 1_500 });
    expect(middle.y + 1_500 * middle.zoom).toBeCloseTo(300);
    const end = firstView(tall, room, { x: 200, y: 3_000 });
    expect(end.y + 3_000 * end.zoom).toBeCloseTo(570);
  });

  test('of far too many ways those that are only possible are left out, and it says so', () => {
    const nodes = Array.from({ length: 40 }, (_, at) => node(`s${at}`, { kind: 'state' }));
    const open = nodes.flatMap(({ id: from }) =>
      nodes.map(({ id: to }) => ({ from, to, kind: 'open' as const })),
    );
    const { graph, note } = drawnGraph(graphOf({ nodes, edges: [edge('s0', 's1'), ...open] }));
    expect(graph.edges).toEqual([edge('s0', 's1')]);
    expect(note).toContain('1,600 of 1,601');
    expect(drawnGraph(graph).note).toBeUndefined();
  });
});

const touches = (box: Rect, { x, y }: { readonly x: number; readonly y: number }) =>
  x >= box.x - 0.01 && x <= box.x + box.width + 0.01 && y >= box.y - 0.01 && y <= box.y + box.height + 0.01;

function within(graph: ApiGraph, group: string, outer: string): boolean {
  for (let at: string | undefined = group; at !== undefined; ) {
    if (at === outer) return true;
    const id: string = at;
    at = graph.groups.find((one) => one.id === id)?.group;
  }
  return false;
}

describe('layers', () => {
  test('two links that cross are put in order', () => {
    const around = [
      { up: [], down: [3] },
      { up: [], down: [2] },
      { up: [1], down: [] },
      { up: [0], down: [] },
    ];
    const layers = [
      [0, 1],
      [2, 3],
    ];
    expect(crossings(layers, around)).toBe(1);
    expect(crossings(orderLayers(layers, around), around)).toBe(0);
  });

  test('things in a row keep their order and their distance, and stand where they wish where there is room', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            at: fc.double({ min: -500, max: 500, noNaN: true }),
            width: fc.integer({ min: 1, max: 90 }),
            weight: fc.integer({ min: 1, max: 5 }),
          }),
        ),
        (wishes) => {
          const xs = poolApart(wishes, 10);
          for (let i = 1; i < xs.length; i++) {
            const apart = (wishes[i - 1]!.width + wishes[i]!.width) / 2 + 10;
            expect(xs[i]! - xs[i - 1]!).toBeGreaterThanOrEqual(apart - 1e-6);
          }
        },
      ),
      { numRuns: moreRuns(50) },
    );
    const far = [0, 300, 900].map((at) => ({ at, width: 50, weight: 1 }));
    expect(poolApart(far, 10)).toEqual([0, 300, 900]);
  });
});

const log = (...bodies: readonly RunEventBody[]): readonly RunEvent[] =>
  bodies.map((body, at) => ({
    ...body,
    seq: at + 1,
    at: 1_000 + at * 10,
    run: 'run_1',
    cause: { stream: 'run_1', seq: at, depth: 0 },
  }));
const started: RunEventBody = {
  type: 'workflow.started',
  workflow: 'w',
  input: {},
  vars: {},
  manifest: { path: 'a.yml', hash: '', agent: 'a' },
  origin: { chain: ['w'], agents: ['a'] },
};
const begin = (step: string, attempt = 1): RunEventBody => ({
  type: 'step.started',
  step,
  attempt,
  repeatable: true,
});
const finish = (step: string, notes?: string): RunEventBody => ({
  type: 'step.completed',
  step,
  output: 1,
  ms: 5,
  attempts: 1,
  ...(notes === undefined ? {} : { notes }),
});
const enter = (state: string, from: string | undefined, visit: number): RunEventBody => ({
  type: 'state.entered',
  state,
  visit,
  by: 'transition 0',
  ...(from === undefined ? {} : { from }),
});
const boom = { code: 'boom', message: 'It broke.', retryable: false };

describe('the position of a run', () => {
  const steps = graphOf({
    groups: [{ id: 'g1', name: 'each', type: 'foreach' }],
    nodes: [
      node('n1', { kind: 'start', name: '' }),
      node('n2', { name: 'read' }),
      node('n3', { kind: 'split', name: 'foreach', group: 'g1' }),
      node('n4', { name: 'build', group: 'g1' }),
      node('n5', { name: 'tell' }),
      node('n6', { kind: 'end', name: '' }),
    ],
    edges: [edge('n1', 'n2'), edge('n2', 'n3'), edge('n3', 'n4'), edge('n4', 'n5'), edge('n5', 'n6')],
  });

  test('steps are known by their name, however deep they stand, and what is under way counts', () => {
    const run = foldRun(
      log(
        started,
        begin('read'),
        finish('read'),
        begin('each'),
        begin('each[0]/build'),
        finish('each[0]/build'),
        begin('each[1]/build'),
      ),
    );
    const { marks, taken } = runPosition(steps, run);
    expect(Object.fromEntries(marks)).toEqual({
      n1: { status: 'completed', times: 1 },
      n2: { status: 'completed', times: 1 },
      n3: { status: 'running', times: 1 },
      n4: { status: 'running', times: 2 },
      g1: { status: 'running', times: 1 },
    });
    expect([...taken]).toEqual([0, 1, 2]);
  });

  test('says why a run has no graph, and which of its steps a changed workflow no longer has', () => {
    const run = foldRun(log(started, begin('read'), begin('each[0]/build'), begin('pack~2')));
    const agents = (name: string, usable = true) => [{ name, usable }];
    const { agent } = run.manifest;
    expect(missingGraph(run, agents(`not ${agent}`)).text).toContain(`has not loaded the agent "${agent}"`);
    expect(missingGraph(run, agents(agent, false)).title).toBe('No graph: the manifest has errors.');
    expect(missingGraph(run, agents(agent)).text).toContain(`has no workflow "${run.workflow}" any more`);
    expect(missingSteps(steps, run)).toEqual(['pack']);
  });

  test('a step that asks a person waits, and one that never ended in a run that failed has failed', () => {
    const asked: RunEventBody = {
      type: 'review.requested',
      review: 'r',
      step: 'read',
      prompt: 'May I?',
      options: ['approve'],
    };
    const waiting = foldRun(log(started, begin('read'), asked));
    expect(runPosition(steps, waiting).marks.get('n2')?.status).toBe('waiting');
    const failed = foldRun(log(started, begin('read'), { type: 'workflow.failed', error: boom }));
    expect(runPosition(steps, failed).marks.get('n2')?.status).toBe('failed');
    expect(runPosition(steps, failed).marks.has('n6')).toBe(false);
  });

  test('of a machine, states that were left are completed, and only ways that were gone are taken', () => {
    const machine = graphOf({
      nodes: [
        node('n1', { kind: 'start', name: '' }),
        ...['draft', 'check', 'done'].map((name) => node(name, { kind: 'state', name })),
      ],
      edges: [edge('n1', 'draft'), edge('draft', 'check'), edge('check', 'draft'), edge('draft', 'done')],
    });
    const run = foldRun(
      log(started, enter('draft', undefined, 1), enter('check', 'draft', 1), enter('draft', 'check', 2), {
        type: 'workflow.waiting',
        for: 'a person',
      } as const),
    );
    const { marks, taken } = runPosition(machine, run);
    expect(marks.get('draft')).toEqual({ status: 'waiting', times: 2 });
    expect(marks.get('check')).toEqual({ status: 'completed', times: 1 });
    expect(marks.has('done')).toBe(false);
    expect([...taken]).toEqual([0, 1, 2]);
  });
});

describe('what a run page tells', () => {
  const invoke: RunEventBody = {
    type: 'invoke',
    where: 'state a@1: transition 0',
    artifact: 'judge',
    method: 'fair',
    args: [],
    result: false,
    fallback: { reason: 'missing', message: 'None.' },
    cached: false,
    ms: 1,
    cost: 0,
  };
  const decided = (test: string, held: boolean): RunEventBody => ({
    type: 'if.decided',
    at_step: 'a@1:transition 0',
    test,
    held,
  });

  test('a test that repeats what an artifact has just said is told once', () => {
    const events = log(started, invoke, decided('judge.fair', false), decided('km > 3', true));
    expect(decisionsOf(events, 4).map(({ seq }) => seq)).toEqual([2, 4]);
    expect(decisionsOf(events, 3).map(({ seq }) => seq)).toEqual([2]);
  });

  test('a step has its notes, its end, and what happened on the way, answers to its reviews too', () => {
    const events = log(
      started,
      begin('s@1/write'),
      { type: 'review.requested', review: 'r', step: 's@1/write', prompt: 'May I?', options: ['approve'] },
      { type: 'review.resolved', review: 'r', answer: 'approved', choice: 'approve', by: 'ann' },
      finish('s@1/write', 'Done as told.'),
      begin('other'),
    );
    const [write, other] = stepStories(events, foldRun(events));
    expect(write).toMatchObject({ depth: 1, seq: 2, endedAt: 1_040, notes: 'Done as told.' });
    expect(write?.course.map(({ type }) => type)).toEqual(['review.requested', 'review.resolved']);
    expect(other?.endedAt).toBeUndefined();
    const before = stepStories(events, foldRun(events.slice(0, 3)));
    expect(before[0]?.course.map(({ type }) => type)).toEqual(['review.requested']);
  });

  test('a state lasts until the next one is entered or the run ends', () => {
    const events = log(started, enter('a', undefined, 1), enter('b', 'a', 1), {
      type: 'workflow.completed',
      output: null,
    });
    expect(stateVisits(events, 4).map(({ from, to }) => (to ?? 0) - from)).toEqual([10, 10]);
    expect(stateVisits(events, 3).at(-1)?.to).toBeUndefined();
  });

  test('a run is followed from where it is known, each event once, and can be looked at as it was', () => {
    const asked: (number | undefined)[] = [];
    let tell: (told: Followed<RunEvent>) => void = () => undefined;
    const model = createRunModel({
      id: 'run_1',
      schedule: (run) => run(),
      source: {
        followRun(_, listener, options) {
          asked.push(options?.after);
          tell = listener;
          return () => undefined;
        },
      },
    });
    const events = log(started, begin('read'), finish('read'));
    model.open();
    for (const event of [events[0]!, events[1]!, events[1]!]) tell({ kind: 'event', event });
    expect(model.stateAt().steps.get('read')?.status).toBe('running');
    tell({ kind: 'lost', error: boom, retryInMs: 10 });
    expect(model.following()).toEqual({ kind: 'lost', error: boom });
    model.open();
    tell({ kind: 'event', event: events[2]! });
    expect(asked).toEqual([0, 2]);
    expect(model.stateAt().steps.get('read')?.status).toBe('completed');
    expect(model.stateAt(2).steps.get('read')?.status).toBe('running');
    tell({ kind: 'lost', error: boom, retryInMs: Number.POSITIVE_INFINITY });
    tell({ kind: 'end' });
    expect(model.following().kind).toBe('refused');
  });
});

describe('triggers in words', () => {
  test.each([
    [{ status: 'CODING' }, 'status is CODING'],
    [{ status: ['A', 'B', 'C'] }, 'status is A, B or C'],
    [{ status: { from: 'A', to: 'B' } }, 'status changes from A to B'],
    [{ context: { phase: 'x', feature: { exists: true } } }, 'context.phase is x and context.feature is set'],
    [{ load: { gte: 3, lt: 9 } }, 'load is at least 3 and load is less than 9'],
    [{ any: [{ a: 1 }, { b: { not: 2 } }] }, '(a is 1 or b is not 2)'],
    [{ not: { a: null } }, 'not (a is null)'],
  ])('%j is told as "%s"', (conditions, words) => expect(conditionWords(conditions)).toBe(words));

  test('each kind of trigger says when it fires and how it is paced', () => {
    expect(
      triggerWords({
        type: 'metadata_match',
        conditions: { a: 1, b: 2 },
        match_all: false,
        fire: 'on_enter',
        cooldown: { ms: 60_000 },
        concurrency: { max: 1, when_busy: 'queue' },
      }),
    ).toEqual({
      icon: 'bolt',
      when: 'As soon as the agent declares that a is 1 or b is 2',
      pace: ['at most once in 1 min 00 s', '1 at a time, else queue'],
    });
    expect(triggerWords({ type: 'schedule', every: { ms: 3_600_000 }, missed: 'skip' }).when).toBe(
      'Every 1 h 00 min, missed times are skipped',
    );
    expect(triggerWords({ type: 'schedule', cron: '0 9 * * 1', timezone: 'UTC' }).when).toBe(
      'At the times of "0 9 * * 1" (UTC)',
    );
    expect(triggerWords({ type: 'event', event: 'action.failed', match: { id: 'a' } }).when).toBe(
      'When the event action.failed happens and id is a',
    );
    expect(triggerWords({ type: 'webhook', hook: 'ci' }).when).toContain('/hooks/ci');
    expect(
      triggerWords({ type: 'variable_match', test: { invoke: 'x', method: 'y' }, fire: 'once' }).when,
    ).toBe('The first time that variables say that artifact x.y says so');
  });

  test('ordinals', () => {
    expect([1, 2, 3, 4, 11, 12, 21, 102, 113].map(ordinal)).toEqual([
      '1st',
      '2nd',
      '3rd',
      '4th',
      '11th',
      '12th',
      '21st',
      '102nd',
      '113th',
    ]);
  });
});

describe('the input of a run', () => {
  const schema = {
    type: 'object',
    required: ['goal', 'post'],
    properties: {
      goal: { type: 'string', description: 'What for.' },
      count: { type: 'integer', default: 3 },
      risk: { enum: ['low', 'high'] },
      dry: { type: 'boolean' },
    },
  };

  test('a simple schema is a form, what is needed first; one that names nothing is JSON', () => {
    const fields = inputFields(schema)!;
    expect(fields.map(({ name, kind, required }) => [name, kind, required])).toEqual([
      ['goal', 'text', true] as const,
      ['post', 'json', true] as const,
      ['count', 'number', false] as const,
      ['risk', 'choice', false] as const,
      ['dry', 'flag', false] as const,
    ]);
    expect(inputFields({ type: 'object' })).toBeUndefined();
    expect(inputFields({ type: 'array' })).toBeUndefined();
    expect(inputFields(undefined)).toEqual([]);
  });

  test('what is typed becomes what the schema asks for, and what is wrong is said of its field', () => {
    const fields = inputFields(schema)!;
    expect(readInput(fields, { goal: 'x', post: '{"text":"a"}', count: '2', dry: 'false' })).toEqual({
      input: { goal: 'x', post: { text: 'a' }, count: 2, dry: false },
      problems: {},
    });
    expect(readInput(fields, { post: 'plain words', count: 'two' })).toEqual({
      input: { post: 'plain words' },
      problems: { goal: 'This is required.', count: 'Enter a number.' },
    });
    expect(readObject('')).toEqual({});
    expect(readObject('[1]')).toContain('a JSON object');
    expect(readObject('{')).toContain('not JSON');
  });
});
