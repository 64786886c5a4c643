import type { Json } from '../../kernel/json.ts';
import type { ReadDocument } from '../read-manifests.ts';
import { type ImportEntry, isMap } from './import-entries.ts';

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
