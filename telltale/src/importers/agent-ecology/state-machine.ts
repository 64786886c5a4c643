import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { createNames, type Names, nameOf } from '../names.ts';
import { failingScript } from '../python.ts';
import type { SourceMap } from '../source-map.ts';
import { defined, textOf, textsOf } from '../values.ts';
import {
  INVOCATION,
  isInvocation,
  toCondition,
  toInvocation,
  toTemplate,
  type WorldVariables,
} from './prompts.ts';
import { portReport } from './read-ecology.ts';

/** How many states a run goes through: the simulation of agent_ecology2 ends by time instead. */
export const MAX_TICKS = 10;

/** A workflow, and what its steps are called here. */
export interface MadeWorkflow {
  readonly manifest: JsonObject;
  /** Names of the steps that have a prompt, by their name in agent_ecology2; one for each state they stand in. */
  readonly prompts: ReadonlyMap<string, readonly string[]>;
  /** Python code to port, step by step. */
  readonly ports: readonly string[];
}

interface SourceStep {
  readonly part: SourceMap;
  readonly name: string;
  readonly type: string;
  readonly states: readonly string[] | undefined;
  readonly transitionTo: string | undefined;
  /** `if` of the step. */
  readonly test: Json | undefined;
  readonly rest: JsonObject;
}

interface MadeState {
  readonly steps: readonly Json[];
  readonly transitions: readonly JsonObject[];
  /** The states it leads to. */
  readonly to: readonly string[];
}

interface Transition {
  readonly part: SourceMap;
  readonly from: string;
  readonly to: string;
  readonly condition: Json | undefined;
}

/** Turns the workflow of an agent into one with states, or into a list of steps if it has no state machine. */
export function makeWorkflow(
  name: string,
  agent: SourceMap,
  variables: WorldVariables,
): MadeWorkflow | undefined {
  const workflow = agent.part('workflow');
  if (workflow === undefined) return undefined;
  const builder = new WorkflowBuilder(name, workflow, retriesOf(agent, workflow), variables);
  return builder.build();
}

/** What a step does after a failure. */
interface Retries {
  readonly policy: string;
  readonly max: number;
}

/** From `error_handling` of the agent or of its workflow. */
function retriesOf(agent: SourceMap, workflow: SourceMap): Retries {
  let retries: Retries = { policy: 'retry', max: 3 };
  for (const part of [agent.part('error_handling'), workflow.part('error_handling')]) {
    const policy = textOf(part?.changed('default_on_failure', '"retry" or "on_error" of each step'));
    const max = part?.changed('max_retries', '"retry" of each step');
    retries = { policy: policy ?? retries.policy, max: typeof max === 'number' ? max : retries.max };
  }
  return retries;
}

class WorkflowBuilder {
  readonly #name: string;
  readonly #workflow: SourceMap;
  readonly #retries: Retries;
  readonly #variables: WorldVariables;
  readonly #stepNames: Names = createNames('_');
  readonly #prompts = new Map<string, string[]>();
  readonly #ports: string[] = [];

  constructor(name: string, workflow: SourceMap, retries: Retries, variables: WorldVariables) {
    this.#name = name;
    this.#workflow = workflow;
    this.#retries = retries;
    this.#variables = variables;
  }

  build(): MadeWorkflow | undefined {
    const machine = this.#workflow.part('state_machine');
    const steps: SourceStep[] = [];
    this.#workflow.each('steps', 'step', (part, name) => void steps.push(this.#read(part, name)));
    if (steps.length === 0) return undefined;
    const body = machine === undefined ? this.#list(steps) : this.#states(machine, steps);
    if (body === undefined) return undefined;
    const manifest = defined({
      kind: 'Workflow',
      name: this.#name,
      context_variables: { runtime: this.#variables.declared },
      ...body,
    });
    return { manifest, prompts: this.#prompts, ports: this.#ports };
  }

  #read(part: SourceMap, name: string): SourceStep {
    part.kept('name', 'the step');
    const type = part.text('type') ?? 'code';
    const states = part.take('in_state');
    const transitionTo = textOf(part.take('transition_to'));
    const runIf = part.take('run_if');
    return {
      part,
      name,
      type,
      states: states === undefined ? undefined : textsOf(states),
      transitionTo,
      test: runIf === undefined ? undefined : this.#test(part, 'run_if', runIf, '"if" of the step'),
      rest: this.#failure(part),
    };
  }

  #failure(part: SourceMap): JsonObject {
    const written = textOf(part.changed('on_failure', '"retry" or "on_error" of the step'));
    const policy = written ?? this.#retries.policy;
    const max = part.changed('max_retries', '"retry"');
    const retries = typeof max === 'number' ? max : this.#retries.max;
    if (policy === 'skip') return { on_error: 'continue' };
    return policy === 'retry' && retries > 0 ? { retry: retries } : {};
  }

