import type { Json } from '../../../kernel/json.ts';
import { decodeSource } from '../../../manifest/decode-source.ts';
import type { Diagnostic, Finding } from '../../../manifest/diagnostic.ts';
import type { Issue, IssuePath } from '../../../manifest/issue.ts';
import { MANIFEST_LIMITS } from '../../../manifest/limits.ts';
import { openDocument } from '../../../manifest/open-document.ts';
import { runSchema } from '../../../manifest/schema/run-schema.ts';
import { diagnose, type SourceText } from '../../../manifest/source-text.ts';
import type { LocateQuery } from '../../../manifest/yaml/locate.ts';
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

/** A file's bytes → the workflow in it, and everything that is wrong with it, in its place. Pure. */
export function readWorkrail(file: string, bytes: Uint8Array): ReadWorkrail {
  const decoded = decodeSource(file, bytes);
  if (!decoded.ok) return { diagnostics: [decoded.diagnostic] };
  const { source } = decoded;
  const opened = openDocument(source, { text: source.text, base: 0 }, undefined);
  const value = jsonOf(source.text);
  if (value instanceof SyntaxError) {
    const broken = typeof opened === 'object' && 'diagnostics' in opened ? opened.diagnostics : [];
    return { diagnostics: broken.length > 0 ? broken : [notJson(source, value)] };
  }
  // JSON that the reader of YAML stumbles over (a limit, a tab): it is checked all the same, with the file as its place.
  const placed = opened === 'empty' || 'diagnostics' in opened ? undefined : opened;
  const place = (query: LocateQuery, finding: Finding) =>
    placed === undefined ? diagnose(source, { start: 0, end: 1 }, finding) : placed.diagnose(query, finding);
  const shape = checkShape(value);
  const isWhole = shape.every(({ severity }) => severity === 'warning');
  const issues = [
    ...shape,
    ...checkEntries(value),
    ...(isWhole ? checkWorkrail(value as unknown as WorkrailWorkflow) : []),
  ];
  const problems = (placed?.problems ?? []).map((problem) => problem());
  const found = issues.filter((issue) => placed?.isEcho(issue) !== true).map((issue) => place(issue, issue));
  const diagnostics = [...problems, ...found].slice(0, MANIFEST_LIMITS.diagnostics);
  if (diagnostics.some(({ severity }) => severity === 'error')) return { diagnostics };
  return {
    read: {
      file,
      workflow: value as unknown as WorkrailWorkflow,
      unknown: shape.filter(({ code }) => code === 'unknown_key').map(({ path }) => path),
      lineOf: (path) => placed?.lineOf(path) ?? 1,
    },
    diagnostics,
  };
}

/** WorkRail's own schema knows no further keys; what it does with a file that has some is to leave them. */
function checkShape(value: Json): readonly Issue[] {
  const { issues } = runSchema(workrailWorkflow, value);
  return issues.map((issue) => (issue.code === 'unknown_key' ? { ...issue, severity: 'warning' } : issue));
}

function jsonOf(text: string): Json | SyntaxError {
  try {
    return JSON.parse(text) as Json;
  } catch (thrown) {
    return thrown as SyntaxError;
  }
}

function notJson(source: SourceText, error: SyntaxError): Diagnostic {
  const at = Number(/position (\d+)/.exec(error.message)?.[1] ?? 0);
  return diagnose(
    source,
    { start: at, end: at + 1 },
    {
      severity: 'error',
      code: 'not_json',
      message: 'This is no JSON, which workflows of WorkRail are written in.',
      hint: 'Mend it here, or name another file.',
    },
  );
}
