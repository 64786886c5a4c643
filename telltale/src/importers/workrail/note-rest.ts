import type { Json } from '../../kernel/json.ts';
import type { IssuePath } from '../../manifest/issue.ts';
import type { Entry } from '../report.ts';
import type { Conversion } from './conversion.ts';
import type { WorkrailWorkflow } from './shape.ts';
import { stepsOf } from './steps-of.ts';

const WORKFLOW = { step: null, path: [] } as const;

/** Keys of the workflow that no step shows. */
export function noteRest(workflow: WorkrailWorkflow, { report, variables }: Conversion): readonly string[] {
  const { name, about, examples = [], modelTier, metricsProfile, recommendedPreferences } = workflow;
  const note = (key: keyof WorkrailWorkflow, outcome: Entry['outcome'], how: string) => {
    if (workflow[key] !== undefined) report.note(WORKFLOW, key, outcome, how);
  };
  note('name', 'kept', 'first line of the file');
  note('description', 'kept', 'description');
  note('version', 'kept', 'version');
  note('steps', 'kept', 'steps');
  note('about', 'kept', 'comment at the head of the file');
  note('examples', 'kept', 'comment at the head of the file');
  note('assessments', 'kept', 'in the verifiers of the steps that name them');
  note('functionDefinitions', 'kept', 'in the prompts of the steps that refer to them');
  note('extensionPoints', 'changed', 'each stands for its default; .workrail/bindings.json is not read');
  note('modelTier', 'changed', `${modelTier}: the model of the agent that --agent makes`);
  note(
    'recommendedPreferences',
    'left',
    `${Object.values(recommendedPreferences ?? {}).join(', ')}: who is asked is said at each step`,
  );
  note('validatedAgainstSpecVersion', 'left', "it is about WorkRail's own schema");
  note(
    'metricsProfile',
    metricsProfile === 'none' ? 'kept' : 'changed',
    metricsProfile === 'none' ? 'nothing is asked for' : 'the log has time, tokens and cost of each step',
  );
  for (const [from, to] of variables.renamed())
    report.note(WORKFLOW, `variable ${from}`, 'changed', `it is called ${to}: a name that can stand in CEL`);
  return [
    name,
    ...(about === undefined ? [] : [about]),
    ...examples.map((each) => `For example: ${typeof each === 'string' ? each : JSON.stringify(each)}`),
  ];
}

/** Keys that are not WorkRail's, wherever they stand. */
export function noteUnknown(
  workflow: WorkrailWorkflow,
  unknown: readonly IssuePath[],
  { report }: Conversion,
): void {
  const steps = [...stepsOf(workflow)];
  for (const path of unknown) {
    const found = steps.findLast((each) => each.path.every((part, index) => path[index] === part));
    const place = { step: found?.step.id ?? null, path: found?.path ?? [] };
    const construct = path.slice(place.path.length).join('.');
    report.note(place, construct, 'left', 'no version of WorkRail has this key');
  }
}

/** Whatever a file holds and nobody has spoken of yet is left, and said to be. */
export function noteUnsaid(workflow: WorkrailWorkflow, { report }: Conversion): void {
  const rest = (
    value: object,
    place: { readonly step: string | null; readonly path: readonly (string | number)[] },
  ) => {
    for (const key of Object.keys(value))
      if (
        !report.has(place, key) &&
        !SILENT.has(key) &&
        (value as Readonly<Record<string, Json>>)[key] !== undefined
      )
        report.note(place, key, 'left', 'nothing here corresponds to it');
  };
  rest(workflow, WORKFLOW);
  for (const { step, path } of stepsOf(workflow)) rest(step, { step: step.id, path });
}

/** Keys that say nothing by themselves. */
const SILENT: ReadonlySet<string> = new Set(['$schema', 'type']);
