import { isCollection, isScalar, type ParsedNode } from 'yaml';
import type { Json } from '../kernel/json.ts';
import type { Diagnostic, Finding, Span } from './diagnostic.ts';
import type { EnvValue } from './env/hide-env.ts';
import type { Env } from './env/substitute-env.ts';
import type { Issue, IssuePath } from './issue.ts';
import { redactFinding } from './redact.ts';
import { diagnose, positionAt, type SourceText } from './source-text.ts';
import { composeDocument } from './yaml/compose-document.ts';
import { type LocateQuery, locate } from './yaml/locate.ts';
import { readPlainScalar } from './yaml/plain-scalar.ts';
import { readValue } from './yaml/read-value.ts';
import type { DocumentText } from './yaml/split-documents.ts';
import { syntaxFindings } from './yaml/syntax-findings.ts';

/** A document whose YAML could be read, before anything is said of what it holds. */
export interface OpenDocument {
  /** Environment variables put in, where there are any; nothing else done to it. */
  readonly value: Json;
  /** The variables that were put in. */
  readonly fromEnv: readonly EnvValue[];
  /** Whether it is over a limit, so that `value` holds only a part. */
  readonly isCut: boolean;
  /** What could not be read as JSON, each placed when it is asked for. */
  readonly problems: readonly (() => Diagnostic)[];
  readonly place: (span: Span, finding: Finding) => Diagnostic;
  /** Puts a finding about this document in its place, with nothing of the environment's in its words. */
  readonly diagnose: (query: LocateQuery, finding: Finding) => Diagnostic;
  /** Line from 1 of what a path leads to. */
  readonly lineOf: (path: IssuePath) => number;
  /** What could not be read counts as null or is left out: complaints about that are echoes. */
  readonly isEcho: (issue: Issue) => boolean;
}

export type Opened = OpenDocument | 'empty' | { readonly diagnostics: readonly Diagnostic[] };

/** Reads one document's YAML; without an `env`, `${…}` stays as it is written. Pure. */
export function openDocument(source: SourceText, part: DocumentText, env: Env | undefined): Opened {
  const { text, base } = part;
  const inFile = (span: Span): Span => ({ start: base + span.start, end: base + span.end });
  const place = (span: Span, finding: Finding, from: readonly Span[] = []) =>
    diagnose(source, inFile(span), finding, from.map(inFile));
  const composed = composeDocument(part);
  if ('refused' in composed) return { diagnostics: [diagnose(source, composed.span, composed.refused)] };
  const { document, errors } = composed;
  const broken = syntaxFindings(document, errors, text);
  if (broken.length > 0) return { diagnostics: broken.map(({ span, finding }) => place(span, finding)) };
  const { version } = document.directives.yaml;
  if (version !== '1.2') return { diagnostics: [place({ start: 0, end: 1 }, yamlVersion(version))] };
  if (isEmpty(document.contents)) return 'empty';

  const lineOf = (offset: number) => positionAt(source, base + offset).line;
  const read = readValue(document.contents, text, env, lineOf);
  const secrets = [...read.substituted.values()].flatMap(({ used }) => used);
  const diagnosePlaced = (query: LocateQuery, finding: Finding) => {
    const { span, from, node } = locate(document.contents, text, read, {
      ...query,
      code: finding.code,
    });
    const here = [...read.substituted].filter(([scalar]) => isWithin(scalar.range, node?.range));
    const own = here.find(([scalar]) => scalar === node);
    return place(
      span,
      redactFinding(
        own !== undefined && finding.code === 'wrong_type'
          ? withPutIn(finding, own[1].text, own[0].type === 'PLAIN')
          : finding,
        here.flatMap(([, { used }]) => used),
        secrets,
      ),
      from,
    );
  };
  const lineOfPath = (path: IssuePath) =>
    lineOf(locate(document.contents, text, read, { path, at: 'value' }).span.start);
  const isEcho = (issue: Issue) => {
    const { span, from, node } = locate(document.contents, text, read, issue);
    // That it is a map or a list follows from nothing inside of it.
    if (issue.code === 'wrong_type' && isCollection(node)) return false;
    const written = from.at(-1) ?? span;
    return read.problems.some(
      (problem) =>
        overlaps(problem.span, written) ||
        (issue.code === 'missing' &&
          !!node?.range &&
          overlaps(problem.span, { start: node.range[0], end: node.range[1] })),
    );
  };

  const problems = read.problems.map(
    ({ span, finding }) =>
      () =>
        place(span, finding),
  );
  return {
    value: read.value,
    fromEnv: secrets,
    isCut: read.isCut,
    problems,
    place,
    diagnose: diagnosePlaced,
    lineOf: lineOfPath,
    isEcho,
  };
}

/** What a variable has to do with it that a value is not of the type that is asked for. */
function withPutIn(finding: Finding, put: string, isPlain: boolean): Finding {
  if (isPlain) return put.trim() === '' ? emptied(finding) : finding;
  const meant = typeof readPlainScalar(put);
  const isAskedFor = meant === 'number' ? /\bnumber\b/ : meant === 'boolean' ? /\btrue\b/ : undefined;
  return isAskedFor?.test(finding.hint ?? '') ? unquoted(finding) : finding;
}

/** `{ turns: "${N}" }`: between braces the quotes cannot be left out. */
const unquoted = (finding: Finding): Finding => ({
  ...finding,
  hint: `${finding.hint ?? ''} In quotes it is text. Write it without quotes, with the key on its own line.`.trim(),
});

/** Without quotes nothing is null, in YAML as in `${NAME:-}`. */
const emptied = (finding: Finding): Finding => ({
  ...finding,
  message: finding.message.replace(/\.$/, ', so this value is empty.'),
  hint: `${finding.hint ?? ''} In quotes it is empty text.`.trim(),
});

const overlaps = (a: Span, b: Span) => a.start < b.end && b.start < a.end;

type NodeRange = readonly [number, number, number] | null | undefined;

const isWithin = (inner: NodeRange, outer: NodeRange) =>
  !!inner && !!outer && inner[0] >= outer[0] && inner[1] <= outer[1];

/** What YAML makes of a document with nothing in it but comments. */
const isEmpty = (root: ParsedNode | null) =>
  root === null || (isScalar(root) && root.value === null && !root.source);

const yamlVersion = (version: string): Finding => ({
  severity: 'error',
  code: 'yaml_version',
  message: `The document says that it is YAML ${version}, but manifests are YAML 1.2.`,
  hint: 'Delete the %YAML line.',
});
