import type { JsonObject } from '../../lib/json.ts';
import type { Spot } from './conversion.ts';
import { readCriteria } from './criteria.ts';
import { allOf, namedVariables, plainText } from './expressions.ts';
import type { BodyStep, FunctionDefinition, ShapeParallelStep, TaskStep } from './shape.ts';
import * as texts from './texts.ts';
import { bullets, contractOf, LOOP_CONTROL, section, sections } from './texts.ts';

type StepsKind = 'task' | 'plan' | 'script';

const NOTES_TOLD = 'a sentence of the prompt: one sentence of notes will do';
/** WorkRail asks for no notes there; every task has some here. */
const SHORT_NOTES = 'One sentence of notes on what you did will do.';
const TIERS = {
  lightweight: 'a small and fast one will do',
  mid: 'one of middling ability',
  heavy: 'the most capable one that there is',
};
const given = (key: string, value: unknown): JsonObject =>
  value === undefined ? {} : { [key]: value as JsonObject };

/** A step of WorkRail's that an agent works on, with what stands before and behind it. */
export function convertBody(step: BodyStep, at: Spot): readonly JsonObject[] {
  const steps = step.type === 'parallel' ? convertParallel(step, at) : convertTask(step, at);
  return [...at.c.takeComputed(), ...steps];
}

function convertTask(step: TaskStep, at: Spot): readonly JsonObject[] {
  const { c } = at;
  const name = at.takeName(step.id, 'task');
  at.keptKeys(step, {
    title: 'heading of the prompt, and description',
    prompt: 'prompt',
    promptBlocks: 'sections of the prompt',
    agentRole: 'first paragraph of the prompt',
    guidance: 'section of the prompt',
    functionCalls: 'section of the prompt',
    functionDefinitions: 'section of the prompt',
    functionReferences: 'their definitions stand in the prompt',
    hasValidation: 'a mark of the file; validationCriteria is what counts',
  });
  if (step.promptBlocks !== undefined) c.blockSteps.push(name);
  const output = outputOf(step.outputContract, at);
  const verifier = verifierOf(step, name, at);
  const test = allOf([at.around.guard, at.runCondition(step)]);
  const key = step.prompt === undefined && step.promptBlocks !== undefined ? 'promptBlocks' : 'prompt';
  const prompt = at.template(promptText(step, at, [verifier.told, output.told]), key);
  const fragments = (step.promptFragments ?? []).map(({ id, when, text }): JsonObject => {
    const named = `promptFragments ${id}`;
    at.kept(named, when === undefined ? 'fragment' : 'fragment with if');
    return { ...(when === undefined ? {} : { if: at.cel(when, named) }), text: at.template(text, named) };
  });
  for (const text of [prompt, ...fragments.map((each) => String(each.text))])
    for (const found of namedVariables(text)) if (!at.around.names.has(found)) c.variables.named(found);
  if (step.notesOptional === true) at.changed('notesOptional', NOTES_TOLD);
  if (step.notesOptional === false) at.kept('notesOptional', 'as every task');
  if (step.askForFiles !== undefined)
    at.note(
      'askForFiles',
      step.askForFiles ? 'changed' : 'kept',
      step.askForFiles ? 'a sentence of the prompt' : 'nothing is asked for',
    );
  const kind = kindOf(step, at, output.requires !== undefined);
  const head = { name, type: kind, description: plainText(step.title), ...given('if', test) };
  const task: JsonObject =
    kind === 'script'
      ? { ...head, command: ['sh', '-c', plainText(step.verification?.command ?? '')] }
      : {
          ...head,
          ...tierOf(step, kind, at),
          prompt,
          ...(fragments.length === 0 ? {} : { fragments }),
          ...given('requires', output.requires),
          ...given('verify', verifier.verify),
        };
  return placed(step, task, at, test, kind === 'script' ? [] : followUps(step, at, test));
}

/** The step among who is asked about it and what WorkRail puts behind it. */
function placed(
  step: BodyStep,
  task: JsonObject,
  at: Spot,
  test: string | undefined,
  behind: readonly JsonObject[],
): readonly JsonObject[] {
  const steps = confirmed(step, task, at, test);
  at.c.origins.set(steps.find(({ name }) => name === task.name) ?? task, step.id);
  return [...steps, ...behind];
}

