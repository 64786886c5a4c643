import type { JsonObject } from '../../lib/json.ts';
import { nameOf } from '../names.ts';
import { allOf, bullets, defined, filled, paragraphs, plainText, section } from '../values.ts';
import type { StepContext } from './context.ts';
import { contractOf, LOOP_CONTROL } from './contracts.ts';
import { readCriteria } from './criteria.ts';
import * as texts from './prompt-text.ts';
import { namedVariables } from './templates.ts';
import type { BodyStep, FunctionDefinition, TaskStep } from './workflow-schema.ts';

/** Keys that are only text for the prompt. */
const IN_PROMPT = {
  title: 'heading of the prompt, and description',
  prompt: 'prompt',
  promptBlocks: 'sections of the prompt',
  promptFragments: 'fragments; "when" is "if"',
  agentRole: 'first paragraph of the prompt',
  guidance: 'section of the prompt',
  functionCalls: 'section of the prompt',
  functionDefinitions: 'section of the prompt',
  functionReferences: 'their definitions are in the prompt',
  askForFiles: 'a sentence of the prompt, if true',
  hasValidation: 'it marks steps with validationCriteria',
};
const DELEGATED =
  'one task that asks the agent to delegate; each part is a fragment. The agent needs agents or workflows to delegate to';

/** A task or a parallel step as steps of ours: the task, the person who confirms it, and what WorkRail adds after it. */
export function convertStep(written: BodyStep, at: StepContext): readonly JsonObject[] {
  const { flow } = at;
  const name = at.takeName('task');
  at.take('type');
  at.noteAll('kept', IN_PROMPT);
  at.changed('notesOptional', 'a sentence of the prompt, if true; a task always has notes');
  at.changed('parallelDelegations', DELEGATED);
  const step: TaskStep =
    written.type === 'parallel' ? { ...written, type: undefined, prompt: texts.HAND_OUT } : written;
  if (step.promptBlocks !== undefined) flow.blockSteps.push(name);
  const output = outputOf(step.outputContract, at);
  const verifier = verifierOf(step, name, at);
  const test = allOf([at.around.guard, at.runCondition(step)]);
  const promptKey = step.prompt === undefined && step.promptBlocks !== undefined ? 'promptBlocks' : 'prompt';
  const prompt = at.template(promptText(step, at, [verifier.told, output.told]), promptKey);
  const fragments = fragmentsOf(written).map(({ construct, when, text }) =>
    defined({ if: when && at.cel(when, construct), text: at.template(text, construct) }),
  );
  for (const text of [prompt, ...fragments.map((each) => String(each.text))])
    for (const found of namedVariables(text)) if (!at.around.names.has(found)) flow.variables.named(found);
  const type = typeOf(step, at, output.requires !== undefined);
  const head = defined({ name, type, description: plainText(step.title), if: test });
  const work =
    type === 'script'
      ? { command: ['sh', '-c', plainText(step.verification?.command ?? '')] }
      : filled({
          ...modelOf(step, type, at),
          prompt,
          fragments,
          requires: output.requires,
          verify: verifier.verify,
        });
  const steps = confirmed(step, { ...head, ...work }, at);
  flow.origins.set(name, written.id);
  const added = type === 'script' ? [] : addedTasks(written, at, test);
  at.rest();
  return [...at.computedStep(), ...steps, ...added];
}

