import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import { createNames, type Names, nameOf } from '../names.ts';
import { mapOf, type Part, textOf, textsOf } from '../part.ts';
import { failingScript } from '../python.ts';
import { isInvocation, toCondition, toInvocation, toTemplate, type WorldVariables } from './prompts.ts';
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
  readonly part: Part;
  readonly name: string;
  readonly type: string;
  readonly states: readonly string[] | undefined;
  readonly transitionTo: string | undefined;
  /** `if` of the step. */
  readonly test: Json | undefined;
  readonly rest: JsonObject;
}

interface Transition {
  readonly part: Part;
  readonly from: string;
  readonly to: string;
  readonly condition: Json | undefined;
}

/** Turns the workflow of an agent into one with states, or into a list of steps if it has no state machine. */
export function makeWorkflow(name: string, agent: Part, variables: WorldVariables): MadeWorkflow | undefined {
  const workflow = agent.part('workflow');
  if (workflow === undefined) return undefined;
  const builder = new WorkflowBuilder(name, workflow, retriesOf(agent, workflow), variables);
  return builder.build();
}

/** What a step does after a failure, from `error_handling` of the agent or of its workflow. */
function retriesOf(agent: Part, workflow: Part): { readonly policy: string; readonly max: number } {
  let policy = 'retry';
  let max = 3;
  for (const part of [agent.part('error_handling'), workflow.part('error_handling')]) {
    if (part === undefined) continue;
    policy = textOf(part.changed('default_on_failure', '"retry" or "on_error" of each step')) ?? policy;
    const retries = part.changed('max_retries', '"retry" of each step');
    if (typeof retries === 'number') max = retries;
  }
  return { policy, max };
}

class WorkflowBuilder {
  readonly #name: string;
  readonly #workflow: Part;
  readonly #retries: { readonly policy: string; readonly max: number };
  readonly #variables: WorldVariables;
  readonly #stepNames: Names = createNames('_');
  readonly #prompts = new Map<string, string[]>();
  readonly #ports: string[] = [];

  constructor(
    name: string,
    workflow: Part,
    retries: { readonly policy: string; readonly max: number },
    variables: WorldVariables,
  ) {
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
    const manifest = mapOf({
      kind: 'Workflow',
      name: this.#name,
      context_variables: { runtime: this.#variables.list() },
      ...body,
    });
    return { manifest, prompts: this.#prompts, ports: this.#ports };
  }

  #read(part: Part, name: string): SourceStep {
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

  #failure(part: Part): JsonObject {
    const policy = textOf(part.take('on_failure')) ?? this.#retries.policy;
    const max = part.take('max_retries');
    const retries = typeof max === 'number' ? max : this.#retries.max;
    if (part.value.on_failure !== undefined)
      part.note(
        'on_failure',
        'changed',
        policy === 'skip' ? '"on_error: continue"' : policy === 'retry' ? '"retry"' : 'the step fails',
      );
    if (max !== undefined) part.note('max_retries', 'changed', '"retry"');
    if (policy === 'skip') return { on_error: 'continue' };
    return policy === 'retry' && retries > 0 ? { retry: retries } : {};
  }

  /** A condition or an invocation; one that cannot be converted never holds, as a failing one in agent_ecology2. */
  #test(part: Part, key: string, value: Json, how: string): Json {
    if (isInvocation(value)) {
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

  #states(machine: Part, steps: readonly SourceStep[]): JsonObject {
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
    const made = new Map<
      string,
      { steps: readonly Json[]; transitions: readonly JsonObject[]; to: readonly string[] }
    >();
    for (const state of all)
      made.set(
        state,
        this.#state(
          state,
          steps.filter((step) => step.states === undefined || step.states.includes(state)),
          transitions,
          { tick, limit, final },
        ),
      );
    const reached = this.#reached(initial, made);
    const map: Record<string, Json> = {};
    for (const [state, { steps: own, transitions: leads }] of made)
      if (reached.has(state))
        map[nameOf(state)] = mapOf({ steps: own, transitions: leads.length === 0 ? undefined : leads });
      else machine.note(`states (${state})`, 'left', 'no step leads there');
    for (const { part, from, to } of transitions)
      part.note(
        'to',
        reached.has(to) ? 'kept' : 'left',
        reached.has(to) ? `${from} to ${to}, where a step decides so` : `no step goes from ${from} to ${to}`,
      );
    for (const step of steps)
      if (step.states !== undefined)
        step.part.note(
          'in_state',
          step.states.some((state) => reached.has(state)) ? 'kept' : 'left',
          step.states.some((state) => reached.has(state))
            ? 'it is a step of the state'
            : 'no step leads to its state',
        );
    map[final] = { final: true };
    return { initial: nameOf(initial), max_transitions: 1000, states: map };
  }