/** `stepType`: a plan, a command, or a task where it cannot be one of those. */
function kindOf({ stepType, verification }: TaskStep, at: Spot, requires: boolean): StepsKind {
  const command = verification?.command;
  if (stepType === 'planned' && !requires) {
    at.kept('stepType', 'type: plan');
    return 'plan';
  }
  if (stepType === 'planned')
    at.left('stepType', 'a plan sets no variables, and this step has to: it is a task');
  if (stepType === 'scripted' && command === undefined)
    at.left('stepType', 'it names no command to run, so it is a task');
  if (stepType !== 'scripted' || command === undefined) return 'task';
  at.changed('stepType', 'type: script runs the command of its verification; its prompt is left out');
  return 'script';
}

/** A plan names its model; a task is given to an agent that has the model. */
function tierOf({ modelTier }: TaskStep, kind: StepsKind, at: Spot): JsonObject {
  if (modelTier === undefined) return {};
  if (kind === 'plan') {
    at.changed('modelTier', `model: ${modelTier}, one of the agent's models`);
    return { model: modelTier };
  }
  const agent = at.c.options.tierAgent(modelTier);
  if (agent === undefined) {
    at.left(
      'modelTier',
      `${modelTier}: with --agent, and without --model, an agent of that tier works on it`,
    );
    return {};
  }
  at.c.tiers.set(modelTier, agent);
  at.changed('modelTier', `the agent ${agent} works on it, with a model of that tier`);
  return { agent };
}

function promptText(step: TaskStep, at: Spot, told: readonly (string | undefined)[]): string {
  const { promptBlocks, functionCalls = [] } = step;
  if (JSON.stringify(promptBlocks ?? {}).includes('"refId"'))
    at.changed('promptBlocks', "texts of WorkRail's (wr.refs.*) stand there in words of ours");
  const unknown = (ref: string) =>
    at.left('promptBlocks', `${ref} is a text of WorkRail's that is not known here`);
  const calls = functionCalls.map(
    ({ name, args }) => `- \`${name}(${args === undefined ? '' : JSON.stringify(args)})\``,
  );
  return sections([
    `# ${step.title}`,
    step.agentRole,
    step.prompt,
    promptBlocks === undefined ? undefined : texts.blocksText(promptBlocks, unknown),
    section('Guidance', bullets(step.guidance ?? [])),
    step.askForFiles === true ? 'Ask for the files that you need and do not have.' : undefined,
    section('Calls', calls),
    texts.functionsText(functionsOf(step, at)),
    step.notesOptional === true ? SHORT_NOTES : undefined,
    ...told,
  ]);
}

/** The definitions of what a step refers to, the nearest first. */
function functionsOf(step: TaskStep, { c, around, left }: Spot): readonly FunctionDefinition[] {
  const { functionDefinitions = [], functionReferences = [], functionCalls = [] } = step;
  const known = [...functionDefinitions, ...around.functions, ...(c.workflow.functionDefinitions ?? [])];
  const wanted = [
    ...functionReferences.map((reference) => reference.replace(/\(\)$/, '')),
    ...functionCalls.map(({ name }) => name),
  ];
  for (const name of wanted)
    if (!known.some((each) => each.name === name)) left('functionReferences', `nothing defines ${name}`);
  const names = [...new Set([...functionDefinitions.map(({ name }) => name), ...wanted])];
  return names.flatMap((name) => known.find((each) => each.name === name) ?? []);
}

interface StepsOutput {
  readonly requires?: JsonObject;
  /** What the agent is told of it. */
  readonly told?: string;
}

/** An output contract: a key of `context_updates` with its schema, in place of an artifact. */
function outputOf(contract: TaskStep['outputContract'], at: Spot, construct = 'outputContract'): StepsOutput {
  if (contract === undefined) return {};
  const { contractRef, required = true } = contract;
  const { decision } = at.around;
  if (contractRef === LOOP_CONTROL) {
    const key = decision ?? at.c.variables.own('loop_decision', 'Whether to go on.');
    const who = decision === undefined ? '; no loop reads it' : ', continue or stop, which the loop goes by';
    at.changed(construct, `requires ${key}${who}`);
    return { requires: { [key]: { enum: ['continue', 'stop'] } }, told: texts.decisionText(key) };
  }
  const { key, kind, schema, isKnown } = contractOf(contractRef);
  const name = at.c.variables.named(key);
  const known = isKnown ? '' : '; what it asks for is not known here, so any object will do';
  at.changed(
    construct,
    required ? `requires ${name} with the contract's schema${known}` : `${name} may be given${known}`,
  );
  const told = texts.outputText(name, kind, required ? undefined : schema);
  return required ? { requires: { [name]: schema }, told } : { told };
}

interface FoundVerifier {
  readonly verify?: JsonObject;
  /** What the agent is told of it. */
  readonly told?: string | undefined;
}

/**
 * Who judges a step. There is one verifier: assessments are judged by a model, criteria by an artifact that needs none,
 * a command by running it; where a step has several of them, the first of these takes the others in as well as it can.
 */
