import type { JsonObject } from '../../kernel/json.ts';
import { nameOf } from '../names.ts';
import type { Place } from '../report.ts';
import { confirmed } from './confirm.ts';
import { type Around, type Conversion, celOf, templateOf } from './conversion.ts';
import { followUps } from './follow-ups.ts';
import { namedVariables } from './named-variables.ts';
import { outputOf } from './output.ts';
import { blocksText, bullets, functionsText, section, sections } from './prompt-text.ts';
import type { FunctionDefinition, TaskStep } from './shape-step.ts';
import { allOf } from './to-cel.ts';
import { plainText } from './to-template.ts';
import { verifierOf } from './verifier.ts';

/** A step that an agent works on: a task, with what comes before and behind it. */
export function convertTask(step: TaskStep, around: Around, c: Conversion): readonly JsonObject[] {
  const place: Place = { step: step.id, path: around.path };
  const { report } = c;
  const name = c.stepNames.take(nameOf(step.id));
  report.note(place, 'id', name === step.id ? 'kept' : 'changed', `the task ${name}`);
  report.note(place, 'title', 'kept', 'heading of the prompt, and description');
  if (step.promptBlocks !== undefined) c.blockSteps.push(name);
  const output = outputOf(step.outputContract, place, around, c);
  const verifier = verifierOf(step, name, place, c);
  const test = allOf([around.guard, runCondition(step, place, around, c)]);
  const prompt = templateOf(
    promptText(step, place, around, c, [verifier.told, output.told]),
    promptKey(step),
    place,
    around.names,
    c,
  );
  const fragments = fragmentsOf(step, place, around, c);
  for (const text of [prompt, ...fragments.map((each) => String(each.text))])
    for (const found of namedVariables(text)) if (!around.names.has(found)) c.variables.named(found);
  noteWithoutEffect(step, place, c);
  const kind = kindOf(step, place, output.requires !== undefined, c);
  if (kind === 'script') {
    const command = plainText(step.verification?.command ?? '');
    const run = { name, type: 'script', description: plainText(step.title), command: ['sh', '-c', command] };
    return confirmed(step, { ...run, ...(test === undefined ? {} : { if: test }) }, place, around, c, test);
  }
  const task: JsonObject = {
    name,
    type: kind,
    description: plainText(step.title),
    ...tierOf(step, kind, place, c),
    ...(test === undefined ? {} : { if: test }),
    prompt,
    ...(fragments.length === 0 ? {} : { fragments }),
    ...(output.requires === undefined ? {} : { requires: output.requires }),
    ...(verifier.verify === undefined ? {} : { verify: verifier.verify }),
  };
  const steps = confirmed(step, task, place, around, c, test);
  c.origins.set(steps.find((each) => each.name === name) ?? task, step.id);
  return [...steps, ...followUps(step, place, around, c, test)];
}

/** `stepType`: a plan, a command, or a task where it cannot be one of those. */
function kindOf(
  { stepType, verification }: TaskStep,
  place: Place,
  requires: boolean,
  { report }: Conversion,
): 'task' | 'plan' | 'script' {
  if (stepType === 'planned') {
    report.note(
      place,
      'stepType',
      requires ? 'left' : 'kept',
      requires ? 'a plan sets no variables, and this step has to: it is a task' : 'type: plan',
    );
    return requires ? 'task' : 'plan';
  }
  if (stepType !== 'scripted') return 'task';
  const command = verification?.command;
  report.note(
    place,
    'stepType',
    command === undefined ? 'left' : 'changed',
    command === undefined
      ? 'it names no command to run, so it is a task'
      : 'type: script runs the command of its verification; its prompt is the description',
  );
  return command === undefined ? 'task' : 'script';
}

/** A plan names its model; a task is given to an agent that has the model. */
function tierOf({ modelTier }: TaskStep, kind: 'task' | 'plan', place: Place, c: Conversion): JsonObject {
  if (modelTier === undefined) return {};
  if (kind === 'plan') {
    c.report.note(place, 'modelTier', 'changed', `model: ${modelTier}, one of the agent's models`);
    return { model: modelTier };
  }
  const agent = c.options.tierAgent(modelTier);
  if (agent === undefined) {
    c.report.note(
      place,
      'modelTier',
      'left',
      `${modelTier}: with --agent, and without --model, an agent of that tier works on it`,
    );
    return {};
  }
  c.tiers.set(modelTier, agent);
  c.report.note(place, 'modelTier', 'changed', `the agent ${agent} works on it, with a model of that tier`);
  return { agent };
}

export function runCondition(
  { runCondition: condition }: Pick<TaskStep, 'runCondition'>,
  place: Place,
  around: Around,
  c: Conversion,
): string | undefined {
  if (condition === undefined) return undefined;
  c.report.note(place, 'runCondition', 'kept', 'if');
  return celOf(condition, 'runCondition', place, around.names, c);
}