  /** The short form `a -> b`. */
  #stringTransitions(machine: Part, transitions: Transition[]): void {
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
  ): { steps: readonly Json[]; transitions: readonly JsonObject[]; to: readonly string[] } {
    const made: Json[] = [
      {
        name: this.#stepNames.take(`${nameOf(state)}_tick`),
        type: 'script',
        script: `vars.${names.tick} + 1`,
        output_key: names.tick,
      },
    ];
    const leads: JsonObject[] = [{ to: names.final, condition: `vars.${names.tick} > vars.${names.limit}` }];
    const targets: string[] = [];
    const lead = (to: string, condition: Json | undefined) => {
      leads.push(mapOf({ to: nameOf(to), condition }));
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
        if (way === undefined && declared.length > 0)
          step.part.note(
            'transition_to',
            'left',
            `the state machine has no transition from ${state} to ${to}: the state stays, as in agent_ecology2`,
          );
        else {
          step.part.note('transition_to', 'changed', 'a transition of the state');
          lead(to, way?.condition);
          isDecided ||= way?.condition === undefined;
        }
      }
    }
    // In agent_ecology2 nothing but a step takes a transition. Here the way that the author drew is taken.
    for (const each of declared)
      if (
        !isDecided &&
        !targets.includes(each.to) &&
        (each.from === state || (each.from === '*' && targets.length === 0 && each.to !== state))
      ) {
        lead(each.to, each.condition);
        isDecided = each.condition === undefined;
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
    part.note(
      'type',
      type === 'llm' ? 'changed' : 'left',
      type === 'llm'
        ? 'a task: the agent acts itself, until it completes the step'
        : `there is no step of type ${type}: it is a task`,
    );
    return mapOf({
      ...common,
      type: 'task',
      ...this.#prompt(part, 'prompt', 'prompt_artifact_id'),
      ...step.rest,
    });
  }

  #code(step: SourceStep, common: JsonObjectOfStep): JsonObject {
    const code = textOf(step.part.take('code')) ?? '';
    const place = portReport(`the step ${step.name}`, code);
    const assigned = [
      ...new Set([...code.matchAll(/^([A-Za-z]\w*)\s*=(?!=)/gm)].map(([, name = '']) => name)),
    ];
    for (const name of assigned) this.#variables.use(name, true);
    const sets = assigned.length === 0 ? '' : ` It sets ${assigned.join(', ')}.`;
    if (!this.#ports.includes(place + sets)) this.#ports.push(place + sets);
    step.part.note('type', 'changed', 'a script that fails until it is ported');
    step.part.note(
      'code',
      'changed',
      `Python code is not converted: port it to JavaScript, with set_variable behind it.${sets}`,
    );
    return mapOf({
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
    const source = part.take('transition_source');
    part.left('transition_mode', 'what stands in the step decides: a prompt, or an artifact');
    if (isJsonObject(source)) {
      part.note('transition_source', 'kept', 'the artifact decides');
      part.left('prompt', 'an artifact decides here');
      const [first = 'continue'] = Object.keys(map);
      const given = toInvocation(source, this.#variables, first);
      // A fallback that is no answer leads nowhere in agent_ecology2, too.
      const fallback = textOf(given.fallback) ?? String(given.fallback);
      if (Object.keys(map).length === 0)
        return mapOf({
          ...common,
          type: 'transition',
          transition_source: { ...given, fallback: nameOf(step.transitionTo ?? fallback) },
          ...step.rest,
        });
      part.note('transition_map', 'kept', 'the answers, each with its state');
      const known = map[fallback] !== undefined || Object.values(map).includes(fallback);
      if (!known)
        part.note('transition_source', 'changed', `the fallback ${fallback} is no answer: it is ${first}`);
      return mapOf({
        ...common,
        type: 'transition',
        transition_source: { ...given, fallback: known ? (given.fallback ?? first) : first },
        transition_map: map,
        ...step.rest,
      });
    }
    part.note('transition_map', 'kept', 'the answers, each with its state');
    const prompt = this.#prompt(part, 'prompt', 'transition_prompt_artifact_id');
    const asked =
      Object.keys(prompt).length > 0
        ? prompt
        : { prompt: `Decide how to go on: ${Object.keys(map).join(', ')}.` };
    return mapOf({ ...common, type: 'transition', ...asked, transition_map: map, ...step.rest });
  }

  #prompt(part: Part, key: string, artifactKey: string): JsonObject {
    const id = textOf(part.take('prompt_artifact_id')) ?? textOf(part.take(artifactKey));
    const prompt = part.take(key);
    if (isInvocation(prompt)) {
      part.note(key, 'kept', 'the artifact writes the prompt');
      return { prompt: toInvocation(prompt, this.#variables, 'Go on.') };
    }
    if (id !== undefined) {
      part.note(
        part.value.prompt_artifact_id === undefined ? artifactKey : 'prompt_artifact_id',
        'kept',
        'the prompt is the text of the artifact',
      );
      if (prompt !== undefined) part.note(key, 'left', 'the text of the artifact counts');
      return { prompt_artifact_id: nameOf(id) };
    }
    const text = textOf(prompt);
    if (text === undefined) return {};
    const { text: template, formats } = toTemplate(text, this.#variables);
    part.note(
      key,
      'changed',
      formats.length === 0
        ? '{name} is a variable'
        : `{name} is a variable; formats are dropped: ${formats.join(' ')}`,
    );
    return { prompt: template };
  }
}

interface JsonObjectOfStep {
  readonly name: string;
  readonly if: Json | undefined;
}

const hasChoice = ({ part }: SourceStep): boolean =>
  isJsonObject(part.value.transition_map) || isJsonObject(part.value.transition_source);
