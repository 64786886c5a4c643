import type { JsonObject } from '../../kernel/json.ts';
import { createNames } from '../names.ts';
import { createReport, type Entry } from '../report.ts';
import { createChecks } from './checks.ts';
import { type Around, type Conversion, type ConvertOptions, computedStep } from './conversion.ts';
import { convertLoop } from './convert-loop.ts';
import { convertParallel } from './convert-parallel.ts';
import { convertTask } from './convert-task.ts';
import { expandTemplate } from './expand-template.ts';
import { featuresOf, guidanceOf } from './guidance.ts';
import { isArtifactLoop, type PlacedBody } from './loop-body.ts';
import { namedVariables } from './named-variables.ts';
import { noteRest, noteUnknown, noteUnsaid } from './note-rest.ts';
import type { WorkrailFile } from './read-workrail.ts';
import type { WorkrailWorkflow } from './shape.ts';
import type { BodyStep, LoopStep } from './shape-step.ts';
import { plainText } from './to-template.ts';
import { createVariables } from './variables.ts';

export interface Converted {
  /** The name of the workflow. */
  readonly name: string;
  readonly workflow: JsonObject;
  /** What judges notes, where a step has criteria. */
  readonly checks?: JsonObject;
  readonly entries: readonly Entry[];
  /** Steps of `workflow`, with the ids of what they were made of. */
  readonly origins: ReadonlyMap<JsonObject, string>;
  /** Tiers of models that steps ask for, each with its agent. */
  readonly tiers: ReadonlyMap<string, string>;
  /** What is for people to read and has no key here. */
  readonly about: readonly string[];
}

const WORKFLOW = { step: null, path: [] } as const;

/** A workflow of WorkRail as one of ours, and what became of each part of it. Pure. */
export function convertWorkflow(
  { workflow, unknown, lineOf }: WorkrailFile,
  name: string,
  options: ConvertOptions,
): Converted {
  const c: Conversion = {
    workflow,
    options,
    report: createReport(lineOf),
    stepNames: createNames(),
    variables: createVariables(),
    checks: createChecks(),
    checksName: `${name}-checks`,
    blockSteps: [],
    computed: undefined,
    tiers: new Map(),
    origins: new Map(),
  };
  c.report.note(WORKFLOW, 'id', name === workflow.id ? 'kept' : 'changed', `the name ${name}`);
  const steps = convertSteps(workflow, c);
  const guidance = guidanceOf(workflow, steps, c);
  for (const text of workflow.metaGuidance ?? [])
    for (const each of namedVariables(text)) c.variables.named(each);
  const references = referencesOf(workflow, c);
  const features = featuresOf(workflow.features ?? [], c);
  const about = noteRest(workflow, c);
  const runtime = c.variables.manifest();
  noteUnknown(workflow, unknown, c);
  noteUnsaid(workflow, c);
  const checks = c.checks.manifest(c.checksName, name);
  return {
    name,
    workflow: {
      kind: 'Workflow',
      name,
      ...(workflow.version === undefined ? {} : { version: workflow.version }),
      description: plainText(workflow.description),
      input: {
        type: 'object',
        properties: { goal: { type: 'string', description: 'What is to be done.' } },
      },
      ...(runtime.length === 0 ? {} : { context_variables: { runtime } }),
      ...(references.length === 0 ? {} : { references }),
      components: [guidance, ...features],
      steps,
    },
    ...(checks === undefined ? {} : { checks }),
    entries: c.report.entries(),
    origins: c.origins,
    about,
    tiers: c.tiers,
  };
}

function convertSteps(workflow: WorkrailWorkflow, c: Conversion): readonly JsonObject[] {
  const { steps } = workflow;
  const bodies = new Set(
    steps.flatMap((step) => (step.type === 'loop' && typeof step.body === 'string' ? [step.body] : [])),
  );
  const bodyOf = (step: LoopStep, index: number): readonly PlacedBody[] => {
    const written =
      typeof step.body === 'string'
        ? steps.flatMap((each, at) =>
            each.id === step.body ? [{ step: each as BodyStep, path: ['steps', at] }] : [],
          )
        : step.body.map((each, nth) => ({ step: each, path: ['steps', index, 'body', nth] }));
    return written.flatMap((placed) => expandTemplate(placed, c));
  };
  const loops = steps.flatMap((step, index) =>
    step.type === 'loop' ? [{ step, index, body: bodyOf(step, index) }] : [],
  );
  const decisions = new Map(
    loops
      .filter(({ step, body }) =>
        isArtifactLoop(
          step,
          body.map((each) => each.step),
        ),
      )
      .map(({ step, index }) => {
        const wanted = `${step.loop.conditionSource?.loopId ?? step.id}_decision`;
        return [index, c.variables.own(wanted, 'Whether the loop goes on: continue or stop.')] as const;
      }),
  );
  return steps.flatMap((step, index): readonly JsonObject[] => {
    if (bodies.has(step.id)) return [];
    const decision = [...decisions].find(([at]) => at >= index)?.[1];
    const around: Around = { path: ['steps', index], names: new Map(), decision, functions: [] };
    if (step.type !== 'loop')
      return expandTemplate({ step, path: around.path }, c).flatMap((placed) =>
        convertBody(placed.step, { ...around, path: placed.path }, c),
      );
    const body = loops.find((each) => each.index === index)?.body ?? [];
    return convertLoop(step, body, { ...around, decision: decisions.get(index) }, c, (each, inside) =>
      convertBody(each, inside, c),
    );
  });
}

function convertBody(step: BodyStep, around: Around, c: Conversion): readonly JsonObject[] {
  const steps = step.type === 'parallel' ? convertParallel(step, around, c) : convertTask(step, around, c);
  return [...computedStep(c), ...steps];
}

function referencesOf({ references = [] }: WorkrailWorkflow, { report }: Conversion): readonly JsonObject[] {
  return references.map(({ id, title, source, purpose, authoritative, resolveFrom }) => {
    if (resolveFrom === 'package')
      report.note(
        WORKFLOW,
        `references ${id}`,
        'changed',
        `${source} is a file of WorkRail's package: copy it, or change "source"`,
      );
    else report.note(WORKFLOW, `references ${id}`, 'kept', 'reference');
    return {
      title: plainText(title),
      source: plainText(source),
      purpose: plainText(purpose),
      ...(authoritative ? { authoritative } : {}),
    };
  });
}