function verifierOf(step: TaskStep, name: string, at: Spot): FoundVerifier {
  const { c } = at;
  const { assessmentRefs = [], assessmentConsequences = [], validationCriteria, verification } = step;
  const written =
    validationCriteria === undefined
      ? undefined
      : readCriteria(validationCriteria, (variable) => c.variables.named(variable));
  for (const problem of written?.refused ?? []) at.left('validationCriteria', problem);
  for (const what of written?.ignored ?? []) at.changed('validationCriteria', what);
  const rules = written?.messages ?? [];
  const told = section('What the notes of this step must meet', bullets(rules));
  const model = (step.verifier ?? {}) as JsonObject;
  const hasModel = step.verifier !== undefined;
  if (hasModel) at.kept('verifier', assessmentRefs.length > 0 ? 'verify, with the assessments' : 'verify');
  if (rules.length > 0 && (hasModel || assessmentRefs.length > 0))
    at.changed('validationCriteria', 'judged by the same model: a step has one verifier');
  if (assessmentRefs.length > 0) {
    const assessments = (c.workflow.assessments ?? []).filter(({ id }) => assessmentRefs.includes(id));
    at.changed('assessmentRefs', 'verify: a second model gives the levels');
    if (assessmentConsequences.length > 0)
      at.changed('assessmentConsequences', 'what the verifier lets the agent do again');
    const instructions = plainText(texts.judgeInstructions(assessments, assessmentConsequences, rules));
    return { verify: { instructions, ...model }, told: sections([told, texts.judgedBy(assessments)]) };
  }
  if (hasModel) {
    const instructions = plainText(sections([texts.AS_ASKED, told]));
    return { verify: rules.length === 0 ? model : { instructions, ...model }, told };
  }
  if (written !== undefined && written.criteria.length > 0) {
    const method = c.checks.add(name, written.criteria);
    at.changed('validationCriteria', `verify: ${c.checksName}.${method} judges the notes, without a model`);
    return { verify: { invoke: c.checksName, method, fallback: 'escalate' }, told };
  }
  if (validationCriteria !== undefined && !at.has('validationCriteria'))
    at.kept('validationCriteria', 'it asks for nothing');
  if (verification?.command !== undefined) {
    at.changed('verification', 'verify: the command is run by the runtime, and exit 0 passes');
    return step.stepType === 'scripted'
      ? {}
      : { verify: { command: ['sh', '-c', plainText(verification.command)] } };
  }
  if (!isModelsGate(step)) return {};
  at.changed('requireConfirmation', 'verify: a second model judges the step, as the gate would');
  return { verify: { instructions: texts.GATE_INSTRUCTIONS } };
}

/** Whether the gate of a step becomes its verifier. */
const isModelsGate = ({ requireConfirmation: gate, ...step }: TaskStep): boolean =>
  typeof gate === 'object' &&
  'kind' in gate &&
  gate.kind === 'coordinator_eval' &&
  gate.condition === undefined &&
  (step.verifier ?? step.assessmentRefs ?? step.validationCriteria ?? step.verification?.command) ===
    undefined;

/** Parallel work: one task that asks the agent to hand it out, as WorkRail's own prompt does. */
function convertParallel(step: ShapeParallelStep, at: Spot): readonly JsonObject[] {
  const name = at.takeName(step.id, 'task');
  at.kept('title', 'heading of the prompt, and description');
  at.changed(
    'parallelDelegations',
    'one task that asks the agent to hand the work out, each part a fragment; the agent needs agents or workflows to hand it to',
  );
  if (step.notesOptional === true) at.changed('notesOptional', NOTES_TOLD);
  if (step.notesOptional === false) at.kept('notesOptional', 'as every task');
  const test = allOf([at.around.guard, at.runCondition(step)]);
  const short = step.notesOptional === true ? ` ${SHORT_NOTES}` : '';
  const task: JsonObject = {
    name,
    type: 'task',
    description: plainText(step.title),
    ...given('if', test),
    prompt: at.template(`# ${step.title}\n\n${texts.HAND_OUT}${short}`, 'title'),
    fragments: step.parallelDelegations.map((each) => fragmentOf(each, at)),
  };
  return placed(step, task, at, test, followUps(step, at, test));
}

