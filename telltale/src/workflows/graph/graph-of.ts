import { asText } from '../../expressions/values.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Invocation } from '../../tools/artifacts/create-invoke.ts';
import type { Test } from '../step-executor.ts';

/** The graph of a checked workflow. Pure; the same manifest gives the same graph. */
export function graphOf(workflow: WorkflowManifest): WorkflowGraph {
  const builder = createGraphBuilder();
  if (workflow.states === undefined) {
    const start = builder.node('start', '', [], undefined);
    const { entries, exits } = drawSteps(workflow.steps ?? [], builder, undefined);
    const end = builder.node('end', '', [], undefined);
    for (const entry of entries) builder.edge({ from: start }, entry);
    for (const exit of exits) builder.edge(exit, end);
    if (entries.length === 0) builder.edge({ from: start }, end);
  } else drawStates(workflow, builder);
  const { nodes, groups, edges } = builder;
  return {
    workflow: workflow.name,
    ...(workflow.description === undefined ? {} : { description: workflow.description }),
    nodes,
    groups,
    edges,
  };
}

type States = NonNullable<WorkflowManifest['states']>;
type GraphState = States[string];
type TransitionStep = Extract<Step, { readonly type: 'transition' }>;

/** Steps that a state lists: those behind are counted. */
const MAX_LISTED = 8;

/** Draws a machine: a node for each state, an edge for each way out of it. */
function drawStates(workflow: WorkflowManifest, into: GraphBuilder): void {
  const states = workflow.states ?? {};
  const start = into.node('start', '', [], undefined);
  const ids = new Map(
    Object.entries(states).map(([name, state]) => [
      name,
      into.node(state.final ? 'final' : 'state', name, stateLines(state), undefined),
    ]),
  );
  const lead = (from: string, to: string, label: string | undefined, kind: 'next' | 'open' = 'next') => {
    const target = ids.get(to);
    if (target !== undefined) into.edge({ from, ...(label === undefined ? {} : { label }) }, target, kind);
  };
  if (workflow.initial !== undefined) lead(start, workflow.initial, undefined);
  for (const [name, state] of Object.entries(states)) {
    const from = ids.get(name);
    if (from === undefined) continue;
    for (const step of transitionSteps(state.steps)) {
      const map = 'transition_map' in step ? step.transition_map : undefined;
      for (const [answer, to] of Object.entries(map ?? {})) lead(from, to, answer);
      if (!('transition_source' in step)) continue;
      const fallback = asText(step.transition_source.fallback);
      if (map === undefined)
        for (const to of Object.keys(states))
          if (to !== name && to !== fallback) lead(from, to, undefined, 'open');
      if (map === undefined || !Object.hasOwn(map, fallback)) lead(from, fallback, 'fallback', 'open');
    }
    const ways = [...state.transitions, ...leaving(workflow, name)];
    for (const [index, { to, condition }] of ways.entries()) {
      const test = condition === undefined ? undefined : testText(condition);
      lead(from, to, ways.length === 1 ? test : `${index + 1}: ${test ?? 'else'}`);
    }
  }
}

/** The workflow's own transitions that leave this state: they come after the state's. */
const leaving = ({ transitions = [], states = {} }: WorkflowManifest, name: string) =>
  states[name]?.final === true
    ? []
    : transitions.filter(
        ({ from }) => from === '*' || from === name || (Array.isArray(from) && from.includes(name)),
      );

function stateLines({ description, steps }: GraphState): readonly string[] {
  const listed = steps.slice(0, MAX_LISTED).map((step) => `${step.name}: ${stepLines(step)[0] ?? step.type}`);
  const more = steps.length - listed.length;
  return [
    ...(description === undefined ? [] : [description]),
    ...listed,
    ...(more > 0 ? [`… ${more} more ${more === 1 ? 'step' : 'steps'}`] : []),
  ];
}

/** Also those inside of other steps. */
function transitionSteps(steps: readonly Step[]): readonly TransitionStep[] {
  return steps.flatMap((step): readonly TransitionStep[] =>
    step.type === 'transition' ? [step] : stepsInside(step).flatMap((inner) => transitionSteps(inner)),
  );
}

