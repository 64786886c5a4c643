import { suggest } from '../../lib/nearest.ts';
import type { Diagnostic, Issue, IssuePath } from '../../manifest/diagnostic.ts';
import { openDocument } from '../../manifest/open-document.ts';
import { orderIssues, runSchema } from '../../manifest/schema/run-schema.ts';
import { diagnose, type SourceText } from '../../manifest/source-text.ts';
import {
  type LoopStep,
  stepsOf,
  type TaskStep,
  type WorkrailWorkflow,
  workrailWorkflow,
} from './workflow-schema.ts';

/** A file of WorkRail that can be converted. */
export interface WorkrailFile {
  readonly file: string;
  readonly workflow: WorkrailWorkflow;
  /** Keys that no version of WorkRail's schema has. */
  readonly unknown: readonly IssuePath[];
  /** Line from 1 of what a path leads to. */
  readonly lineOf: (path: IssuePath) => number;
}

export interface ReadWorkflow {
  /** Missing if the file has an error. */
  readonly read?: WorkrailFile;
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads and checks a workflow. JSON is also YAML, so the reader of manifests finds the line of each mistake. Pure. */
export function readWorkflow(source: SourceText): ReadWorkflow {
  const opened = openDocument(source, { text: source.text, base: 0 }, undefined);
  if (opened === 'empty') return { diagnostics: [diagnose(source, { start: 0, end: 1 }, EMPTY)] };
  if ('diagnostics' in opened) return { diagnostics: opened.diagnostics.map(asJson) };
  // WorkRail refuses unknown keys. Here they are left, with a warning.
  const shape = runSchema(workrailWorkflow, opened.value).issues.map(
    (issue): Issue => (issue.code === 'unknown_key' ? { ...issue, severity: 'warning' } : issue),
  );
  const workflow = opened.value as unknown as WorkrailWorkflow;
  const isWhole = shape.every(({ severity }) => severity === 'warning');
  const issues = orderIssues([...shape, ...(isWhole ? checkWorkflow(workflow) : [])]);
  const found = issues.filter((issue) => !opened.isEcho(issue)).map((issue) => opened.diagnose(issue, issue));
  const diagnostics = [...opened.problems.map((problem) => problem()), ...found];
  if (diagnostics.some(({ severity }) => severity === 'error')) return { diagnostics };
  const unknown = shape.filter(({ code }) => code === 'unknown_key').map(({ path }) => path);
  return { read: { file: source.file, workflow, unknown, lineOf: opened.lineOf }, diagnostics };
}

const FIX_JSON = 'Fix the JSON, or name another file.';
const EMPTY = { severity: 'error', code: 'not_json', message: 'The file is empty.', hint: FIX_JSON } as const;

/** The user wrote JSON, and need not know that it was read as YAML. */
const asJson = (diagnostic: Diagnostic): Diagnostic =>
  diagnostic.code === 'yaml_syntax' ? { ...diagnostic, code: 'not_json', hint: FIX_JSON } : diagnostic;

/** Checks what no schema of a single value can. */
function checkWorkflow(workflow: WorkrailWorkflow): readonly Issue[] {
  const steps = stepsOf(workflow);
  const ids = steps.map(({ step }) => step.id);
  const assessments = (workflow.assessments ?? []).map(({ id }) => id);
  const bodies = workflow.steps.filter(({ type }) => type !== 'loop').map(({ id }) => id);
  const repeated = steps.filter(({ step }, index) => ids.indexOf(step.id) < index);
  const issues = repeated.map(({ step, path }) =>
    error([...path, 'id'], 'duplicate', `Two steps have the id "${step.id}".`),
  );
  for (const { step, path } of steps)
    if (step.type === 'loop') issues.push(...checkLoop(step, path, bodies));
    else if (step.type === undefined) issues.push(...checkTask(step, path, assessments));
  return issues;
}

function checkTask(step: TaskStep, path: IssuePath, assessments: readonly string[]): readonly Issue[] {
  const { prompt, promptBlocks, promptFragments, templateCall, assessmentRefs = [] } = step;
  const issues = assessmentRefs.flatMap((ref, index) => {
    if (assessments.includes(ref)) return [];
    const hint = suggest(ref, assessments, 'Assessments');
    return [
      error(
        [...path, 'assessmentRefs', index],
        'unknown_assessment',
        `There is no assessment "${ref}".`,
        hint,
      ),
    ];
  });
  if ((prompt ?? promptBlocks ?? promptFragments ?? templateCall) === undefined)
    issues.push(error(path, 'missing', 'A step needs "prompt", "promptBlocks" or "templateCall".'));
  return issues;
}

function checkLoop({ loop, body }: LoopStep, path: IssuePath, bodies: readonly string[]): readonly Issue[] {
  const { type, count, items, condition, conditionSource: source } = loop;
  const at = [...path, 'loop'];
  const issues: Issue[] = [];
  const need = (keys: string) => issues.push(error(at, 'missing', `A loop of type ${type} needs ${keys}.`));
  if (type === 'for' && count === undefined) need('"count"');
  if (type === 'forEach' && items === undefined) need('"items"');
  if (type === 'while' || type === 'until') {
    if ((condition ?? source) === undefined) need('"condition" or "conditionSource"');
    if (source?.kind === 'context_variable' && source.condition === undefined)
      issues.push(error([...at, 'conditionSource'], 'missing', '"conditionSource" also needs "condition".'));
  }
  if (typeof body === 'string' && !bodies.includes(body)) {
    const message = `There is no step "${body}" for the loop to run.`;
    issues.push(error([...path, 'body'], 'unknown_step', message, suggest(body, bodies, 'Steps')));
  }
  return issues;
}

const error = (path: IssuePath, code: string, message: string, hint?: string): Issue => ({
  severity: 'error',
  code,
  path,
  at: 'value',
  message,
  ...(hint === undefined ? {} : { hint }),
});
