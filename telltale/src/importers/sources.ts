import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import type { Json } from '../lib/json.ts';
import { type Diagnostic, type IssuePath, MANIFEST_LIMITS } from '../manifest/diagnostic.ts';
import { fileDiagnostic, fileFinding, isInside } from '../manifest/files.ts';
import { openDocument } from '../manifest/open-document.ts';
import { decodeSource, type SourceText } from '../manifest/source-text.ts';
import { splitDocuments } from '../manifest/yaml/compose-document.ts';
import type { ImportedFile, Importer, ImportOptions, SourceFile } from './importer.ts';

export interface Sources {
  readonly files: readonly SourceFile[];
  /** Paths that could not be read, each with the reason. */
  readonly failed: readonly ImportedFile[];
}

/** Reads the files that were named, and those of the format in the folders that were named. */
export async function readSources(
  paths: readonly string[],
  importer: Importer,
  options: ImportOptions,
): Promise<Sources> {
  const files = new Map<string, SourceFile>();
  const failed: ImportedFile[] = [];
  for (const named of paths) {
    options.signal.throwIfAborted();
    const path = resolve(options.cwd, named);
    const read = await readSource(path, options);
    if ('source' in read) files.set(path, read);
    else if (!read.isFolder) failed.push({ file: read.file, diagnostics: [read.diagnostic] });
    else {
      const found = await filesOf(path, importer, options);
      if ('diagnostic' in found) failed.push({ file: read.file, diagnostics: [found.diagnostic] });
      else for (const each of found.files) files.set(each.path, files.get(each.path) ?? each);
    }
  }
  return { files: [...files.values()], failed };
}

type SourcesRead =
  | SourceFile
  | { readonly file: string; readonly diagnostic: Diagnostic; readonly isFolder: boolean };

/** One file, decoded. `path` is absolute. */
export async function readSource(
  path: string,
  { cwd, files }: Pick<ImportOptions, 'cwd' | 'files'>,
): Promise<SourcesRead> {
  const file = labelOf(path, cwd);
  const bytes = await files.read(path, MANIFEST_LIMITS.fileBytes);
  if (!bytes.ok) {
    const isFolder = bytes.error.type === 'folder';
    return { file, isFolder, diagnostic: fileDiagnostic(file, fileFinding(bytes.error, file)) };
  }
  const decoded = decodeSource(file, bytes.value);
  if (!decoded.ok) return { file, isFolder: false, diagnostic: decoded.diagnostic };
  return { path, file, source: decoded.source };
}

/**
 * The text of a file that a source names. Undefined if it cannot be read, or if it is in none of the folders: a source
 * from someone else must not bring other files of this machine into a manifest.
 */
export async function readNamed(
  path: string,
  folders: readonly string[],
  options: Pick<ImportOptions, 'cwd' | 'files'>,
): Promise<string | undefined> {
  const { files } = options;
  const real = await files.realPath(path);
  const roots = await Promise.all(folders.map((folder) => files.realPath(folder)));
  if (!roots.some((root) => isInside(real, root))) return undefined;
  const read = await readSource(path, options);
  return 'source' in read ? read.source.text : undefined;
}

async function filesOf(
  folder: string,
  importer: Importer,
  options: ImportOptions,
): Promise<{ readonly files: readonly SourceFile[] } | { readonly diagnostic: Diagnostic }> {
  const { files, signal, cwd } = options;
  const fail = (code: string, message: string, hint: string) => ({
    diagnostic: problem(labelOf(folder, cwd), code, message, hint),
  });
  const paths = await files.glob(importer.pattern, folder, signal);
  if (!paths.ok)
    return paths.error.type === 'too_many'
      ? fail('too_many_files', `The folder has more than ${paths.error.limit} files.`, 'Name its subfolders.')
      : fail('file_unreadable', `The folder cannot be read (${paths.error.reason}).`, 'Check the path.');
  const found: SourceFile[] = [];
  for (const path of paths.value) {
    const read = await readSource(path, options);
    if ('source' in read && importer.detect(read)) found.push(read);
  }
  return found.length > 0
    ? { files: found }
    : fail('nothing_found', 'The folder has no file of this format.', 'Name another folder, or the files.');
}

function labelOf(path: string, cwd: string): string {
  const below = relative(cwd, path) || '.';
  return (below.startsWith('..') || isAbsolute(below) ? path : below).split(sep).join('/');
}

/** Why a file could not be imported. */
export const problem = (file: string, code: string, message: string, hint: string): Diagnostic =>
  fileDiagnostic(file, { severity: 'error', code, message, hint });

/** The folder that all of these lie in. */
export function commonFolder(folders: readonly string[]): string {
  const [first = sep, ...others] = folders;
  let common = first;
  for (const folder of others) while (!isInside(folder, common)) common = dirname(common);
  return common;
}

/** One YAML or JSON document of a source file. */
export interface SourceDocument {
  readonly value: Json;
  /** Line from 1 of what a path leads to. */
  readonly lineOf: (path: IssuePath) => number;
}

/** All documents of a YAML or JSON file, and what is wrong with them. `${…}` stays as it is written. */
export function readDocuments(source: SourceText): {
  readonly documents: readonly SourceDocument[];
  readonly diagnostics: readonly Diagnostic[];
} {
  const documents: SourceDocument[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const part of splitDocuments(source.text, MANIFEST_LIMITS.documents)) {
    const opened = openDocument(source, part, undefined);
    if (opened === 'empty') continue;
    if ('diagnostics' in opened) diagnostics.push(...opened.diagnostics);
    else {
      diagnostics.push(...opened.problems.map((problem) => problem()));
      documents.push(opened);
    }
  }
  return { documents, diagnostics };
}
