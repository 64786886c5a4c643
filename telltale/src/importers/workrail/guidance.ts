import type { JsonObject } from '../../kernel/json.ts';
import type { Conversion } from './conversion.ts';
import { FEATURES } from './known-texts.ts';
import { bullets, section, sections } from './prompt-text.ts';
import type { WorkrailWorkflow } from './shape.ts';
import { plainText } from './to-template.ts';

const WORKFLOW = { step: null, path: [] } as const;

/** What WorkRail says when a workflow begins: it joins the prompt of the task that comes first. */
export function guidanceOf(
  workflow: WorkrailWorkflow,
  steps: readonly JsonObject[],
  c: Conversion,
): JsonObject {
  const { metaGuidance = [], preconditions = [], clarificationPrompts = [] } = workflow;
  const told = 'a component that joins the prompt of the first task';
  for (const key of ['metaGuidance', 'preconditions', 'clarificationPrompts'] as const)
    if (workflow[key] !== undefined) c.report.note(WORKFLOW, key, 'kept', told);
  const text = sections([
    section('The work as a whole', [plainText(workflow.description)]),
    section('Rules for all of it', bullets([...new Set(metaGuidance)].map(plainText))),
    section('What must be there before you begin', bullets([...new Set(preconditions)].map(plainText))),
    section(
      'Find out first, as far as it is not clear',
      bullets([...new Set(clarificationPrompts)].map(plainText)),
    ),
  ]);
  return { name: 'guidance', prompt: text, inject_into: firstTasks(steps) };
}

/** The task that comes first; where that may be skipped, the next one as well, in case. */
function firstTasks(steps: readonly JsonObject[]): readonly JsonObject[] {
  const entries: JsonObject[] = [];
  const skipped: string[] = [];
  for (const { task, isSure } of tasksIn(steps)) {
    const name = String(task.name);
    entries.push(
      skipped.length === 0 ? { step: name, always: true } : { step: name, if: skipped.join(' && ') },
    );
    if (isSure) break;
    skipped.push(`steps[${JSON.stringify(name)}].status != "completed"`);
    if (entries.length === MAX_FIRST) break;
  }
  return entries;
}

/** Behind so many that may be skipped, one has come by. */
const MAX_FIRST = 8;

function* tasksIn(
  steps: readonly JsonObject[],
  isSure = true,
): Generator<{ readonly task: JsonObject; readonly isSure: boolean }> {
  for (const step of steps) {
    const isSureHere = isSure && step.if === undefined;
    if (step.type === 'task') yield { task: step, isSure: isSureHere };
    if (step.type === 'loop' || step.type === 'foreach')
      yield* tasksIn(step.body as readonly JsonObject[], false);
  }
}

/** What features add to steps with prompt blocks. */
export function featuresOf(features: readonly string[], c: Conversion): readonly JsonObject[] {
  return [...new Set(features)].flatMap((feature) => {
    const known = Object.hasOwn(FEATURES, feature) ? FEATURES[feature] : undefined;
    if (known === undefined) {
      c.report.note(WORKFLOW, `features ${feature}`, 'left', 'it is not known what it adds to prompts');
      return [];
    }
    if (c.blockSteps.length === 0) {
      c.report.note(
        WORKFLOW,
        `features ${feature}`,
        'kept',
        'it joins steps with prompt blocks, and there are none',
      );
      return [];
    }
    c.report.note(
      WORKFLOW,
      `features ${feature}`,
      'changed',
      'a component with its meaning in words of ours joins the steps that have prompt blocks',
    );
    const { constraints = [], procedure = [], verify = [] } = known;
    const prompt = sections([
      section('Further constraints', bullets(constraints)),
      section('Also', bullets(procedure)),
      section('Verify as well', bullets(verify)),
    ]);
    return [{ name: feature.replace(/[^A-Za-z0-9_-]+/g, '-'), prompt, inject_into: [...c.blockSteps] }];
  });
}
