import type { Json, JsonObject } from '../../lib/json.ts';
import type { Finding, IssuePath } from '../diagnostic.ts';
import type { ReadDocument } from '../read-manifests.ts';
import { type ImportEntry, isMap } from './import-entries.ts';
import type { ImportList } from './project.ts';

/** One document of a project, valid or not, and its origin. */
export interface ProjectDocument {
  readonly kind: string | undefined;
  readonly name: string | undefined;
  /** Absolute, with links resolved. */
  readonly file: string;
  /** The file's name in diagnostics. */
  readonly label: string;
  readonly line: number;
  readonly document: ReadDocument;
}

/** An entry of an agent's `import` and the files that it resolved to, in order. */
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

/** A manifest that a program created as a value. It is checked like one from a file. */
export interface CodeManifest {
  /** Its name in diagnostics and logs: `defineTool("search")`. */
  readonly label: string;
  /** The base of relative paths in it. */
  readonly folder: string;
  /**
   * The document, as YAML would give it. `${NAME}` in it is not replaced, because a program can read its environment
   * itself.
   */
  readonly value: unknown;
  /** The object that the program created. Two manifests of the same object are one. */
  readonly identity: object;
  /** The parts that are not JSON: functions, schemas, models. */
  readonly code: object;
  /** Data that its hash covers in addition to the document. */
  readonly pinned: JsonObject;
  /** Maps a path in the document to a path in what the program wrote. */
  readonly writtenAt: (path: IssuePath) => IssuePath;
  /** Mistakes that were found while the document was created. */
  readonly findings: readonly { readonly path: IssuePath; readonly finding: Finding }[];
  readonly imports: readonly CodeImport[];
}

/** An import of an agent whose document does not name it by a path. */
export interface CodeImport {
  readonly list: ImportList;
  readonly entry: CodeManifest | FileWithCode;
}

/** A file whose agents import more than the file says. */
export interface FileWithCode {
  /** Absolute. */
  readonly path: string;
  readonly beside: readonly CodeImport[];
}

export const isCodeManifest = (entry: object): entry is CodeManifest => 'writtenAt' in entry;
export const isFileWithCode = (entry: object): entry is FileWithCode => 'beside' in entry;

/**
 * Creates file names for manifests written in code, a different one for each manifest, even if two have the same name.
 */
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