/** Fragments of a prompt, or the parts of parallel work; `construct` is what the report calls each. */
function fragmentsOf(step: BodyStep) {
  if (step.type !== 'parallel') {
    const { promptFragments = [] } = step;
    return promptFragments.map(({ id, when, text }) => ({ construct: `promptFragments ${id}`, when, text }));
  }
  return step.parallelDelegations.map((part) => {
    const { workflowId, goal, runCondition, contextMapping = {}, args = {}, modelTier, allowedTools } = part;
    const inputs = [
      ...Object.entries(contextMapping).map(([from, to]) => `- ${to}: {{${from}}}`),
      ...Object.entries(args).map(([to, value]) => `- ${to}: ${value}`),
    ];
    const lines = [`## ${workflowId}`];
    if (goal !== undefined) lines.push(`Goal: ${goal}`);
    if (modelTier !== undefined) lines.push(`Model: ${texts.TIERS[modelTier]}`);
    if (allowedTools !== undefined) lines.push(`Tools: ${allowedTools.join(', ')}`);
    if (inputs.length > 0) lines.push('Its input:', ...inputs);
    return { construct: `parallelDelegations ${workflowId}`, when: runCondition, text: lines.join('\n') };
  });
}

function promptText(step: TaskStep, at: StepContext, told: readonly (string | undefined)[]): string {
  const { promptBlocks = {}, functionCalls = [] } = step;
  if (JSON.stringify(promptBlocks).includes('"refId"'))
    at.changed('promptBlocks', 'texts of WorkRail (wr.refs.*) are in the prompt in our words');
  const unknown = (ref: string) => at.left('promptBlocks', `${ref} is not a known text of WorkRail`);
  const calls = functionCalls.map(({ name, args = '' }) => `\`${name}(${args && JSON.stringify(args)})\``);
  return (
    paragraphs(
      `# ${step.title}`,
      step.agentRole,
      step.prompt,
      texts.blocksText(promptBlocks, unknown),
      section('Guidance', bullets(step.guidance ?? [])),
      step.askForFiles === true ? 'Ask for the files that you need and do not have.' : undefined,
      section('Calls', bullets(calls)),
      texts.functionsText(functionsOf(step, at)),
      step.notesOptional === true ? 'One sentence of notes on what you did is enough.' : undefined,
      ...told,
    ) ?? ''
  );
}

/** The definitions of the functions that a step defines or refers to. Inner definitions hide outer ones. */
function functionsOf(step: TaskStep, at: StepContext): readonly FunctionDefinition[] {
  const { functionDefinitions: own = [], functionReferences = [], functionCalls = [] } = step;
  const known = [...own, ...at.around.functions, ...(at.flow.workflow.functionDefinitions ?? [])];
  const references = functionReferences.map((reference) => reference.replace(/\(\)$/, ''));
  const names = new Set([...[...own, ...functionCalls].map(({ name }) => name), ...references]);
  return [...names].flatMap((name) => {
    const found = known.find((each) => each.name === name);
    if (found === undefined) at.note('functionReferences', 'left', `nothing defines ${name}`);
    return found ?? [];
  });
}

/** `stepType`: a plan, a command, or a task if it cannot be one of them. */
function typeOf({ stepType, verification }: TaskStep, at: StepContext, hasRequired: boolean) {
  if (stepType === undefined) return 'task';
  const isPlan = stepType === 'planned';
  const isPossible = isPlan ? !hasRequired : verification?.command !== undefined;
  const how = isPlan ? 'type: plan' : 'type: script, which runs its verification; its prompt is left out';
  const why = isPlan ? 'a plan cannot set the variables that it has to' : 'it names no command to run';
  at.either('stepType', isPossible, how, `it is a task, because ${why}`);
  if (!isPossible) return 'task';
  return isPlan ? 'plan' : 'script';
}

/** A plan names its model. A task names an agent with that model, because a session has one model. */
function modelOf({ modelTier }: TaskStep, type: string, at: StepContext): JsonObject {
  const { flow } = at;
  if (modelTier === undefined) return {};
  if (type === 'plan') {
    at.changed('modelTier', `model: ${modelTier}, one of the agent's models`);
    flow.models.add(modelTier);
    return { model: modelTier };
  }
  if (!flow.options.agent || flow.options.model !== undefined) {
    at.left('modelTier', `${modelTier}: --agent without --model makes an agent of that tier for it`);
    return {};
  }
  const agent = `${flow.name}-${modelTier}`;
  flow.tiers.set(modelTier, agent);
  at.changed('modelTier', `the agent ${agent} works on it, with a model of that tier`);
  return { agent };
}

