import type { Json } from '../lib/json.ts';
import { checkManifest, type Manifest } from './check-manifest.ts';
import { type Diagnostic, type Finding, type IssuePath, MANIFEST_LIMITS, type Span } from './diagnostic.ts';
import type { Env, EnvValue } from './environment.ts';
import { openDocument } from './open-document.ts';
import { VARIABLE_CLASSES } from './schema/checks/check-variables.ts';
import { isMap } from './schema/plain-values.ts';
import { settleKind } from './settle-kind.ts';
import { diagnose, type SourceText } from './source-text.ts';
import type { VariablesBeside } from './variables-file.ts';
import { type DocumentText, splitDocuments } from './yaml/compose-document.ts';
import type { LocateQuery } from './yaml/locate.ts';

/** One document of a file, as far as it could be read. */
export interface ReadDocument {
  /** Includes environment variables, and the variables from a context_variables.json next to an agent. */
  readonly value: Json;
  /** Only if the document has no error. */
  readonly manifest?: Manifest;
  /** Adds the position to a finding about this document, and hides values of environment variables in its text. */
  readonly diagnose: (query: LocateQuery, finding: Finding) => Diagnostic;
  /** The line number, from 1, of a path. */
  readonly lineOf: (path: IssuePath) => number;
  /** The variables that were inserted. */
  readonly fromEnv?: readonly EnvValue[];
  /** The parts of a manifest written in code that are not JSON. */
  readonly code?: object;
}

