import { Document, isMap, isSeq, type YAMLMap } from 'yaml';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { Converted } from './convert-workflow.ts';
import type { Entry } from './report.ts';

const WIDTH = 110;
/** Each value is written where it stands, however often. */
const PLAIN = { aliasDuplicateObjects: false } as const;

/** A manifest as YAML, with a comment at its head. */
export function yamlOf(manifest: JsonObject, head: readonly string[]): string {
  const document = new Document(manifest, PLAIN);
  return textOf(document, head);
}

/** The workflow as YAML, with what was changed or left beside the steps that it is about. */
export function workflowYaml({ workflow, entries, origins, about }: Converted, file: string): string {
  const document = new Document(workflow, PLAIN);
  for (const [path, step] of stepsWithPaths(workflow.steps as readonly JsonObject[], ['steps'])) {
    const id = origins.get(step);
    const said = id === undefined ? [] : remarks(entries, id);
    const node = document.getIn(path, true);
    if (said.length > 0 && isMap(node)) (node as YAMLMap).commentBefore = comment(said);
  }
  const head = [...about, `Imported from ${file}, a workflow of WorkRail.`, ...remarks(entries, null)];
  return textOf(document, head);
}

const remarks = (entries: readonly Entry[], step: string | null): readonly string[] =>
  entries
    .filter((entry) => entry.step === step && entry.outcome !== 'kept')
    .map(({ construct, outcome, how }) => `${construct} (${outcome}): ${how}`);

function textOf(document: Document, head: readonly string[]): string {
  document.commentBefore = comment(head);
  if (isSeq(document.contents) || isMap(document.contents)) document.contents.spaceBefore = true;
  // An empty line of a comment is a "#" alone: without one it would end there.
  return document.toString({ lineWidth: 0, indentSeq: true }).replace(/^# $/gm, '#');
}

/** Whatever ends a line for somebody, and what else has no place in a comment. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const BREAK = /\r\n|[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;

const comment = (texts: readonly string[]): string =>
  texts
    .flatMap((text) => text.split(BREAK).flatMap(folded))
    .map((line) => ` ${line}`)
    .join('\n');

/** Lines of at most so many characters, broken between words. */
function folded(line: string): readonly string[] {
  const lines: string[] = [];
  let now = '';
  for (const word of line.split(' ')) {
    if (now !== '' && now.length + word.length + 1 > WIDTH) {
      lines.push(now);
      now = word;
    } else now = now === '' ? word : `${now} ${word}`;
  }
  return [...lines, now];
}

function* stepsWithPaths(
  steps: readonly JsonObject[],
  path: readonly (string | number)[],
): Generator<readonly [path: readonly (string | number)[], step: JsonObject]> {
  for (const [index, step] of steps.entries()) {
    yield [[...path, index], step];
    const body = step.body as Json | undefined;
    if (Array.isArray(body)) yield* stepsWithPaths(body as readonly JsonObject[], [...path, index, 'body']);
  }
}