function fragmentOf(part: ShapeParallelStep['parallelDelegations'][number], at: Spot): JsonObject {
  const {
    workflowId,
    goal,
    runCondition: when,
    contextMapping = {},
    args = {},
    modelTier,
    allowedTools,
  } = part;
  const key = `parallelDelegations ${workflowId}`;
  if (modelTier !== undefined) at.changed(key, 'modelTier: a line of the part says which model is meant');
  const gets = [
    ...Object.entries(contextMapping).map(([from, to]) => `- ${to}: {{${from}}}`),
    ...Object.entries(args).map(([to, value]) => `- ${to}: ${value}`),
  ];
  const lines = [
    `## ${workflowId}`,
    ...(goal === undefined ? [] : [`Goal: ${goal}`]),
    ...(modelTier === undefined ? [] : [`Model: ${TIERS[modelTier]}`]),
    ...(allowedTools === undefined ? [] : [`Tools: ${allowedTools.join(', ')}`]),
    ...(gets.length === 0 ? [] : ['It gets:', ...gets]),
  ];
  const text = at.template(lines.join('\n'), key);
  return when === undefined ? { text } : { if: at.cel(when, key), text };
}

/**
 * A task with who is asked about it. WorkRail's gate closes behind a step whose output is valid, and looks at what the
 * step has just set; `before` asks whether it may begin instead.
 */
function confirmed(
  step: BodyStep,
  task: JsonObject,
  at: Spot,
  test: string | undefined,
): readonly JsonObject[] {
  const { requireConfirmation: rule } = step;
  const key = 'requireConfirmation';
  if (rule === false) at.kept(key, 'nobody is asked');
  if (rule === undefined || rule === false || (step.type === undefined && isModelsGate(step))) return [task];
  const condition = rule === true ? undefined : 'kind' in rule ? rule.condition : rule;
  const when = condition === undefined ? 'true' : at.cel(condition, key);
  const isAfter = at.c.options.confirm === 'after';
  const mayBegin = plainText(`May this begin: ${step.title}?`);
  if (!isAfter && when === 'true' && task.type === 'task') {
    at.changed(key, 'confirm: a person says whether the step may begin');
    return [{ ...task, confirm: mayBegin }];
  }
  const name = String(task.name);
  const done = `${plainText(step.title)} is done. May it go on?\n\n\${steps.${name}.output.notes ?? ''}`;
  const gate = {
    name: at.c.stepNames.take(`${name}-confirm`),
    type: 'approval',
    prompt: isAfter ? done : mayBegin,
  };
  const where = `approval ${isAfter ? 'behind' : 'before'} the step`;
  at.changed(
    key,
    when === 'true'
      ? `${where}: a person says whether it goes on`
      : `${where} in a switch: a person is asked where the condition holds, which goes by what the agent sets`,
  );
  // Behind a step that may have been skipped: what its condition read may have changed since.
  const ran = isAfter ? `steps[${JSON.stringify(name)}].status == "completed"` : test;
  const ifRan = test === undefined ? {} : given('if', ran);
  const asked: JsonObject =
    when === 'true'
      ? { ...gate, ...ifRan }
      : {
          name: at.c.stepNames.take(`${name}-gate`),
          type: 'switch',
          ...ifRan,
          cases: [{ if: when, body: [gate] }],
        };
  return isAfter ? [task, asked] : [asked, task];
}

/** Steps that WorkRail puts behind a step by itself: its verification, its audit, the synthesis of parallel work. */
function followUps(step: BodyStep, at: Spot, test: string | undefined): readonly JsonObject[] {
  const { title } = step;
  const task = (suffix: string, heading: string, parts: readonly (string | undefined)[]): JsonObject => ({
    name: at.c.stepNames.take(`${step.id}-${suffix}`.replace(/^(?=\d)/, 'step-')),
    type: 'task',
    description: plainText(`${heading}: ${title}`),
    ...given('if', test),
    prompt: at.template(sections([`# ${heading}: ${title}`, ...parts]), suffix),
  });
  const behind = (key: string) => at.kept(key, 'a task behind the step, as in WorkRail');
  if (step.type === 'parallel') {
    const { synthesis } = step;
    if (synthesis === undefined) return [];
    behind('synthesis');
    const { requires, told } = outputOf(synthesis.outputContract, at, 'synthesis.outputContract');
    const made = task('synthesis', 'Synthesis', [synthesis.prompt ?? texts.SYNTHESIS, told]);
    return [{ ...made, ...given('requires', requires) }];
  }
  const { verification, audit } = step;
  const steps: JsonObject[] = [];
  if (verification !== undefined && !at.has('verification')) {
    behind('verification');
    steps.push(task('verification', 'Verify', texts.verificationTexts(verification)));
  } else if (verification?.prompt !== undefined)
    at.left('verification.prompt', 'the command is run without an agent');
  if (audit !== undefined) {
    behind('audit');
    steps.push(task('audit', 'Audit', texts.auditTexts(audit, title)));
  }
  return steps;
}
