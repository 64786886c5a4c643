import type { Json } from '../lib/json.ts';
import { checkManifest, type Manifest } from './check-manifest.ts';
import type { Diagnostic, Finding, IssuePath, Span } from './diagnostic.ts';
import { MANIFEST_LIMITS } from './diagnostic.ts';
import type { EnvValue } from './env/hide-env.ts';
import type { Env } from './env/substitute-env.ts';
import { openDocument } from './open-document.ts';
import { VARIABLE_CLASSES } from './schema/checks/check-variables.ts';
import { isMap } from './schema/plain-values.ts';
import { settleKind } from './settle-kind.ts';
import { diagnose, type SourceText } from './source-text.ts';
import type { VariablesBeside } from './variables/read-variables.ts';
import { type DocumentText, splitDocuments } from './yaml/compose-document.ts';
import type { LocateQuery } from './yaml/locate.ts';

/** One document of a file, as far as it could be read. */
export interface ReadDocument {
  /** Environment variables put in, and what a context_variables.json beside an agent adds. */
  readonly value: Json;
  /** Only where the document has no error. */
  readonly manifest?: Manifest;
  /** Puts a finding about this document in its place, with nothing of the environment's in its words. */
  readonly diagnose: (query: LocateQuery, finding: Finding) => Diagnostic;
  /** Line from 1 of what a path leads to. */
  readonly lineOf: (path: IssuePath) => number;
  /** The variables that were put in. */
  readonly fromEnv?: readonly EnvValue[];
  /** What belongs to it and is not JSON, where it was written in code. */
  readonly code?: object;
}

export interface ReadManifests {
  /** Those whose YAML could be read. */
  readonly documents: readonly ReadDocument[];
  /** Documents that are not empty, broken ones included. */
  readonly count: number;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Source text → manifests and everything that is wrong with them. Pure. A document whose YAML is broken is not
 * checked further (its tree would be a guess) and does not keep the others from being checked. `beside` joins agents.
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

/** Finding a place costs a walk through the tree, so only as many are placed as are shown. */
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
  /** Whether the document is an agent that the file beside it joins. */
  readonly isJoined: boolean;
  /** Where in the file beside it stands what a path of `value` leads to; undefined for what is the manifest's own. */
  readonly pathBeside: (path: IssuePath) => IssuePath | undefined;
}

/**
 * An agent with the variables of the file beside it behind its own, class by class, so that both are checked together:
 * a name in both is a duplicate, and expressions of one may read variables of the other. Other documents stay as they are.
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