function stepsInside(step: Step): readonly (readonly Step[])[] {
  if ('branches' in step) return step.branches;
  if ('cases' in step) return [...step.cases.map(({ body }) => body), step.default ?? []];
  if (!('body' in step)) return [];
  return 'catch' in step || 'finally' in step
    ? [step.body, step.catch ?? [], step.finally ?? []]
    : [step.body];
}

/** A step, or several, as the rest of the graph sees it: where it is entered, and the ways out of it. */
export interface GraphPart {
  readonly entries: readonly string[];
  readonly exits: readonly Exit[];
}

type CompositeStep = Extract<
  Step,
  { readonly type: 'parallel' | 'race' | 'foreach' | 'loop' | 'switch' | 'try' }
>;

/** Draws a list of steps: in order, or by `needs` where one of them has it. */
function drawSteps(steps: readonly Step[], into: GraphBuilder, group: string | undefined): GraphPart {
  const parts = new Map(steps.map((step) => [step.name, drawStep(step, into, group)]));
  const part = steps.some(({ needs }) => needs !== undefined)
    ? byNeeds(steps, parts, into)
    : inOrder([...parts.values()], into);
  for (const { name, on_error } of steps) {
    if (typeof on_error !== 'object') continue;
    const target = parts.get(on_error.goto)?.entries[0];
    const [from] = parts.get(name)?.entries ?? [];
    if (target !== undefined && from !== undefined) into.edge({ from, label: 'fails' }, target, 'error');
  }
  return part;
}

function inOrder(parts: readonly GraphPart[], into: GraphBuilder): GraphPart {
  for (const [index, part] of parts.entries()) if (index > 0) join(parts[index - 1], part, into);
  return { entries: parts[0]?.entries ?? [], exits: parts.at(-1)?.exits ?? [] };
}

function byNeeds(
  steps: readonly Step[],
  parts: ReadonlyMap<string, GraphPart>,
  into: GraphBuilder,
): GraphPart {
  const needed = new Set(steps.flatMap(({ needs = [] }) => needs));
  for (const { name, needs = [] } of steps)
    for (const before of needs) join(parts.get(before), parts.get(name), into);
  const first = steps.filter(({ needs = [] }) => needs.length === 0);
  const last = steps.filter(({ name }) => !needed.has(name));
  return {
    entries: first.flatMap(({ name }) => parts.get(name)?.entries ?? []),
    exits: last.flatMap(({ name }) => parts.get(name)?.exits ?? []),
  };
}

function join(before: GraphPart | undefined, after: GraphPart | undefined, into: GraphBuilder): void {
  for (const exit of before?.exits ?? []) for (const entry of after?.entries ?? []) into.edge(exit, entry);
}

const isComposite = (step: Step): step is CompositeStep =>
  'branches' in step || 'body' in step || 'cases' in step;

function drawStep(step: Step, into: GraphBuilder, group: string | undefined): GraphPart {
  if (isComposite(step)) return drawComposite(step, into, group);
  const id = into.node('step', step.name, stepLines(step), group);
  return { entries: [id], exits: [{ from: id }] };
}

function drawComposite(step: CompositeStep, into: GraphBuilder, outer: string | undefined): GraphPart {
  const group = into.group(step.name, step.type, outer);
  const split = into.node('split', step.type, stepLines(step), group);
  const draw = (steps: readonly Step[], label?: string): readonly Exit[] => {
    const { entries, exits } = drawSteps(steps, into, group);
    for (const entry of entries) into.edge({ from: split, ...(label === undefined ? {} : { label }) }, entry);
    return exits;
  };
  return { entries: [split], exits: insideOf(step, split, draw, into, group) };
}

