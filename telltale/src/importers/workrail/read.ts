import type { Json } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Diagnostic, Issue, IssuePath } from '../../manifest/diagnostic.ts';
import { MANIFEST_LIMITS } from '../../manifest/diagnostic.ts';
import { openDocument } from '../../manifest/open-document.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { runSchema } from '../../manifest/schema/run-schema.ts';
import { diagnose, type SourceText } from '../../manifest/source-text.ts';
import { type LoopStep, stepsOf, type TaskStep, type WorkrailWorkflow, workrailWorkflow } from './shape.ts';

/** A file of WorkRail that can be converted. */
export interface WorkrailFile {
  readonly file: string;
  readonly workflow: WorkrailWorkflow;
  /** Keys that no version of WorkRail's schema has. */
  readonly unknown: readonly IssuePath[];
  /** Line from 1 of what a path leads to. */
  readonly lineOf: (path: IssuePath) => number;
}

export interface ReadWorkrail {
  /** Only where nothing is wrong with it; what is doubtful is a warning. */
  readonly read?: WorkrailFile;
  readonly diagnostics: readonly Diagnostic[];
}

/** A file's text → the workflow in it, and everything that is wrong with it, in its place. Pure. */
export function readWorkrail(source: SourceText): ReadWorkrail {
  const opened = openDocument(source, { text: source.text, base: 0 }, undefined);
  // What is over a limit or no YAML either: JSON is a part of YAML, and the reader of that knows where it broke.
  if (opened !== 'empty' && 'diagnostics' in opened) return { diagnostics: opened.diagnostics.map(asJson) };
  let value: Json;
  try {
    value = JSON.parse(source.text) as Json;
  } catch (thrown) {
    return { diagnostics: [notJson(source, (thrown as Error).message)] };
  }
  if (opened === 'empty') return { diagnostics: [notJson(source, '')] };
  // WorkRail's own schema knows no further keys; what it does with a file that has some is to leave them.
  const shape = runSchema(workrailWorkflow, value).issues.map(
    (issue): Issue => (issue.code === 'unknown_key' ? { ...issue, severity: 'warning' } : issue),
  );
  const workflow = value as unknown as WorkrailWorkflow;
  const isWhole = shape.every(({ severity }) => severity === 'warning');
  const issues = [...shape, ...checkEntries(value), ...(isWhole ? checkWorkrail(workflow) : [])];
  const found = issues.filter((issue) => !opened.isEcho(issue)).map((issue) => opened.diagnose(issue, issue));
  const all = [...opened.problems.map((problem) => problem()), ...found];
  const hidden = all.length - MANIFEST_LIMITS.diagnostics;
  const diagnostics = hidden > 0 ? [...all.slice(0, -hidden), moreMistakes(source, hidden)] : all;
  if (all.some(({ severity }) => severity === 'error')) return { diagnostics };
  const unknown = shape.filter(({ code }) => code === 'unknown_key').map(({ path }) => path);
  return { read: { file: source.file, workflow, unknown, lineOf: opened.lineOf }, diagnostics };
}

/** The file is to be JSON, whatever else YAML would take in the same place. */
const asJson = (diagnostic: Diagnostic): Diagnostic =>
  diagnostic.code === 'yaml_syntax'
    ? { ...diagnostic, code: 'not_json', hint: 'Fix the JSON here.' }
    : diagnostic;

const moreMistakes = (source: SourceText, hidden: number): Diagnostic => {
  const message = `This file has ${hidden} more mistakes and doubts.`;
  const finding = {
    severity: 'warning',
    code: 'more_issues',
    message,
    hint: 'Fix the ones shown first.',
  } as const;
  return diagnose(source, { start: 0, end: 1 }, finding);
};

function notJson(source: SourceText, problem: string): Diagnostic {
  const at = Number(/position (\d+)/.exec(problem)?.[1] ?? 0);
  const message = 'This is not JSON, which workflows of WorkRail are written in.';
  const hint = 'Fix it here, or name another file.';
  return diagnose(source, { start: at, end: at + 1 }, { severity: 'error', code: 'not_json', message, hint });
}

