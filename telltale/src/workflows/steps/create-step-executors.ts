import { asText, deepEqual } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import { withoutModel } from '../../tools/llm/llm-targets.ts';
import { DEFAULT_OUTPUT_BYTES } from '../../tools/output/output.ts';
import { DEFAULT_SCRIPT_MEMORY, DEFAULT_SCRIPT_MS } from '../../tools/sandbox/sandbox.ts';
import { callablesOf, OWN_KINDS } from '../guided/plan/callables.ts';
import { verifyClaim } from '../guided/plan/plan-case.ts';
import { workOnPlan } from '../guided/plan/work-on-plan.ts';
import { resolveInstructions } from '../guided/verify/verify-work.ts';
import type {
  BeginUndo,
  PreparedStep,
  StepAttempt,
  StepExecutors,
  StepInstance,
  UndoInstance,
} from '../step-executor.ts';
import { askPerson, type PersonAnswer, prepareWait, signalsTaken, TIMEOUT } from './ask-person.ts';
import { prepareAgentStep, prepareWorkflowStep, textOfParameters } from './call-below.ts';
import {
  callTarget,
  checkedTarget,
  isRepeatable,
  noAgent,
  prepareTargetStep,
  targetCall,
} from './call-target.ts';
import { prepareCommand } from './command-step.ts';
import { prepareEmit, prepareNotify, prepareSetMetadata, prepareSetVariable } from './session-steps.ts';
import {
  type PrepareStep,
  resolveInStep,
  resolveMap,
  type StepContext,
  type StepDeps,
  type StepOf,
  stepWhat,
} from './step-deps.ts';
import { fragmentsOf, prepareTask } from './task-step.ts';

/** Creates the executors for the steps of one run. */
export function createStepExecutors(deps: StepDeps): StepExecutors {
  const { workflow, journal } = deps;
  const context: StepContext = { ...deps, noted: new Set(), taken: signalsTaken(workflow, journal.state) };
  return {
    ready: (place) => ready(place, context),
    compensate: (place, output, signal, begin) => compensate(place, output, signal, begin, context),
  };
}

async function ready(place: StepInstance, context: StepContext): Promise<PreparedStep> {
  const { step } = place;
  switch (step.type) {
    case 'tool':
    case 'relic':
      return prepareTool(step, place, context);
    case 'llm':
      return prepareLlm(step, place, context);
    case 'agent':
      return prepareAgentStep(step, place, context);
    case 'workflow':
      return prepareWorkflowStep(step, place, context);
    case 'script':
      return prepareScript(step, place, context);
    case 'transition':
      return prepareTransition(step, place, context);
    case 'set_metadata':
      return prepareSetMetadata(step, place, context);
    case 'set_variable':
      return prepareSetVariable(step, place, context);
    case 'notify':
      return prepareNotify(step, place, context);
    case 'emit':
      return prepareEmit(step, place, context);
    case 'approval':
      return prepareApproval(step, place, context);
    case 'wait':
      return prepareWait(step, place, context);
    case 'task':
      return prepareTask(step, place, context);
    case 'plan':
      return preparePlan(step, place, context);
  }
}

/**
 * One model request makes the plan, the runtime executes it, and another request writes the notes. The output
 * is `{notes, results: [{action, output}]}`. With an `agent`, that agent's model, tools and relics are used.
 */
const preparePlan: PrepareStep<'plan'> = async (step, place, context) => {
  const { agent = context.journal.state.manifest.agent } = step;
  const isOwn = agent === context.journal.state.manifest.agent;
  const { targets, ask } = isOwn ? context : await context.targetsOf(agent);
  const callables = callablesOf(targets, step.tools, context.workflow, isOwn ? undefined : OWN_KINDS);
  const parts = [
    await context.decisions.prompt(step, place.address, place.locals),
    ...(await fragmentsOf(step.fragments, place, context)),
  ];
  const instructions = await resolveInstructions(step.verify, place, context);
  return {
    input: { prompt: parts.join('\n\n'), ...(instructions === undefined ? {} : { instructions }) },
    repeatable: true, // its plans and results are on the log
    run: (call) => {
      const asked = { step, prompt: String(call.input.prompt), callables, call };
      return workOnPlan({ ...asked, verify: verifyClaim, context: { ...context, targets, ask } });
    },
  };
};