export interface ReadManifests {
  /** The documents with readable YAML. */
  readonly documents: readonly ReadDocument[];
  /** The number of documents that are not empty, including broken ones. */
  readonly count: number;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Turns source text into manifests, and finds everything that is wrong with them. A document with broken YAML is not
 * checked further, because its tree would be a guess, but the other documents are. `beside` adds its variables to
 * agents.
 */
export function readManifests(source: SourceText, env: Env, beside?: VariablesBeside): ReadManifests {
  const texts = splitDocuments(source.text, MANIFEST_LIMITS.documents);
  const diagnostics: Diagnostic[] = [];
  const documents: ReadDocument[] = [];
  let count = 0;
  for (const text of texts.slice(0, MANIFEST_LIMITS.documents)) {
    const read = readDocument(source, text, env, beside);
    if (read === 'empty') continue;
    count++;
    diagnostics.push(...read.diagnostics);
    documents.push(...read.documents);
  }
  if (texts.length > MANIFEST_LIMITS.documents) {
    const base = texts[MANIFEST_LIMITS.documents]?.base ?? 0;
    diagnostics.push(diagnose(source, { start: base, end: base + 3 }, TOO_MANY_DOCUMENTS));
  } else if (count === 0) diagnostics.push(diagnose(source, { start: 0, end: 1 }, emptyFile(source.text)));
  return { documents, count, diagnostics };
}

type ReadPart = Pick<ReadManifests, 'documents' | 'diagnostics'>;

function readDocument(
  source: SourceText,
  part: DocumentText,
  env: Env,
  beside: VariablesBeside | undefined,
): ReadPart | 'empty' {
  const opened = openDocument(source, part, env);
  if (opened === 'empty') return 'empty';
  if ('diagnostics' in opened) return { documents: [], diagnostics: opened.diagnostics };
  const { problems, place, isCut } = opened;
  if (isCut) return { documents: [], diagnostics: limited(problems, place) };
  const settled = settleKind(opened.value);
  const merged = mergeVariables(settled.kind === undefined ? opened.value : settled.document, beside);
  const placeOf = (path: IssuePath) => {
    const moved = merged.pathBeside(path);
    return beside?.document === undefined || moved === undefined
      ? { document: opened, path }
      : { document: beside.document, path: moved };
  };
  const isUnread = merged.isJoined && beside?.document === undefined;
  const diagnosePlaced = (query: LocateQuery, finding: Finding) => {
    const { document, path } = placeOf(query.path);
    return document.diagnose({ ...query, path }, finding);
  };
  const checked = checkManifest(merged.value);
  const ofKind = settled.kind === undefined ? [] : settled.issues;
  const issues = [...ofKind, ...checked.issues].filter((issue) => {
    const { document, path } = placeOf(issue.path);
    if (isUnread && issue.code === 'unknown_name') return false;
    return !document.isEcho({ ...issue, path });
  });
  const diagnostics = limited(
    [...problems, ...issues.map((issue) => () => diagnosePlaced(issue, issue))],
    place,
  );
  const isWhole =
    checked.manifest !== undefined &&
    problems.length + ofKind.length === 0 &&
    !(merged.isJoined && beside?.isBroken);
  return {
    documents: [
      {
        value: merged.value,
        ...(isWhole ? { manifest: checked.manifest } : {}),
        diagnose: diagnosePlaced,
        lineOf: opened.lineOf,
        fromEnv: [...opened.fromEnv, ...(beside?.document?.fromEnv ?? [])],
      },
    ],
    diagnostics,
  };
}

/** Finding a position takes a walk through the tree, so only the findings that are shown get one. */
function limited(
  findings: readonly (() => Diagnostic)[],
  place: (span: Span, finding: Finding) => Diagnostic,
): readonly Diagnostic[] {
  const shown = findings.slice(0, MANIFEST_LIMITS.diagnostics).map((finding) => finding());
  const left = findings.length - shown.length;
  return left === 0 ? shown : [...shown, place({ start: 0, end: 1 }, tooManyErrors(left))];
}

const TOO_MANY_DOCUMENTS: Finding = {
  severity: 'error',
  code: 'too_many_documents',
  message: `The file contains more than ${MANIFEST_LIMITS.documents} documents.`,
  hint: 'Split it into several files.',
};

const tooManyErrors = (left: number): Finding => ({
  severity: 'error',
  code: 'too_many_errors',
  message: `This document has at least ${left.toLocaleString('en')} more errors.`,
  hint: 'Fix the errors above first.',
});

const emptyFile = (text: string): Finding => ({
  severity: 'error',
  code: 'empty_file',
  message: text.trim() === '' ? 'The file is empty.' : 'The file contains only comments.',
  hint: 'A manifest begins with "kind: Agent" (or Tool, Relic, Artifact, Workflow).',
});

export interface MergedVariables {
  readonly value: Json;
  /** Whether the variables file next to the document is merged into it. */
  readonly isJoined: boolean;
  /** The path in the variables file that a path of `value` comes from. Undefined for the manifest's own parts. */
  readonly pathBeside: (path: IssuePath) => IssuePath | undefined;
}

/**
 * Appends the variables of the file next to an agent to its own, class by class, so that both are checked together: a
 * name in both is a duplicate, and expressions of one may read variables of the other. Other documents do not change.
 */
function mergeVariables(document: Json, beside: VariablesBeside | undefined): MergedVariables {
  const alone = { value: document, isJoined: false, pathBeside: () => undefined };
  if (beside === undefined || !isMap(document) || document.kind !== 'Agent') return alone;
  const own = document.context_variables ?? {};
  if (!isMap(own)) return alone;
  const firstBeside = new Map<string, number>();
  const merged: Record<string, Json> = { ...own };
  for (const name of VARIABLE_CLASSES) {
    const mine = own[name] ?? [];
    if (!Array.isArray(mine) || beside.lists[name].length === 0) continue;
    firstBeside.set(name, mine.length);
    merged[name] = [...mine, ...beside.lists[name]];
  }
  return {
    value: { ...document, context_variables: merged },
    isJoined: true,
    pathBeside: ([top, name, index, ...rest]) => {
      const first = top === 'context_variables' ? firstBeside.get(String(name)) : undefined;
      if (first === undefined || typeof index !== 'number' || index < first) return undefined;
      return ['context_variables', `${name}_variables`, index - first, ...rest];
    },
  };
}