  /** A condition or an invocation; one that cannot be converted never holds, as a failing one in agent_ecology2. */
  #test(part: SourceMap, key: string, value: Json, how: string): Json {
    if (isInvocation(value)) {
      part.leaveOthers(key, value, INVOCATION);
      part.note(key, 'changed', `${how}: the artifact is asked`);
      return toInvocation(value, this.#variables, false);
    }
    const cel = toCondition(textOf(value) ?? String(value), this.#variables);
    if (cel === undefined)
      part.note(key, 'left', `it could not be converted, so it never holds: ${String(value)}`);
    else part.note(key, 'changed', `${how}: ${cel}`);
    return cel ?? 'false';
  }

  #list(steps: readonly SourceStep[]): JsonObject | undefined {
    const made: JsonObject[] = [];
    for (const step of steps) {
      for (const key of ['in_state', 'transition_to', 'transition_map', 'transition_source'])
        if (step.part.value[key] !== undefined)
          step.part.note(key, 'left', 'the workflow has no state machine');
      if (step.type === 'transition') {
        step.part.note('type', 'left', 'the workflow has no states between which to choose');
        step.part.left('prompt', 'the workflow has no states between which to choose');
      } else made.push(this.#step(step, undefined));
    }
    return made.length === 0 ? undefined : { steps: made };
  }

  #states(machine: SourceMap, steps: readonly SourceStep[]): JsonObject {
    const states = textsOf(machine.kept('states', 'the states'));
    const initial = textOf(machine.kept('initial_state', 'the initial state')) ?? states[0] ?? 'start';
    const all = states.includes(initial) ? states : [initial, ...states];
    const transitions: Transition[] = [];
    machine.each('transitions', 'transition', (part) => {
      const [from, to] = [part.text('from') ?? '*', part.text('to') ?? ''];
      const written = part.take('condition');
      const condition =
        written === undefined ? undefined : this.#test(part, 'condition', written, '"condition"');
      transitions.push({ part, from, to, condition });
    });
    this.#stringTransitions(machine, transitions);
    const final = all.includes('finished') ? 'finished_here' : 'finished';
    const tick = this.#variables.use('tick');
    const limit = this.#variables.use('max_ticks');
    const made = new Map<string, MadeState>();
    for (const state of all) {
      const own = steps.filter((step) => step.states === undefined || step.states.includes(state));
      made.set(state, this.#state(state, own, transitions, { tick, limit, final }));
    }
    const reached = this.#reached(initial, made);
    const map: Record<string, Json> = {};
    for (const [state, { steps: own, transitions: leads }] of made)
      if (reached.has(state)) map[nameOf(state)] = { steps: own, transitions: leads };
      else machine.note(`states (${state})`, 'left', 'no step leads there');
    for (const { part, from, to } of transitions) {
      const way = `from ${from} to ${to}`;
      part.either('to', reached.has(to), `${way}, where a step decides so`, `no step goes ${way}`);
    }
    for (const { part, states: own } of steps)
      if (own !== undefined) {
        const isReached = own.some((state) => reached.has(state));
        part.either('in_state', isReached, 'it is a step of the state', 'no step leads to its state');
      }
    map[final] = { final: true };
    return { initial: nameOf(initial), max_transitions: 1000, states: map };
  }

  /** The short form `a -> b`. */
  #stringTransitions(machine: SourceMap, transitions: Transition[]): void {
    const written = machine.value.transitions;
    if (!Array.isArray(written)) return;
    for (const each of written) {
      const [from, to] = typeof each === 'string' ? each.split('->').map((side) => side.trim()) : [];
      if (from !== undefined && to !== undefined)
        transitions.push({ part: machine, from, to, condition: undefined });
    }
  }