/** Decides the next state by a model's answer or by an artifact. */
const prepareTransition: PrepareStep<'transition'> = async (step, place, context) => {
  const { decisions, workflow } = context;
  if ('transition_source' in step)
    return {
      input: {},
      repeatable: true,
      async run() {
        const map = 'transition_map' in step ? step.transition_map : undefined;
        const answers = Object.keys(map ?? workflow.states ?? {});
        const at = `${place.address}:transition_source`;
        const answer = asText(await decisions.answer(at, step.transition_source, answers, place.locals));
        // A fallback may be an answer or the name of a state.
        return map !== undefined && Object.hasOwn(map, answer)
          ? { state: map[answer] ?? '', answer }
          : { state: answer };
      },
    };
  const { transition_map: map, model } = step;
  const answers = Object.keys(map);
  const what = stepWhat(place);
  const prompt = await decisions.prompt(step, place.address, place.locals);
  return {
    input: { prompt, answers },
    repeatable: true,
    async run(call) {
      const message = `${String(call.input.prompt)}\n\nAnswer with one of these, and with nothing else: ${answers.join(', ')}`;
      const said = await context.ask({ what, message, model }, targetCall(call, noAgent, context));
      const answer = chosenAnswer(said, answers);
      const state = answer === undefined ? undefined : map[answer];
      if (answer === undefined || state === undefined) throw noAnswer(what, said, answers);
      return { state, answer };
    },
  };
};

const noAnswer = (what: string, said: string, answers: readonly string[]) =>
  new RuntimeError(
    'no_answer',
    `The model chose none of the answers of ${what}: it said ${showValue(said)}.`,
    {
      hint: `Answers: ${answers.join(', ')}. Say in the prompt when each is right; "retry" asks again.`,
      retryable: true,
    },
  );

/**
 * Which of the answers a model has given: the exact answer apart from case, quotes and markup, or the only
 * one that occurs as whole words. If one answer contains another (`ready` in `not ready`), the longer one
 * counts.
 */
export function chosenAnswer(said: string, answers: readonly string[]): string | undefined {
  const exact = answers.find((answer) => answer === said);
  if (exact !== undefined) return exact;
  const bare = strip(said);
  const alone = answers.find((answer) => strip(answer) === bare);
  if (alone !== undefined) return alone;
  const longestFirst = answers.toSorted((a, b) => b.length - a.length);
  const found = new Set<string>();
  let left = said.toLowerCase();
  for (const answer of longestFirst) {
    const without = left.replaceAll(wholeWords(answer), ' ');
    if (without !== left) found.add(answer);
    left = without;
  }
  const [only] = found;
  return found.size === 1 ? only : undefined;
}

