import type { PathSegment } from '../issue.ts';

/** `$name`, `$name.path[0].to` or `{{name.path}}` as it stands in a text. */
export interface Reference {
  readonly name: string;
  readonly path: readonly PathSegment[];
  /** As it is written. */
  readonly source: string;
}

/** Characters of a reference, and of what a reader holds back while one may still go on. A longer one is text. */
export const MAX_REFERENCE_LENGTH = 256;

const NAME = '[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*';
const PATH = String.raw`((?:\.${NAME}|\[\d{1,9}\])*)`;
const REFERENCE = new RegExp(String.raw`\$(${NAME})${PATH}`, 'y');
const INSERTION = new RegExp(String.raw`\{\{(${NAME})${PATH}\}\}`, 'g');
/** What may follow a reference and turn out to be its next step, or only text: `see $report.` */
const UNDECIDED = /(?:-|\.|\[\d{0,9})/y;
const STEP = new RegExp(String.raw`\.(${NAME})|\[(\d+)\]`, 'g');

export interface ReferenceAt {
  /** Undefined where the dollar begins no reference. */
  readonly reference: Reference | undefined;
  /** Where what was read ends. */
  readonly end: number;
  /** Whether more text could change what was read. */
  readonly open: boolean;
}

/**
 * Reads a reference at the dollar that stands at `at`. `from` is where a reader began to hold text back for it: its
 * length counts from there. Linear: no step is tried twice.
 */
export function readReferenceAt(text: string, at: number, from = at): ReferenceAt {
  REFERENCE.lastIndex = at;
  const found = REFERENCE.exec(text);
  if (found === null) return { reference: undefined, end: at + 1, open: at + 1 === text.length };
  const end = at + found[0].length;
  UNDECIDED.lastIndex = end;
  const reach = end + (UNDECIDED.exec(text)?.[0].length ?? 0);
  if (reach - from > MAX_REFERENCE_LENGTH) return { reference: undefined, end, open: false };
  return { reference: toReference(found), end, open: reach === text.length };
}

/** A whole text as a reference, or undefined if it is none. */
export function readWholeReference(text: string): Reference | undefined {
  if (!text.startsWith('$')) return undefined;
  const { reference, end } = readReferenceAt(text, 0);
  return end === text.length ? reference : undefined;
}

/** Where each `{{name.path}}` of a text begins. Linear: what begins no insertion is passed over once. */
export function* readInsertions(text: string): Iterable<Reference & { readonly at: number }> {
  for (const found of text.matchAll(INSERTION))
    if (found[0].length <= MAX_REFERENCE_LENGTH) yield { ...toReference(found), at: found.index };
}

function toReference([source, name = '', steps = '']: RegExpExecArray): Reference {
  const path: PathSegment[] = [];
  for (const [, key, index] of steps.matchAll(STEP)) path.push(key ?? Number(index));
  return { name, path, source };
}