/** Entries that stand in a list twice: WorkRail refuses them, and nothing is lost by them. */
function checkEntries(value: Json): readonly Issue[] {
  if (!isMap(value)) return [];
  return ['preconditions', 'clarificationPrompts', 'metaGuidance', 'features'].flatMap((key) => {
    const list = value[key];
    if (!Array.isArray(list)) return [];
    return list.flatMap((entry, index) =>
      list.indexOf(entry) < index
        ? [warning([key, index], 'duplicate', `Entry ${index + 1} of "${key}" stands there already.`)]
        : [],
    );
  });
}

/** What no schema of one value can see. */
function checkWorkrail(workflow: WorkrailWorkflow): readonly Issue[] {
  const steps = stepsOf(workflow);
  const ids = steps.map(({ step }) => step.id);
  const assessments = (workflow.assessments ?? []).map(({ id }) => id);
  return [
    ...(workflow.version === undefined
      ? [warning([], 'missing', 'The workflow has no "version", which WorkRail asks for.')]
      : []),
    ...steps.flatMap(({ step: { id }, path }, index) =>
      ids.indexOf(id) < index ? [error([...path, 'id'], 'duplicate', `Two steps have the id "${id}".`)] : [],
    ),
    ...steps.flatMap(({ step, path }) => {
      if (step.type === 'loop') return checkLoop(step, path, workflow);
      return step.type === 'parallel' ? [] : checkTask(step, path, assessments);
    }),
  ];
}

function checkTask(step: TaskStep, path: IssuePath, assessments: readonly string[]): readonly Issue[] {
  const { prompt, promptBlocks, promptFragments, templateCall, assessmentRefs = [] } = step;
  const isEmpty = (prompt ?? promptBlocks ?? promptFragments ?? templateCall) === undefined;
  const lost = assessmentRefs.flatMap((ref, index) => {
    if (assessments.includes(ref)) return [];
    const hint = suggest(ref, assessments, 'Assessments');
    const at = [...path, 'assessmentRefs', index];
    return [error(at, 'unknown_assessment', `There is no assessment "${ref}".`, hint)];
  });
  return isEmpty
    ? [error(path, 'missing', 'A step needs "prompt", "promptBlocks" or "templateCall".'), ...lost]
    : lost;
}

function checkLoop({ loop, body }: LoopStep, path: IssuePath, { steps }: WorkrailWorkflow): readonly Issue[] {
  const at = [...path, 'loop'];
  const { type, condition, conditionSource: source } = loop;
  const lacks = (keys: string) => [error(at, 'missing', `A loop of type ${type} needs ${keys}.`)];
  const bodies = steps.filter((step) => step.type !== 'loop').map(({ id }) => id);
  const lost =
    typeof body !== 'string' || bodies.includes(body)
      ? []
      : [
          error(
            [...path, 'body'],
            'unknown_step',
            `There is no step "${body}" for the loop to run.`,
            suggest(body, bodies, 'Steps'),
          ),
        ];
  if (type === 'for') return loop.count === undefined ? [...lacks('"count"'), ...lost] : lost;
  if (type === 'forEach') return loop.items === undefined ? [...lacks('"items"'), ...lost] : lost;
  if (source?.kind === 'context_variable' && source.condition === undefined)
    return [error([...at, 'conditionSource'], 'missing', 'It needs "condition" beside its kind.'), ...lost];
  return condition === undefined && source === undefined
    ? [...lacks('"condition" or "conditionSource"'), ...lost]
    : lost;
}

const issue =
  (severity: Issue['severity']) =>
  (path: IssuePath, code: string, message: string, hint?: string): Issue => ({
    severity,
    code,
    path,
    at: 'value',
    message,
    ...(hint === undefined ? {} : { hint }),
  });
const error = issue('error');
const warning = issue('warning');