const strip = (text: string): string =>
  text
    .trim()
    .replace(/^["'`*_]+|["'`*_.!]+$/g, '')
    .trim()
    .toLowerCase();

const wholeWords = (answer: string): RegExp =>
  new RegExp(
    `(?<![\\p{L}\\p{N}_])${answer.toLowerCase().replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?![\\p{L}\\p{N}_])`,
    'gu',
  );

const prepareScript: PrepareStep<'script'> = (step, place, context) =>
  'command' in step ? prepareCommand(step, place, context) : prepareJavaScript(step, place, context);

const ROOTS = ['agent', 'trigger', 'steps', 'vars', 'input', 'run', 'metadata'];

/** Runs JavaScript in the sandbox with `parameters` and the frozen values of the scope that it names. */
async function prepareJavaScript(
  step: Extract<StepOf<'script'>, { readonly script: string }>,
  place: StepInstance,
  { scope, host, journal, clock }: StepContext,
): Promise<PreparedStep> {
  const input = await resolveMap(step.parameters, 'parameters', place, { scope });
  const { script } = step;
  const limits = {
    timeMs: step.timeout?.ms ?? DEFAULT_SCRIPT_MS,
    memoryBytes: DEFAULT_SCRIPT_MEMORY,
    outputBytes: DEFAULT_OUTPUT_BYTES,
  };
  // Only values that the script names are passed, because passing all would take longer than most scripts.
  const names = [...ROOTS, ...Object.keys(place.locals)].filter((name) => holdsName(script, name));
  return {
    input,
    repeatable: true,
    async run({ input: parameters, signal, idempotencyKey }) {
      const all = (await scope.forTest(names, place.locals, place.address)) as JsonObject;
      const seen = Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
      const json = await host.sandbox.run({
        what: stepWhat(place),
        source: script,
        globals: { ...seen, parameters },
        frozen: Object.keys(seen),
        limits,
        signal,
        // The same in every attempt, so that the result is reproducible.
        now: journal.state.steps.get(place.address)?.startedAt ?? clock.now(),
        seed: seedOf(idempotencyKey),
      });
      return JSON.parse(json) as Json;
    },
  };
}

/** Names are identifiers, so they need no escaping in a pattern. */
const holdsName = (script: string, name: string) => new RegExp(`\\b${name}\\b`).test(script);

/** FNV-1a hash, for the same randomness in every attempt of a step. */
function seedOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

type CallType = 'tool' | 'relic' | 'agent' | 'workflow' | 'llm';

/**
 * Undoes a completed step by calling the target of its `compensate`, whose parameters can use `output`. The
 * call has its own address, so that runs and questions that it starts are distinguished.
 */
async function compensate(
  { step, address, locals }: UndoInstance,
  output: Json,
  signal: AbortSignal,
  begin: BeginUndo,
  context: StepContext,
): Promise<void> {
  if (step.compensate === undefined) return;
  const { type, target, parameters } = step.compensate;
  const call = { name: step.name, type, target, parameters } as StepOf<CallType>;
  const place: StepInstance = {
    step: call,
    address: `${address}:compensate`,
    locals: { ...locals, output },
  };
  const ready = await prepared(call, place, context);
  const { state } = context.journal;
  const free = await ready.enter?.(signal);
  try {
    await begin(ready.repeatable, ready.timeoutMs);
    signal.throwIfAborted();
    await ready.run({
      ...place,
      input: ready.input,
      attempt: 1,
      signal,
      idempotencyKey: `${state.id}:${place.address}`,
      cause: state.steps.get(address)?.cause ?? state.started,
      suspend: cannotWait,
    });
  } finally {
    free?.();
  }
}

function prepared(step: StepOf<CallType>, place: StepInstance, context: StepContext) {
  switch (step.type) {
    case 'tool':
    case 'relic':
      return prepareTool(step, place, context);
    case 'agent':
      return prepareAgentStep(step, place, context);
    case 'workflow':
      return prepareWorkflowStep(step, place, context);
    case 'llm':
      return prepareLlm(step, place, context);
  }
}

/** A compensating run is not released. Its compensations are awaited in this process. */
const cannotWait: StepAttempt['suspend'] = () => () => {};

/**
 * The default options. Only with these is `reject` a failure. With other options it is an answer like any
 * other.
 */
const DEFAULT_OPTIONS: readonly string[] = ['approve', 'reject'];

/** Asks a person. The output is `{choice, by, note?}`. */
const prepareApproval: PrepareStep<'approval'> = async (step, place, context) => {
  const { options, assignee } = step;
  const prompt = await context.decisions.prompt(step, place.address, place.locals);
  const who = assignee === undefined ? undefined : await resolveInStep(assignee, place, context);
  const named = typeof who === 'string' ? { assignee: who } : {};
  return {
    input: { prompt, options, ...named },
    repeatable: true, // the question is on the log and asked once
    timesItself: true,
    async run(call) {
      const { timeout } = step;
      const due = timeout === undefined ? {} : { due: context.clock.now() + timeout.ms };
      const question = { prompt: String(call.input.prompt), options, ...named, ...due };
      return outcome(step, await askPerson(question, call, context), call, context);
    },
  };
};

function outcome(
  step: StepOf<'approval'>,
  word: PersonAnswer,
  call: StepAttempt,
  context: StepContext,
): Json {
  const what = stepWhat({ step });
  if (word.answer === 'due') return late(step, what, call, context);
  const { answer, choice, by, note } = word;
  const isRefusal = deepEqual(step.options, DEFAULT_OPTIONS) || !step.options.includes(choice);
  if (answer === 'withdrawn') throw withdrawn(what, note);
  if (answer === 'rejected' && isRefusal) throw rejected(what, by, note);
  return { choice, by, ...(note === undefined ? {} : { note }) };
}

function late(step: StepOf<'approval'>, what: string, call: StepAttempt, context: StepContext): Json {
  const { on_timeout: choice } = step;
  const open = context.journal.state.reviews.find(
    ({ step: asker, answer }) => asker === call.address && answer === undefined,
  );
  const fails = choice === 'fail';
  const answer = fails ? 'withdrawn' : choice === 'reject' ? 'rejected' : 'approved';
  if (open !== undefined) context.reviews.close(open.review, { answer, choice, by: TIMEOUT });
  if (fails) throw nobodyAnswered(what, step.timeout?.ms ?? 0);
  return outcome(step, { answer, choice, by: TIMEOUT }, call, context);
}

const rejected = (what: string, by: string, note: string | undefined) =>
  new RuntimeError(
    'rejected',
    `${capital(what)} was rejected by ${by}${note === undefined ? '.' : `: ${note}`}`,
    {
      hint: 'With "on_error" or a "try" around it the run can go another way; with "options" of its own, rejecting is a result.',
    },
  );

const withdrawn = (what: string, note: string | undefined) =>
  new RuntimeError(
    'cancelled',
    `The question of ${what} was withdrawn${note === undefined ? '.' : `: ${note}`}`,
  );

const nobodyAnswered = (what: string, ms: number) =>
  new RuntimeError('timeout', `Nobody answered ${what} within ${ms / 1000} s.`, {
    hint: 'Give it a longer "timeout", or say by "on_timeout" which of the options counts then.',
    retryable: true,
  });

const capital = (text: string) => text.replace(/^./, (first) => first.toUpperCase());

/** Calls a tool or a relic of the agent. */
const prepareTool: PrepareStep<'tool' | 'relic'> = async (step, place, context) => {
  const given = await resolveMap(step.parameters, 'parameters', place, context);
  const target = checkedTarget(step.type, step.target, given, context);
  const input = target.inFull?.(given) ?? given;
  return prepareTargetStep(target, input, isRepeatable(target, input), place, context);
};

/** Sends one prompt to a model: a prompt of the agent, or the step's own. */
const prepareLlm: PrepareStep<'llm'> = async (step, place, context) => {
  const parameters = await resolveMap(step.parameters, 'parameters', place, context);
  if (step.target === undefined) return ownPrompt(step, place, parameters, context);
  const found = context.targets.find('llm', step.target);
  const written = found && withoutModel(found, parameters);
  // The author may name any model. A model from a reference needs the same permission as in an action.
  const model = written?.model === step.parameters.model ? written?.model : undefined;
  const isAuthors = typeof model === 'string' && isModelRef(model);
  const input = written !== undefined && isAuthors ? written.input : parameters;
  const target = checkedTarget('llm', step.target, input, context);
  return {
    input,
    repeatable: true,
    run: (call) =>
      callTarget(target, call, context, { model: step.model ?? (isAuthors ? model : undefined) }),
  };
};

async function ownPrompt(
  step: StepOf<'llm'>,
  place: StepInstance,
  parameters: PreparedStep['input'],
  context: StepContext,
): Promise<PreparedStep> {
  const text = await context.decisions.prompt(step, place.address, place.locals);
  return {
    input: { prompt: textOfParameters(text, parameters) },
    repeatable: true,
    async run(call) {
      const question = { what: stepWhat(place), message: String(call.input.prompt), model: step.model };
      return context.ask(question, targetCall(call, noAgent, context));
    },
  };
}
