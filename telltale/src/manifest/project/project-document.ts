import type { Json, JsonObject } from '../../lib/json.ts';
import type { Finding, IssuePath } from '../diagnostic.ts';
import type { ReadDocument } from '../read-manifests.ts';
import { type ImportEntry, isMap } from './import-entries.ts';
import type { ImportList } from './project.ts';

/** One document of a project, right or wrong, and where it came from. */
export interface ProjectDocument {
  readonly kind: string | undefined;
  readonly name: string | undefined;
  /** Absolute, links resolved. */
  readonly file: string;
  /** As diagnostics show the file. */
  readonly label: string;
  readonly line: number;
  readonly document: ReadDocument;
}

/** An entry of an agent's `import` and the files it turned out to be, in order. */
export interface ImportLink {
  readonly owner: ProjectDocument;
  readonly entry: ImportEntry;
  readonly files: string[];
}

export function projectDocument(
  source: { readonly file: string; readonly label: string },
  document: ReadDocument,
): ProjectDocument {
  const { value } = document;
  return {
    kind: text(value, 'kind'),
    name: text(value, 'name'),
    file: source.file,
    label: source.label,
    line: document.lineOf(text(value, 'name') === undefined ? [] : ['name']),
    document,
  };
}

function text(value: Json, key: string): string | undefined {
  const found = isMap(value) ? value[key] : undefined;
  return typeof found === 'string' ? found : undefined;
}

/** A manifest that a program wrote as a value, checked like one that was read from a file. */
export interface CodeManifest {
  /** What diagnostics and logs call it: `defineTool("search")`. */
  readonly label: string;
  /** Where paths in it begin. */
  readonly folder: string;
  /** The document, as YAML would give it. `${NAME}` in it stays as it is: a program has its own way to its environment. */
  readonly value: unknown;
  /** What the program made: two manifests of the same thing are one. */
  readonly identity: object;
  /** What belongs to it and is not JSON: functions, schemas, models. */
  readonly code: object;
  /** What counts for its hash beside the document. */
  readonly pinned: JsonObject;
  /** Where a place in the document stands in what the program wrote. */
  readonly writtenAt: (path: IssuePath) => IssuePath;
  /** What whoever made the document found wrong. */
  readonly findings: readonly { readonly path: IssuePath; readonly finding: Finding }[];
  readonly imports: readonly CodeImport[];
}

/** What an agent imports and does not name by a path in its document. */
export interface CodeImport {
  readonly list: ImportList;
  readonly entry: CodeManifest | FileWithCode;
}

/** A file whose agents import more than stands in it. */
export interface FileWithCode {
  /** Absolute. */
  readonly path: string;
  readonly beside: readonly CodeImport[];
}

export const isCodeManifest = (entry: object): entry is CodeManifest => 'writtenAt' in entry;
export const isFileWithCode = (entry: object): entry is FileWithCode => 'beside' in entry;

/** What stands for the file of a manifest that was written in code: one for each, also where two have the same name. */
export function createCodeFiles(): (manifest: CodeManifest) => string {
  const files = new Map<object, string>();
  return ({ identity, label }) => {
    const known = files.get(identity);
    if (known !== undefined) return known;
    const namesakes = [...files.values()].filter((file) => file === label || file.startsWith(`${label} #`));
    const file = namesakes.length === 0 ? label : `${label} #${namesakes.length + 1}`;
    files.set(identity, file);
    return file;
  };
}
