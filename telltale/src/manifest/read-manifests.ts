import type { Json } from '../kernel/json.ts';
import { checkManifest, type Manifest } from './check-manifest.ts';
import type { Diagnostic, Finding, Span } from './diagnostic.ts';
import type { Env } from './env/substitute-env.ts';
import type { Issue, IssuePath } from './issue.ts';
import { MANIFEST_LIMITS } from './limits.ts';
import { redactFinding } from './redact.ts';
import { diagnose, positionAt, type SourceText } from './source-text.ts';
import { composeDocument } from './yaml/compose-document.ts';
import { type LocateQuery, locate } from './yaml/locate.ts';
import { readValue } from './yaml/read-value.ts';
import { type DocumentText, splitDocuments } from './yaml/split-documents.ts';
import { syntaxFindings } from './yaml/syntax-findings.ts';

/** One document of a file, as far as it could be read. */
export interface ReadDocument {
  /** Environment variables put in; nothing else done to it. */
  readonly value: Json;
  /** Only where the document has no error. */
  readonly manifest?: Manifest;
  /** Puts a finding about this document in its place, with nothing of the environment's in its words. */
  readonly diagnose: (query: LocateQuery, finding: Finding) => Diagnostic;
  /** Line from 1 of what a path leads to. */
  readonly lineOf: (path: IssuePath) => number;
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
 * checked further (its tree would be a guess) and does not keep the others from being checked.
 */
export function readManifests(source: SourceText, env: Env): ReadManifests {
  const texts = splitDocuments(source.text, MANIFEST_LIMITS.documents);
  const diagnostics: Diagnostic[] = [];
  const documents: ReadDocument[] = [];
  let count = 0;
  for (const text of texts.slice(0, MANIFEST_LIMITS.documents)) {
    const read = readDocument(source, text, env);
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

function readDocument(source: SourceText, part: DocumentText, env: Env): ReadPart | 'empty' {
  const { text, base } = part;
  const place = (span: Span, finding: Finding) =>
    diagnose(source, { start: base + span.start, end: base + span.end }, finding);
  const composed = composeDocument(part);
  if ('refused' in composed)
    return { documents: [], diagnostics: [diagnose(source, composed.span, composed.refused)] };
  const { document, errors } = composed;
  const broken = syntaxFindings(document, errors, text);
  if (broken.length > 0)
    return { documents: [], diagnostics: broken.map(({ span, finding }) => place(span, finding)) };
  const { version } = document.directives.yaml;
  if (version !== '1.2')
    return { documents: [], diagnostics: [place({ start: 0, end: 1 }, yamlVersion(version))] };
  if (document.contents === null || isBlank(text)) return 'empty';

  const lineOf = (offset: number) => positionAt(source, base + offset).line;
  const read = readValue(document.contents, text, env, lineOf);
  const secrets = [...read.substituted.values()].flatMap(({ used }) => used);
  const diagnosePlaced = (query: LocateQuery, finding: Finding) => {
    const { span, node } = locate(document.contents, text, read, query);
    const here = [...read.substituted].filter(([scalar]) => isWithin(scalar.range, node?.range));
    return place(
      span,
      redactFinding(
        finding,
        here.flatMap(([, { used }]) => used),
        secrets,
      ),
    );
  };
  const lineOfPath = (path: IssuePath) =>
    lineOf(locate(document.contents, text, read, { path, at: 'value' }).span.start);
  /** What could not be read counts as null or is left out: complaints about that are echoes. */
  const isEcho = (issue: Issue) => {
    const { span, node } = locate(document.contents, text, read, issue);
    return read.problems.some(
      (problem) =>
        overlaps(problem.span, span) ||
        (issue.code === 'missing' &&
          !!node?.range &&
          overlaps(problem.span, { start: node.range[0], end: node.range[1] })),
    );
  };

  const diagnostics = read.problems.map(({ span, finding }) => place(span, finding));
  if (read.isCut) return { documents: [], diagnostics };
  const checked = checkManifest(read.value);
  // Finding a place costs a walk through the tree, so only as many are placed as can be shown.
  for (const issue of checked.issues.slice(0, MANIFEST_LIMITS.diagnostics))
    if (!isEcho(issue)) diagnostics.push(diagnosePlaced(issue, issue));
  const left = checked.issues.length - MANIFEST_LIMITS.diagnostics;
  if (left > 0) diagnostics.push(place({ start: 0, end: 1 }, tooManyErrors(left)));
  const isWhole = checked.manifest !== undefined && read.problems.length === 0;
  return {
    documents: [
      {
        value: read.value,
        ...(isWhole ? { manifest: checked.manifest } : {}),
        diagnose: diagnosePlaced,
        lineOf: lineOfPath,
      },
    ],
    diagnostics,
  };
}

const overlaps = (a: Span, b: Span) => a.start < b.end && b.start < a.end;

type NodeRange = readonly [number, number, number] | null | undefined;

const isWithin = (inner: NodeRange, outer: NodeRange) =>
  !!inner && !!outer && inner[0] >= outer[0] && inner[1] <= outer[1];

const isBlank = (text: string) => /^(?:---|\.\.\.|\s|#.*)*$/.test(text);

const TOO_MANY_DOCUMENTS: Finding = {
  severity: 'error',
  code: 'too_many_documents',
  message: `The file holds more than ${MANIFEST_LIMITS.documents} documents.`,
  hint: 'Split it into several files.',
};

const tooManyErrors = (left: number): Finding => ({
  severity: 'error',
  code: 'too_many_errors',
  message: `This document has ${left.toLocaleString('en')} more mistakes.`,
  hint: 'Mend the ones that are shown first.',
});

const emptyFile = (text: string): Finding => ({
  severity: 'error',
  code: 'empty_file',
  message: text.trim() === '' ? 'The file is empty.' : 'The file holds nothing but comments.',
  hint: 'A manifest begins with "kind: Agent" (or Tool, Relic, Artifact, Workflow).',
});

const yamlVersion = (version: string): Finding => ({
  severity: 'error',
  code: 'yaml_version',
  message: `The document says it is YAML ${version}; manifests are YAML 1.2.`,
  hint: 'Delete the %YAML line.',
});