/** WorkRail asks for no notes there; every task has some here. */
export const SHORT_NOTES = 'One sentence of notes on what you did will do.';

const promptKey = ({ promptBlocks, prompt }: TaskStep): string =>
  prompt === undefined && promptBlocks !== undefined ? 'promptBlocks' : 'prompt';

function promptText(
  step: TaskStep,
  place: Place,
  around: Around,
  c: Conversion,
  told: readonly (string | undefined)[],
): string {
  const { report } = c;
  const { prompt, promptBlocks, agentRole, guidance = [], askForFiles, functionCalls = [] } = step;
  const unknown = (ref: string) =>
    report.note(place, 'promptBlocks', 'left', `${ref} is a text of WorkRail's that is not known here`);
  if (prompt !== undefined) report.note(place, 'prompt', 'kept', 'prompt');
  if (promptBlocks !== undefined) {
    report.note(place, 'promptBlocks', 'kept', 'sections of the prompt');
    if (JSON.stringify(promptBlocks).includes('"refId"'))
      report.note(
        place,
        'promptBlocks',
        'changed',
        "texts of WorkRail's (wr.refs.*) stand there in words of ours",
      );
  }
  if (agentRole !== undefined) report.note(place, 'agentRole', 'kept', 'first paragraph of the prompt');
  if (step.guidance !== undefined) report.note(place, 'guidance', 'kept', 'section of the prompt');
  if (askForFiles === true) report.note(place, 'askForFiles', 'changed', 'a sentence of the prompt');
  if (step.functionCalls !== undefined) report.note(place, 'functionCalls', 'kept', 'section of the prompt');
  return sections([
    `# ${step.title}`,
    agentRole,
    prompt,
    promptBlocks === undefined ? undefined : blocksText(promptBlocks, unknown),
    section('Guidance', bullets(guidance)),
    askForFiles === true ? 'Ask for the files that you need and do not have.' : undefined,
    section(
      'Calls',
      functionCalls.map(
        ({ name, args }) => `- \`${name}(${args === undefined ? '' : JSON.stringify(args)})\``,
      ),
    ),
    functionsText(functionsOf(step, place, around, c)),
    step.notesOptional === true ? SHORT_NOTES : undefined,
    ...told,
  ]);
}

/** The definitions of what a step refers to, the nearest first. */
function functionsOf(
  { functionDefinitions = [], functionReferences = [], functionCalls = [] }: TaskStep,
  place: Place,
  around: Around,
  { workflow, report }: Conversion,
): readonly FunctionDefinition[] {
  const known = [...functionDefinitions, ...around.functions, ...(workflow.functionDefinitions ?? [])];
  const wanted = [
    ...functionReferences.map((reference) => reference.replace(/\(\)$/, '')),
    ...functionCalls.map(({ name }) => name),
  ];
  const missing = wanted.filter((name) => !known.some((each) => each.name === name));
  if (functionReferences.length > 0)
    report.note(place, 'functionReferences', 'kept', 'their definitions stand in the prompt');
  if (functionDefinitions.length > 0)
    report.note(place, 'functionDefinitions', 'kept', 'section of the prompt');
  if (missing.length > 0)
    report.note(place, 'functionReferences', 'left', `nothing defines ${missing.join(', ')}`);
  const found = wanted.flatMap((name) => known.find((each) => each.name === name) ?? []);
  return [...new Set([...functionDefinitions, ...found])];
}

function fragmentsOf(
  { promptFragments = [] }: TaskStep,
  place: Place,
  around: Around,
  c: Conversion,
): readonly JsonObject[] {
  return promptFragments.map(({ id, when, text }) => {
    const key = `promptFragments ${id}`;
    c.report.note(place, key, 'kept', when === undefined ? 'fragment' : 'fragment with if');
    const words = templateOf(text, key, place, around.names, c);
    return when === undefined
      ? { text: words }
      : { if: celOf(when, key, place, around.names, c), text: words };
  });
}

function noteWithoutEffect(
  { notesOptional, hasValidation, askForFiles }: TaskStep,
  place: Place,
  c: Conversion,
) {
  const { report } = c;
  if (notesOptional === true)
    report.note(place, 'notesOptional', 'changed', 'a sentence of the prompt: one sentence of notes will do');
  if (notesOptional === false) report.note(place, 'notesOptional', 'kept', 'as every task');
  if (hasValidation !== undefined)
    report.note(place, 'hasValidation', 'kept', 'a mark of the file; validationCriteria is what counts');
  if (askForFiles === false) report.note(place, 'askForFiles', 'kept', 'nothing is asked for');
}