  #state(
    state: string,
    steps: readonly SourceStep[],
    declared: readonly Transition[],
    names: { readonly tick: string; readonly limit: string; readonly final: string },
  ): MadeState {
    const counter = this.#stepNames.take(`${nameOf(state)}_tick`);
    const made: Json[] = [
      { name: counter, type: 'script', script: `vars.${names.tick} + 1`, output_key: names.tick },
    ];
    const leads: JsonObject[] = [{ to: names.final, condition: `vars.${names.tick} > vars.${names.limit}` }];
    const targets: string[] = [];
    const lead = (to: string, condition: Json | undefined) => {
      leads.push(defined({ to: nameOf(to), condition }));
      targets.push(to);
    };
    let isDecided = false;
    for (const step of steps) {
      if (step.type === 'transition' && !hasChoice(step)) {
        if (step.transitionTo === undefined) continue;
        step.part.note('transition_to', 'changed', 'a transition of the state');
        step.part.note('type', 'changed', 'a transition of the state, after its steps');
        lead(step.transitionTo, step.test);
        isDecided ||= step.test === undefined;
        continue;
      }
      const written = this.#step(step, state);
      made.push(written);
      if (step.type === 'transition') {
        targets.push(...Object.values((written.transition_map ?? {}) as JsonObject).map(String));
        isDecided ||= step.test === undefined;
      } else if (step.transitionTo !== undefined) {
        const to = step.transitionTo;
        const way = declared.find((each) => [state, '*'].includes(each.from) && each.to === to);
        const isAllowed = way !== undefined || declared.length === 0;
        const why = `no transition leads from ${state} to ${to}: the state stays, as in agent_ecology2`;
        step.part.either('transition_to', isAllowed, 'a transition of the state', why);
        if (isAllowed) lead(to, way?.condition);
        isDecided ||= isAllowed && way?.condition === undefined;
      }
    }
    // In agent_ecology2 nothing but a step takes a transition. Here the way that the author drew is taken.
    for (const { from, to, condition } of declared) {
      const isOpen = from === state || (from === '*' && targets.length === 0 && to !== state);
      if (isDecided || !isOpen || targets.includes(to)) continue;
      lead(to, condition);
      isDecided = condition === undefined;
    }
    if (!isDecided) lead(state, undefined);
    return { steps: made, transitions: leads, to: targets };
  }

  #reached(
    initial: string,
    states: ReadonlyMap<string, { readonly to: readonly string[] }>,
  ): ReadonlySet<string> {
    const named = new Map([...states.keys()].map((state) => [nameOf(state), state]));
    const reached = new Set<string>();
    const open = [initial];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      const known = states.has(state) ? state : (named.get(state) ?? state);
      if (reached.has(known)) continue;
      reached.add(known);
      open.push(...(states.get(known)?.to ?? []));
    }
    return reached;
  }

  #step(step: SourceStep, state: string | undefined): JsonObject {
    const { part, type } = step;
    // A step without "in_state" stands in every state, and names are unique in a workflow.
    const name = this.#stepNames.take(
      nameOf(step.states === undefined && state !== undefined ? `${step.name}_${state}` : step.name),
    );
    const common = { name, if: step.test };
    if (type === 'code') return this.#code(step, common);
    this.#prompts.set(step.name, [...(this.#prompts.get(step.name) ?? []), name]);
    if (type === 'transition') return this.#choice(step, common);
    const known = type === 'llm' ? '' : `there is no step of type ${type}: `;
    part.note('type', 'changed', `${known}a task: the agent acts itself, until it completes the step`);
    const prompt = this.#prompt(part, 'prompt_artifact_id');
    return defined({ ...common, type: 'task', ...prompt, ...step.rest });
  }

  #code(step: SourceStep, common: JsonObjectOfStep): JsonObject {
    const code = textOf(step.part.take('code')) ?? '';
    const place = portReport(`the step ${step.name}`, code);
    const names = [...code.matchAll(/^([A-Za-z]\w*)\s*=(?!=)/gm)].map(([, name = '']) => name);
    const assigned = [...new Set(names)];
    for (const name of assigned) this.#variables.use(name, true);
    const sets = assigned.length === 0 ? '' : ` It sets ${assigned.join(', ')}.`;
    if (!this.#ports.includes(place + sets)) this.#ports.push(place + sets);
    step.part.note('type', 'changed', 'a script that fails until it is ported');
    const how = `Python code is not converted: port it to JavaScript, with set_variable behind it.${sets}`;
    step.part.note('code', 'changed', how);
    return defined({
      ...common,
      type: 'script',
      script: failingScript(`The Python code of the step ${step.name} is not ported yet.${sets}`),
      on_error: step.rest.on_error,
    });
  }

  #choice(step: SourceStep, common: JsonObjectOfStep): JsonObject {
    const { part } = step;
    part.note('type', 'kept', 'a transition step');
    const map: Record<string, Json> = {};
    for (const [answer, state] of Object.entries((part.take('transition_map') ?? {}) as JsonObject))
      map[answer] = nameOf(textOf(state) ?? '');
    part.left('transition_mode', 'what stands in the step decides: a prompt, or an artifact');
    const transition = { ...common, type: 'transition', ...step.rest };
    const source = part.kept('transition_source', 'the artifact decides');
    const answers = Object.keys(map);
    if (answers.length > 0) part.note('transition_map', 'kept', 'the answers, each with its state');
    if (!isJsonObject(source)) {
      const prompt = this.#prompt(part, 'transition_prompt_artifact_id');
      const isAsked = Object.keys(prompt).length > 0;
      const asked = isAsked ? prompt : { prompt: `Decide how to go on: ${answers.join(', ')}.` };
      return defined({ ...transition, ...asked, transition_map: map });
    }
    part.left('prompt', 'an artifact decides here');
    part.leaveOthers('transition_source', source, INVOCATION);
    const [first = 'continue'] = answers;
    const given = toInvocation(source, this.#variables, first);
    const fallback = textOf(given.fallback) ?? String(given.fallback);
    if (answers.length === 0)
      return defined({
        ...transition,
        transition_source: { ...given, fallback: nameOf(step.transitionTo ?? fallback) },
      });
    // A fallback that is no answer leads nowhere in agent_ecology2, too.
    const isKnown = map[fallback] !== undefined || Object.values(map).includes(fallback);
    if (!isKnown)
      part.note('transition_source', 'changed', `the fallback ${fallback} is no answer: it is ${first}`);
    return defined({
      ...transition,
      transition_source: isKnown ? given : { ...given, fallback: first },
      transition_map: map,
    });
  }

  #prompt(part: SourceMap, artifactKey: string): JsonObject {
    const how = 'the prompt is the text of the artifact';
    const id = textOf(part.kept('prompt_artifact_id', how)) ?? textOf(part.kept(artifactKey, how));
    if (id !== undefined) {
      part.left('prompt', 'the text of the artifact counts');
      return { prompt_artifact_id: nameOf(id) };
    }
    const prompt = part.take('prompt');
    if (isInvocation(prompt)) {
      part.leaveOthers('prompt', prompt, INVOCATION);
      part.note('prompt', 'kept', 'the artifact writes the prompt');
      return { prompt: toInvocation(prompt, this.#variables, 'Go on.') };
    }
    const written = textOf(prompt);
    if (written === undefined) return {};
    const { text, formats } = toTemplate(written, this.#variables);
    const dropped = formats.length === 0 ? '' : `; formats are dropped: ${formats.join(' ')}`;
    part.note('prompt', 'changed', `{name} is a variable${dropped}`);
    return { prompt: text };
  }
}

interface JsonObjectOfStep {
  readonly name: string;
  readonly if: Json | undefined;
}

const hasChoice = ({ part }: SourceStep): boolean =>
  isJsonObject(part.value.transition_map) || isJsonObject(part.value.transition_source);