function insideOf(
  step: CompositeStep,
  split: string,
  draw: (steps: readonly Step[], label?: string) => readonly Exit[],
  into: GraphBuilder,
  group: string,
): readonly Exit[] {
  switch (step.type) {
    case 'parallel':
    case 'race':
      return step.branches.flatMap((branch) => draw(branch));
    case 'foreach':
      return draw(step.body);
    case 'loop': {
      const isWhile = step.while !== undefined;
      const test = testText(step.while ?? step.until ?? true);
      const ends = draw(step.body, isWhile ? `while ${test}` : undefined);
      for (const { from } of ends) into.edge({ from, label: 'again' }, split, 'back');
      return isWhile ? [{ from: split, label: 'else' }] : ends.map(({ from }) => ({ from, label: test }));
    }
    case 'switch': {
      const ends = step.cases.flatMap((each) => draw(each.body, testText(each.if)));
      const otherwise =
        step.default === undefined ? [{ from: split, label: 'else' }] : draw(step.default, 'else');
      return [...ends, ...otherwise];
    }
    case 'try': {
      const tried = draw(step.body);
      const caught = step.catch === undefined ? undefined : drawSteps(step.catch, into, group);
      for (const entry of caught?.entries ?? []) into.edge({ from: split, label: 'fails' }, entry, 'error');
      const ends = [...tried, ...(caught?.exits ?? [])];
      if (step.finally === undefined) return ends;
      const last = drawSteps(step.finally, into, group);
      for (const { from } of ends)
        for (const entry of last.entries) into.edge({ from, label: 'finally' }, entry);
      return last.exits;
    }
  }
}

/** A way out of something, still without a place to lead to. */
export interface Exit {
  readonly from: string;
  readonly label?: string;
}

/** Collects a graph, and names its parts in the order in which they come. */
export interface GraphBuilder {
  readonly nodes: readonly GraphNode[];
  readonly groups: readonly GraphGroup[];
  readonly edges: readonly GraphEdge[];
  /** The id of the new node. */
  node(kind: NodeKind, name: string, lines: readonly string[], group: string | undefined): string;
  group(name: string, type: string, group: string | undefined): string;
  edge(from: Exit, to: string, kind?: EdgeKind): void;
}

function createGraphBuilder(): GraphBuilder {
  const nodes: GraphNode[] = [];
  const groups: GraphGroup[] = [];
  const edges: GraphEdge[] = [];
  const within = (group: string | undefined) => (group === undefined ? {} : { group });
  return {
    nodes,
    groups,
    edges,
    node(kind, name, lines, group) {
      const id = `n${nodes.length + 1}`;
      nodes.push({ id, kind, name, lines, ...within(group) });
      return id;
    },
    group(name, type, group) {
      const id = `g${groups.length + 1}`;
      groups.push({ id, name, type, ...within(group) });
      return id;
    },
    edge({ from, label }, to, kind = 'next') {
      edges.push({ from, to, kind, ...(label === undefined ? {} : { label }) });
    },
  };
}

type StepVerifier = NonNullable<Extract<Step, { readonly type: 'task' }>['verify']>;

/** Conditions that are no expressions. */
const BY_NAME: ReadonlySet<string> = new Set(['previous_steps_success', 'always', 'on_failure']);

/** A test in a few words: CEL as it is written, or which artifact is asked. */
function testText(test: Test | Invocation): string {
  if (typeof test !== 'object') return String(test);
  return `${test.invoke}.${test.method}(${test.args.map((arg) => JSON.stringify(arg)).join(', ')})`;
}

/** What a step does and under which conditions, a line each. */
function stepLines(step: Step): readonly string[] {
  return [...kindLine(step), ...commonLines(step)];
}

/** What holds for every step, also for one with steps inside. */
function commonLines(step: Step): readonly string[] {
  const { if: held, condition, timeout, retry, on_error, compensate } = step;
  const lines: string[] = [];
  if (held !== undefined) lines.push(`if ${testText(held)}`);
  if (condition !== undefined)
    lines.push(
      typeof condition === 'string' && BY_NAME.has(condition) ? condition : `if ${testText(condition)}`,
    );
  const bounds = [
    ...(timeout === undefined || step.type === 'approval' ? [] : [`timeout ${durationText(timeout.ms)}`]),
    ...(retry === undefined || retry.max === 0 ? [] : [`retry ${retry.max}`]),
  ];
  if (bounds.length > 0) lines.push(bounds.join(', '));
  if (on_error === 'continue') lines.push('goes on if it fails');
  if (compensate !== undefined) lines.push(`undone by ${compensate.type} ${compensate.target}`);
  return lines;
}

