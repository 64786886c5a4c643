import { isCollection, isScalar, type ParsedNode } from 'yaml';
import type { Json } from '../lib/json.ts';
import type { Diagnostic, Finding, Issue, IssuePath, Span } from './diagnostic.ts';
import type { Env, EnvValue } from './environment.ts';
import { diagnose, positionAt, type SourceText } from './source-text.ts';
import { composeDocument, type DocumentText } from './yaml/compose-document.ts';
import { type LocateQuery, locate } from './yaml/locate.ts';
import { readPlainScalar, readValue } from './yaml/read-value.ts';
import { syntaxFindings } from './yaml/syntax-findings.ts';

/** A document with readable YAML. Its contents have not been checked yet. */
export interface OpenDocument {
  /** The value after environment variables were inserted. Nothing else has changed. */
  readonly value: Json;
  /** The variables that were inserted. */
  readonly fromEnv: readonly EnvValue[];
  /** Whether the document exceeds a limit, so that `value` is incomplete. */
  readonly isCut: boolean;
  /** The parts that cannot be represented as JSON. Each is located only when it is called. */
  readonly problems: readonly (() => Diagnostic)[];
  readonly place: (span: Span, finding: Finding) => Diagnostic;
  /** Adds the position to a finding about this document, and hides values of environment variables in its text. */
  readonly diagnose: (query: LocateQuery, finding: Finding) => Diagnostic;
  /** The line number, from 1, of a path. */
  readonly lineOf: (path: IssuePath) => number;
  /** Whether an issue only follows from an unreadable part, which counts as null or is omitted. */
  readonly isEcho: (issue: Issue) => boolean;
}

export type DocumentOpened = OpenDocument | 'empty' | { readonly diagnostics: readonly Diagnostic[] };

/** Reads one document's YAML. Without `env`, `${…}` stays as it is written. */
export function openDocument(source: SourceText, part: DocumentText, env: Env | undefined): DocumentOpened {
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
    // Unreadable parts inside a map or list do not change that it is one.
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

/** Explains how an environment variable led to a value of the wrong type. */
function withPutIn(finding: Finding, put: string, isPlain: boolean): Finding {
  if (isPlain) return put.trim() === '' ? emptied(finding) : finding;
  const meant = typeof readPlainScalar(put);
  const isAskedFor = meant === 'number' ? /\bnumber\b/ : meant === 'boolean' ? /\btrue\b/ : undefined;
  return isAskedFor?.test(finding.hint ?? '') ? unquoted(finding) : finding;
}

/** `{ turns: "${N}" }`: inside braces, the quotes are required. */
const unquoted = (finding: Finding): Finding => ({
  ...finding,
  hint: `${finding.hint ?? ''} In quotes it is text. Write it without quotes, with the key on its own line.`.trim(),
});

/** An unquoted empty value is null, in YAML as well as for `${NAME:-}`. */
const emptied = (finding: Finding): Finding => ({
  ...finding,
  message: finding.message.replace(/\.$/, ', so this value is empty.'),
  hint: `${finding.hint ?? ''} In quotes it is empty text.`.trim(),
});

const overlaps = (a: Span, b: Span) => a.start < b.end && b.start < a.end;

type NodeRange = readonly [number, number, number] | null | undefined;

const isWithin = (inner: NodeRange, outer: NodeRange) =>
  !!inner && !!outer && inner[0] >= outer[0] && inner[1] <= outer[1];

/** What YAML returns for a document that contains only comments. */
const isEmpty = (root: ParsedNode | null) =>
  root === null || (isScalar(root) && root.value === null && !root.source);

const yamlVersion = (version: string): Finding => ({
  severity: 'error',
  code: 'yaml_version',
  message: `The document says that it is YAML ${version}, but manifests are YAML 1.2.`,
  hint: 'Delete the %YAML line.',
});

export interface Secret {
  readonly name: string;
  readonly value: string;
}

/** Shorter values ("1", "dev") appear in half of all messages by chance. */
const MIN_SECRET = 6;
/** In a message about the value itself, a match is no coincidence. */
const MIN_SECRET_HERE = 3;
const MIN_TRACE = 4;

/** Replaces every environment value in the text by its reference, longest first. */
function withoutSecrets(text: string, secrets: readonly Secret[], minLength = MIN_SECRET): string {
  let clean = text;
  for (const { name, value } of [...secrets].sort((a, b) => b.value.length - a.value.length))
    if (value.length >= minLength) clean = clean.replaceAll(value, `\${${name}}`);
  return clean;
}

/**
 * A finding about a value from the environment. Its message may quote a part of the value, clipped or in another case,
 * so replacing the value is not enough. If any trace of it remains, the message becomes a general one.
 */
function redactFinding(finding: Finding, here: readonly Secret[], all: readonly Secret[]): Finding {
  const clean = (text: string, own: readonly Secret[]) =>
    withoutSecrets(withoutSecrets(text, own, MIN_SECRET_HERE), all);
  const message = clean(finding.message, here);
  // "Write true or false." does not reveal which of them the value is.
  const telling = here.filter(({ value }) => value !== 'true' && value !== 'false');
  const hint = finding.hint === undefined ? undefined : clean(finding.hint, telling);
  const names = [...new Set(here.map(({ name }) => `\${${name}}`))].join(' and ');
  const show = here.length > 0 && showsTrace(message, here);
  return {
    ...finding,
    message: show ? `The value of ${names} from the environment is not allowed here.` : message,
    hint: hint !== undefined && showsTrace(hint, telling) ? `Check the value of ${names}.` : hint,
  };
}

function showsTrace(text: string, secrets: readonly Secret[]): boolean {
  const haystack = text.toLowerCase();
  return secrets.some(({ name, value }) => {
    const needle = value.toLowerCase();
    const without = haystack.replaceAll(`\${${name.toLowerCase()}}`, '');
    if (needle.length < MIN_TRACE)
      return needle !== '' && without.split(/[^\w.+-]+|\.(?=\s|$)/).includes(needle);
    for (let at = 0; at + MIN_TRACE <= needle.length; at++)
      if (without.includes(needle.slice(at, at + MIN_TRACE))) return true;
    return false;
  });
}