/** What an output contract or a verifier adds to a task, and to its prompt. */
interface Addition {
  readonly requires?: JsonObject;
  readonly verify?: JsonObject;
  readonly told?: string | undefined;
}

/** An output contract: a key of `context_updates` with the contract's schema, in place of an artifact. */
function outputOf(contract: TaskStep['outputContract'], at: StepContext, key = 'outputContract'): Addition {
  if (contract === undefined) return {};
  const { contractRef, required = true } = contract;
  const { around, flow } = at;
  if (contractRef === LOOP_CONTROL) {
    const name =
      around.decision ?? flow.variables.added('loop_decision', { description: 'Whether to go on.' });
    const use = around.decision === undefined ? 'no loop reads it' : 'continue or stop, which the loop reads';
    at.note(key, 'changed', `requires ${name}: ${use}`);
    return { requires: { [name]: { enum: ['continue', 'stop'] } }, told: texts.decisionText(name) };
  }
  const { name: wanted, kind, schema, isKnown } = contractOf(contractRef);
  const name = flow.variables.named(wanted);
  const how = required ? `requires ${name} with the contract's schema` : `${name} is optional`;
  at.note(key, 'changed', isKnown ? how : `${how}; the contract is not known, so any object will do`);
  const told = texts.outputText(name, kind, required ? undefined : schema);
  return required ? { requires: { [name]: schema }, told } : { told };
}

/**
 * Who judges a step. A step has one verifier: a model for assessments or `verifier`, else an artifact for criteria, else
 * the command, else a model for a gate. A model also gets the criteria.
 */
function verifierOf(step: TaskStep, name: string, at: StepContext): Addition {
  const { checks, models, variables, workflow } = at.flow;
  const { assessmentRefs = [], assessmentConsequences = [], validationCriteria = [], verification } = step;
  const criteria = readCriteria(validationCriteria, {
    variable: (variable) => variables.named(variable),
    note: (outcome, how) => at.note('validationCriteria', outcome, how),
  });
  const rules = criteria.map(({ message }) => message);
  const told = section('What the notes of this step must meet', bullets(rules));
  if (step.verifier?.model !== undefined) models.add(step.verifier.model);
  if (assessmentRefs.length > 0 || step.verifier !== undefined) {
    at.kept('verifier', 'verify');
    at.changed('assessmentRefs', 'verify: a second model gives the levels');
    at.changed('assessmentConsequences', 'the verifier asks for another try');
    if (rules.length > 0)
      at.changed('validationCriteria', 'judged by the same model: a step has one verifier');
    const assessments = (workflow.assessments ?? []).filter(({ id }) => assessmentRefs.includes(id));
    const instructions = texts.judgeInstructions(assessments, assessmentConsequences, rules);
    const verify = defined({ instructions: instructions && plainText(instructions), ...step.verifier });
    return { verify, told: paragraphs(told, texts.judgedBy(assessments)) };
  }
  if (criteria.length > 0) {
    const method = checks.add(name, criteria);
    at.changed('validationCriteria', `verify: ${checks.name}.${method} judges the notes, without a model`);
    return { verify: { invoke: checks.name, method, fallback: 'escalate' }, told };
  }
  if (!at.isRead('validationCriteria')) at.kept('validationCriteria', 'it asks for nothing');
  if (verification?.command !== undefined) {
    at.changed('verification', 'verify: the runtime runs the command, and exit 0 passes');
    if (step.stepType === 'scripted') return {};
    return { verify: { command: ['sh', '-c', plainText(verification.command)] } };
  }
  if (!isGateForModel(step)) return {};
  at.changed('requireConfirmation', 'verify: a second model judges the step, as the gate would');
  return { verify: { instructions: texts.GATE_INSTRUCTIONS } };
}