function verifierText(verify: StepVerifier): string {
  if ('command' in verify) return verify.command.join(' ');
  return 'invoke' in verify ? verify.invoke : (verify.model ?? 'a model');
}

function kindLine(step: Step): readonly string[] {
  switch (step.type) {
    case 'tool':
    case 'relic':
    case 'agent':
    case 'workflow':
      return [`${step.type} ${step.target}`];
    case 'llm':
      return [step.target === undefined ? 'llm' : `llm ${step.target}`];
    case 'task':
    case 'plan':
      return [
        step.agent === undefined ? step.type : `${step.type} by ${step.agent}`,
        ...(step.type === 'task' && step.confirm !== undefined ? ['asks a person first'] : []),
        ...(step.type === 'plan' && step.approval === 'always' ? ['asks a person: approve / reject'] : []),
        ...(step.verify === undefined ? [] : [`verified by ${verifierText(step.verify)}`]),
      ];
    case 'script':
      return ['command' in step ? `runs ${step.command.join(' ')}` : 'script'];
    case 'transition':
      return 'transition_source' in step
        ? [`${testText(step.transition_source)} names the next state`]
        : ['a model chooses the next state'];
    case 'set_metadata':
    case 'set_variable':
      return [
        `${step.type} ${typeof step.values === 'string' ? step.values : Object.keys(step.values).join(', ')}`,
      ];
    case 'notify':
      return [step.to === undefined ? 'notify' : `notify ${step.to}`];
    case 'emit':
      return [`emit ${step.event}`];
    case 'approval': {
      const who = step.assignee === undefined ? 'a person' : step.assignee;
      const until = step.timeout === undefined ? '' : `, ${durationText(step.timeout.ms)} at most`;
      return [`asks ${who}: ${step.options.join(' / ')}${until}`];
    }
    case 'wait':
      if ('for' in step)
        return [`waits ${typeof step.for === 'string' ? step.for : durationText(step.for.ms)}`];
      return ['until' in step ? `waits until ${step.until}` : `waits for ${step.event}`];
    case 'parallel':
    case 'race': {
      const most = step.max_parallel === undefined ? '' : `, ${step.max_parallel} at a time`;
      return [`${step.type === 'parallel' ? 'all of them' : 'the first to succeed'}${most}`];
    }
    case 'foreach': {
      const items = typeof step.in === 'string' ? step.in : `${step.in.length} items`;
      const most = step.max_parallel === undefined ? '' : `, ${step.max_parallel} at a time`;
      return [`each ${step.as} in ${items}${most}`];
    }
    case 'loop':
      return [`${step.max} times at most`];
    case 'switch':
      return ['the first case that holds'];
    case 'try':
      return ['try'];
  }
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** As manifests write it: `90s`, `5m`, `250ms`. */
function durationText(ms: number): string {
  const unit = UNITS.find(([, length]) => ms % length === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}

/** What a workflow looks like, as data: for Mermaid, for SVG, for a page that draws it. */
export interface WorkflowGraph {
  readonly workflow: string;
  readonly description?: string;
  readonly nodes: readonly GraphNode[];
  readonly groups: readonly GraphGroup[];
  readonly edges: readonly GraphEdge[];
}

/**
 * `start` and `end` are where a run begins and ends. A `split` is the place at which a step with steps inside begins to
 * work: its group bears the step's name.
 */
export type NodeKind = 'start' | 'end' | 'state' | 'final' | 'step' | 'split';

export interface GraphNode {
  /** Letters and digits only, unique in the graph; the same for the same manifest. */
  readonly id: string;
  readonly kind: NodeKind;
  /** The step's or state's name, as the manifest has it; empty for the start and the end. */
  readonly name: string;
  /** What else is to be known of it, a line each. */
  readonly lines: readonly string[];
  /** The group that it stands in. */
  readonly group?: string;
}

/** A step that has steps inside. */
export interface GraphGroup {
  readonly id: string;
  readonly name: string;
  /** The type of the step. */
  readonly type: string;
  readonly group?: string;
}

/** `error`: taken when something fails. `open`: may be taken, an artifact decides. `back`: to what came before. */
export type EdgeKind = 'next' | 'error' | 'open' | 'back';

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: EdgeKind;
  readonly label?: string;
}
