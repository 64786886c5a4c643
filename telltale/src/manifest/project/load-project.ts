import { dirname, resolve } from 'node:path';
import type { Diagnostic, Finding } from '../diagnostic.ts';
import { fileDiagnostic, fileFinding } from '../files/file-finding.ts';
import type { Files } from '../files/files.ts';
import { MANIFEST_LIMITS } from '../limits.ts';
import type { Ask } from './ask.ts';
import { boundedMap } from './bounded-map.ts';
import { type CheckModules, checkModules, moduleOf } from './check-modules.ts';
import { checkNamedFiles } from './check-named-files.ts';
import { checkProject } from './check-project.ts';
import {
  type CodeImport,
  type CodeManifest,
  createCodeFiles,
  type FileWithCode,
  isCodeManifest,
  isFileWithCode,
} from './code-manifest.ts';
import { importEntries } from './import-entries.ts';
import type { Project } from './project.ts';
import { type ImportLink, type ProjectDocument, projectDocument } from './project-document.ts';
import { entryOutside, outsideProject, tooManyFiles } from './project-findings.ts';
import { readCode } from './read-code.ts';
import { resolveEntry } from './resolve-entry.ts';
import type { ReadSource, SourceCache } from './source-cache.ts';

export interface ProjectDeps {
  readonly files: Files;
  readonly cache: SourceCache;
  readonly signal: AbortSignal | undefined;
  readonly checkModules: CheckModules | undefined;
}

type Entry =
  | string
  | { readonly label: string; readonly bytes: Uint8Array; readonly folder: string }
  | CodeManifest
  | FileWithCode;

/** Reads the entries and what they import, wave by wave, each file once; then checks all of it together. */
export async function loadProject(
  entries: readonly Entry[],
  root: string,
  { files, cache, signal, checkModules: check }: ProjectDeps,
): Promise<{ readonly project: Project; readonly diagnostics: readonly Diagnostic[] }> {
  const realRoot = await files.realPath(root);
  const shownRoot = cache.label(root);
  const documents: ProjectDocument[] = [];
  const links: ImportLink[] = [];
  /** Tools whose modules lie in the project. */
  const loadable: ProjectDocument[] = [];
  const diagnostics: Diagnostic[] = [];
  const taken = new Set<string>();
  const broken = new Set<string>();

  const codeFile = createCodeFiles();
  const takeCode = (entry: CodeManifest): Promise<readonly Ask[]> =>
    take(readCode(entry, codeFile(entry)), resolve(entry.folder), entry.imports);
  const linkCode = async (owner: ProjectDocument, { list, entry }: CodeImport): Promise<readonly Ask[]> => {
    const path = isCodeManifest(entry) ? entry.label : entry.path;
    const link: ImportLink = { owner, entry: { list, index: 0, what: { type: 'file', path } }, files: [] };
    links.push(link);
    if (isCodeManifest(entry)) {
      link.files.push(codeFile(entry));
      return takeCode(entry);
    }
    const report = (finding: Finding) => owner.document.diagnose({ path: [], at: 'value' }, finding);
    const found = (file: string) => void link.files.push(file);
    return [{ path, called: cache.label(path), report, found, beside: entry.beside }];
  };

  const take = async (
    read: ReadSource & { type: 'read' },
    folder: string,
    beside: readonly CodeImport[] = [],
  ): Promise<readonly Ask[]> => {
    if (taken.has(read.file)) return [];
    taken.add(read.file);
    if (read.isBroken) broken.add(read.file);
    diagnostics.push(...read.diagnostics);
    const asks: Ask[] = [];
    for (const document of read.documents) {
      const owner = projectDocument(read, document);
      documents.push(owner);
      const isLoaded = check !== undefined && moduleOf(document) !== undefined;
      const surroundings = { folder, realRoot, shownRoot, files };
      const named = await checkNamedFiles(document, owner.kind, surroundings, isLoaded);
      diagnostics.push(...named);
      if (isLoaded && named.length === 0) loadable.push(owner);
      if (owner.kind !== 'Agent') continue;
      for (const entry of importEntries(document.value)) {
        const link: ImportLink = { owner, entry, files: [] };
        links.push(link);
        const resolved = await resolveEntry(link, {
          folder,
          realRoot,
          shownRoot,
          files,
          label: cache.label,
          signal,
        });
        diagnostics.push(...resolved.diagnostics);
        asks.push(...resolved.asks);
      }
      for (const imported of beside) asks.push(...(await linkCode(owner, imported)));
    }
    return asks;
  };

  let wave: Ask[] = [];
  for (const entry of entries) {
    if (typeof entry === 'string') wave.push(askForEntry(entry, cache));
    else if (isCodeManifest(entry)) wave.push(...(await takeCode(entry)));
    else if (isFileWithCode(entry)) wave.push({ ...askForEntry(entry.path, cache), beside: entry.beside });
    else {
      const read = await cache.add(entry.label, entry.bytes, resolve(entry.folder), realRoot);
      if (read.type === 'read') wave.push(...(await take(read, resolve(entry.folder))));
    }
  }
  const reads = new Map<string, ReadSource>();
  while (wave.length > 0) {
    const fresh = [...new Set(wave.map(({ path }) => path))].filter((path) => !reads.has(path));
    await boundedMap(
      fresh.slice(0, MANIFEST_LIMITS.files + 1),
      MANIFEST_LIMITS.concurrentReads,
      async (path) => {
        signal?.throwIfAborted();
        reads.set(path, await cache.read(path, realRoot));
      },
    );
    const next: Ask[] = [];
    for (const ask of wave) {
      const read: ReadSource = reads.get(ask.path) ?? { type: 'full', what: 'files' };
      const finding = findingOf(read, ask, shownRoot);
      if (finding !== undefined) diagnostics.push(ask.report(finding));
      // The first file too many ends the load: the others would only say the same.
      if (read.type === 'full') return finish();
      if (read.type !== 'read') continue;
      ask.found?.(read.file);
      for (const found of await take(read, dirname(read.file), ask.beside)) next.push(found);
    }
    wave = next;
  }
  return finish();

  async function finish() {
    const checked = checkProject(documents, links, broken);
    const modules = check === undefined ? [] : await checkModules(loadable, documents, links, check);
    return {
      project: Object.freeze({ root: realRoot, manifests: checked.manifests }),
      diagnostics: [...diagnostics, ...modules, ...checked.diagnostics],
    };
  }
}

function findingOf(read: ReadSource, { called, found }: Ask, shownRoot: string): Finding | undefined {
  switch (read.type) {
    case 'read':
      return undefined;
    case 'problem':
      return fileFinding(read.problem, called);
    case 'outside':
      return found === undefined ? entryOutside(called, shownRoot) : outsideProject(called, shownRoot);
    case 'full':
      return tooManyFiles(read.what);
  }
}

function askForEntry(path: string, cache: SourceCache): Ask {
  const file = cache.label(path);
  return {
    path,
    called: file,
    report: (finding) => fileDiagnostic(file, finding),
  };
}