/** Whether `requireConfirmation` always asks a model, and the step has no other verifier. */
function isGateForModel({ requireConfirmation: gate, ...step }: TaskStep): boolean {
  if (typeof gate !== 'object' || !('kind' in gate) || gate.kind !== 'coordinator_eval') return false;
  const others = [gate.condition, step.verifier, step.assessmentRefs, step.validationCriteria];
  return [...others, step.verification?.command].every((each) => each === undefined);
}

/**
 * A task with the approval that `requireConfirmation` asks for. WorkRail asks after a step, and its condition may read
 * what the step has just set; `--confirm before` asks whether the step may begin.
 */
function confirmed(
  { requireConfirmation: rule = false, ...step }: TaskStep,
  task: JsonObject,
  at: StepContext,
): readonly JsonObject[] {
  if (rule === false || isGateForModel({ ...step, requireConfirmation: rule })) {
    at.kept('requireConfirmation', 'nobody is asked');
    return [task];
  }
  const condition = rule === true ? undefined : 'kind' in rule ? rule.condition : rule;
  const when = condition === undefined ? 'true' : at.cel(condition, 'requireConfirmation');
  const isAfter = at.flow.options.confirm === 'after';
  const where = `a person is asked ${isAfter ? 'after' : 'before'} the step`;
  at.changed('requireConfirmation', when === 'true' ? where : `${where}, if the condition holds`);
  const mayBegin = plainText(`May this begin: ${step.title}?`);
  if (!isAfter && when === 'true' && task.type === 'task') return [{ ...task, confirm: mayBegin }];
  const name = String(task.name);
  const isDone = `${plainText(step.title)} is done. May it go on?\n\n\${steps.${name}.output.notes ?? ''}`;
  const approval = {
    name: at.flow.stepNames.take(`${name}-confirm`),
    type: 'approval',
    prompt: isAfter ? isDone : mayBegin,
  };
  // After a step that may have been skipped: by then, what its condition read may have changed.
  const ran = `steps[${JSON.stringify(name)}].status == "completed"`;
  const test = task.if === undefined || !isAfter ? task.if : ran;
  // An approval may not depend on variables that the model sets, as the conditions of WorkRail do. A switch may.
  const gate = { type: 'switch', cases: [{ if: when, body: [approval] }] };
  const asked = when === 'true' ? approval : { name: at.flow.stepNames.take(`${name}-gate`), ...gate };
  const guarded = defined({ ...asked, if: test });
  return isAfter ? [task, guarded] : [guarded, task];
}

/** Tasks that WorkRail adds after a step: its verification, its audit, the synthesis of parallel work. */
function addedTasks(step: BodyStep, at: StepContext, test: string | undefined): readonly JsonObject[] {
  const task = (key: string, verb: string, parts: readonly (string | undefined)[], more = {}): JsonObject => {
    at.kept(key, 'a task after the step, as in WorkRail');
    return defined({
      name: at.flow.stepNames.take(nameOf(`${step.id}-${key}`)),
      type: 'task',
      description: plainText(`${verb}: ${step.title}`),
      if: test,
      prompt: at.template(paragraphs(`# ${verb}: ${step.title}`, ...parts) ?? '', key),
      ...more,
    });
  };
  if (step.type === 'parallel') {
    if (step.synthesis === undefined) return [];
    const { prompt = texts.SYNTHESIS, outputContract } = step.synthesis;
    const { requires, told } = outputOf(outputContract, at, 'synthesis.outputContract');
    return [task('synthesis', 'Synthesis', [prompt, told], requires && { requires })];
  }
  const { verification, audit } = step;
  const tasks: JsonObject[] = [];
  if (verification !== undefined && !at.isRead('verification'))
    tasks.push(task('verification', 'Verify', texts.verificationTexts(verification)));
  else if (verification?.prompt !== undefined)
    at.note('verification.prompt', 'left', 'the command is run without an agent');
  if (audit !== undefined) tasks.push(task('audit', 'Audit', texts.auditTexts(audit, step.title)));
  return tasks;
}
