import type { Json } from '../../kernel/json.ts';
import { err, ok, type Result } from '../../kernel/result.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import type { Issue, IssuePath } from '../../manifest/issue.ts';
import { MANIFEST_LIMITS } from '../../manifest/limits.ts';
import { openDocument } from '../../manifest/open-document.ts';
import { runSchema } from '../../manifest/schema/run-schema.ts';
import { diagnose, type SourceText } from '../../manifest/source-text.ts';
import { checkEntries, checkWorkrail } from './check-workrail.ts';
import { type WorkrailWorkflow, workrailWorkflow } from './shape.ts';

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
  const parsed = jsonOf(source.text);
  if (!parsed.ok || opened === 'empty')
    return { diagnostics: [notJson(source, parsed.ok ? '' : parsed.error)] };
  const { value } = parsed;
  const shape = checkShape(value);
  const isWhole = shape.every(({ severity }) => severity === 'warning');
  const issues = [
    ...shape,
    ...checkEntries(value),
    ...(isWhole ? checkWorkrail(value as unknown as WorkrailWorkflow) : []),
  ];
  const problems = opened.problems.map((problem) => problem());
  const found = issues.filter((issue) => !opened.isEcho(issue)).map((issue) => opened.diagnose(issue, issue));
  const all = [...problems, ...found];
  const hidden = all.length - MANIFEST_LIMITS.diagnostics;
  const diagnostics = hidden > 0 ? [...all.slice(0, -hidden), moreMistakes(source, hidden)] : all;
  if (all.some(({ severity }) => severity === 'error')) return { diagnostics };
  return {
    read: {
      file: source.file,
      workflow: value as unknown as WorkrailWorkflow,
      unknown: shape.filter(({ code }) => code === 'unknown_key').map(({ path }) => path),
      lineOf: opened.lineOf,
    },
    diagnostics,
  };
}

/** WorkRail's own schema knows no further keys; what it does with a file that has some is to leave them. */
function checkShape(value: Json): readonly Issue[] {
  const { issues } = runSchema(workrailWorkflow, value);
  return issues.map((issue) => (issue.code === 'unknown_key' ? { ...issue, severity: 'warning' } : issue));
}

/** The file is to be JSON, whatever else YAML would take in the same place. */
const asJson = (diagnostic: Diagnostic): Diagnostic =>
  diagnostic.code === 'yaml_syntax'
    ? { ...diagnostic, code: 'not_json', hint: 'Mend the JSON here.' }
    : diagnostic;

function jsonOf(text: string): Result<Json, string> {
  try {
    return ok(JSON.parse(text) as Json);
  } catch (thrown) {
    return err((thrown as Error).message);
  }
}

const moreMistakes = (source: SourceText, hidden: number): Diagnostic =>
  diagnose(
    source,
    { start: 0, end: 1 },
    {
      severity: 'warning',
      code: 'more_issues',
      message: `This file has ${hidden} more mistakes and doubts.`,
      hint: 'Fix the ones shown first.',
    },
  );

function notJson(source: SourceText, message: string): Diagnostic {
  const at = Number(/position (\d+)/.exec(message)?.[1] ?? 0);
  return diagnose(
    source,
    { start: at, end: at + 1 },
    {
      severity: 'error',
      code: 'not_json',
      message: 'This is not JSON, which workflows of WorkRail are written in.',
      hint: 'Mend it here, or name another file.',
    },
  );
}
