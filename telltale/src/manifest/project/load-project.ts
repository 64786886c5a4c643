import { dirname, resolve } from 'node:path';
import { type Diagnostic, type Finding, type IssuePath, MANIFEST_LIMITS, quoted } from '../diagnostic.ts';
import { type Files, fileDiagnostic, fileFinding, isInside } from '../files.ts';
import type { ReadDocument } from '../read-manifests.ts';
import { type DocumentNode, documentNode } from '../schema/checks/document-node.ts';
import { checkProject } from './check-project.ts';
import { importEntries, splitGlob } from './import-entries.ts';
import type { Project } from './project.ts';
import {
  type CodeImport,
  type CodeManifest,
  createCodeFiles,
  type FileWithCode,
  type ImportLink,
  isCodeManifest,
  isFileWithCode,
  type ProjectDocument,
  projectDocument,
} from './project-document.ts';
import { type CheckModules, checkModules, moduleOf, readCode } from './read-code.ts';
import {
  boundedMap,
  entryOutside,
  globClimbs,
  globMatchesNothing,
  globTooComplex,
  globTooWide,
  globUnreadable,
  outsideProject,
  type ReadSource,
  type SourceCache,
  tooManyFiles,
} from './source-cache.ts';

export interface ProjectDeps {
  readonly files: Files;
  readonly cache: SourceCache;
  readonly signal: AbortSignal | undefined;
  readonly checkModules: CheckModules | undefined;
}

type LoadProjectEntry =
  | string
  | { readonly label: string; readonly bytes: Uint8Array; readonly folder: string }
  | CodeManifest
  | FileWithCode;

/** Reads the entries and then their imports, level by level, each file once. Then it checks everything together. */
export async function loadProject(
  entries: readonly LoadProjectEntry[],
  root: string,
  { files, cache, signal, checkModules: check }: ProjectDeps,
): Promise<{ readonly project: Project; readonly diagnostics: readonly Diagnostic[] }> {
  const realRoot = await files.realPath(root);
  const shownRoot = cache.label(root);
  const documents: ProjectDocument[] = [];
  const links: ImportLink[] = [];
  /** Tools whose modules are in the project. */
  const loadable: ProjectDocument[] = [];
  const diagnostics: Diagnostic[] = [];
  const taken = new Set<string>();
  const broken = new Set<string>();

  const codeFile = createCodeFiles();
  const takeCode = (entry: CodeManifest): Promise<readonly LoadProjectAsk[]> =>
    take(readCode(entry, codeFile(entry)), resolve(entry.folder), entry.imports);
  const linkCode = async (
    owner: ProjectDocument,
    { list, entry }: CodeImport,
  ): Promise<readonly LoadProjectAsk[]> => {
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
  ): Promise<readonly LoadProjectAsk[]> => {
    if (taken.has(read.file)) return [];
    taken.add(read.file);
    if (read.isBroken) broken.add(read.file);
    diagnostics.push(...read.diagnostics);
    const asks: LoadProjectAsk[] = [];
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

  let wave: LoadProjectAsk[] = [];
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
    const next: LoadProjectAsk[] = [];
    for (const ask of wave) {
      const read: ReadSource = reads.get(ask.path) ?? { type: 'full', what: 'files' };
      const finding = findingOf(read, ask, shownRoot);
      if (finding !== undefined) diagnostics.push(ask.report(finding));
      // The first file beyond the limit ends the load, because the others would only repeat the error.
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

function findingOf(
  read: ReadSource,
  { called, found }: LoadProjectAsk,
  shownRoot: string,
): Finding | undefined {
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

function askForEntry(path: string, cache: SourceCache): LoadProjectAsk {
  const file = cache.label(path);
  return {
    path,
    called: file,
    report: (finding) => fileDiagnostic(file, finding),
  };
}

interface Surroundings {
  /** The folder of the document's file. */
  readonly folder: string;
  readonly realRoot: string;
  readonly shownRoot: string;
  readonly files: Pick<Files, 'exists' | 'realPath'>;
}

interface NamedFile {
  readonly path: IssuePath;
  readonly file: string;
}

/**
 * Checks files that only a run opens: modules of tools and artifacts, and transcripts of scripted models. A file
 * outside the project is an error. A missing file is a warning, because a build may create it.
 */
async function checkNamedFiles(
  document: ReadDocument,
  kind: string | undefined,
  { folder, realRoot, shownRoot, files }: Surroundings,
  /** If the modules are loaded, loading reports a missing one. */
  isLoaded = false,
): Promise<readonly Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const { path, file } of namedFiles(documentNode(document.value), kind)) {
    const at = { path, at: 'value' } as const;
    const absolute = resolve(folder, file);
    if (!isInside(await files.realPath(absolute), realRoot))
      found.push(document.diagnose(at, outsideProject(file, shownRoot)));
    else if (!isLoaded && !(await files.exists(absolute)))
      found.push(
        document.diagnose(at, {
          severity: 'warning',
          code: 'file_missing',
          message: `The file ${quoted(file)} does not exist yet.`,
          hint: 'Create it, or correct the path. It is relative to this manifest.',
        }),
      );
  }
  return found;
}

function namedFiles(root: DocumentNode, kind: string | undefined): readonly NamedFile[] {
  const places =
    kind === 'Tool'
      ? [root.at('implementation').at('module')]
      : kind === 'Artifact'
        ? [root.at('module')]
        : kind === 'Agent'
          ? [
              root.at('model'),
              ...root.at('fallback_models').items(),
              ...root
                .at('models')
                .entries()
                .map(([, model]) => (model.text() === undefined ? model.at('model') : model)),
            ]
          : [];
  return places.flatMap((place) => {
    const text = place.text() ?? '';
    const file = kind === 'Agent' ? /^scripted:(.+)$/s.exec(text)?.[1] : text;
    const isPath = file !== undefined && file !== '' && !/[\0\n]|\$\{/.test(file);
    return isPath && isLocal(file) ? [{ path: place.path, file }] : [];
  });
}

/** A bare name is a package. A path starts with a dot or a slash, or has a file extension. */
const isLocal = (file: string) => /^[./]/.test(file) || /\.[cm]?[jt]s$|\.ya?ml$|\.json$/.test(file);

interface EntrySurroundings {
  /** The folder of the manifest that imports. */
  readonly folder: string;
  readonly realRoot: string;
  readonly shownRoot: string;
  readonly files: Files;
  readonly label: (path: string) => string;
  readonly signal: AbortSignal | undefined;
}

/** The files that an `import` entry asks for. It never looks outside the root. */
async function resolveEntry(
  link: ImportLink,
  around: EntrySurroundings,
): Promise<{ readonly asks: readonly LoadProjectAsk[]; readonly diagnostics: readonly Diagnostic[] }> {
  const { entry, owner } = link;
  const report = (finding: Finding) =>
    owner.document.diagnose({ path: ['import', entry.list, entry.index], at: 'value' }, finding);
  const found = (file: string) => {
    if (!link.files.includes(file)) link.files.push(file);
  };
  const fail = (finding: Finding) => ({ asks: [], diagnostics: [report(finding)] });
  const { what } = entry;
  switch (what.type) {
    case 'builtin':
    case 'mcp':
      return { asks: [], diagnostics: [] };
    case 'wrong':
      return fail(what.finding);
    case 'file':
      return askFor(what.path);
    case 'glob': {
      if (await around.files.exists(resolve(around.folder, what.pattern))) return askFor(what.pattern);
      const matches = await matchesOf(what.pattern, around);
      if (!Array.isArray(matches)) return fail(matches as Finding);
      if (matches.length === 0) return fail(globMatchesNothing(what.pattern));
      return {
        asks: matches.map((path: string) => ({ path, called: around.label(path), report, found })),
        diagnostics: [],
      };
    }
  }

  async function askFor(called: string) {
    const path = resolve(around.folder, called);
    const isOut = !isInside(await around.files.realPath(path), around.realRoot);
    return isOut
      ? fail(outsideProject(called, around.shownRoot))
      : { asks: [{ path, called, report, found }], diagnostics: [] };
  }
}

async function matchesOf(pattern: string, around: EntrySurroundings): Promise<readonly string[] | Finding> {
  const parts = splitGlob(pattern);
  if (parts === undefined) return globClimbs(pattern);
  const refused = globComplexity(pattern);
  if (refused !== undefined) return globTooComplex(pattern, refused);
  const folder = resolve(around.folder, parts.folder);
  if (!isInside(await around.files.realPath(folder), around.realRoot))
    return outsideProject(pattern, around.shownRoot);
  const found = await around.files.glob(parts.rest, folder, around.signal);
  if (found.ok) return found.value;
  return found.error.type === 'too_many'
    ? globTooWide(pattern, found.error.limit)
    : globUnreadable(pattern, found.error.reason);
}

/**
 * Globs become backtracking regular expressions that run on every name of a walk. Thousands of braces overflow the
 * engine's stack inside a callback, where nobody can catch it, and a dozen `*` in one name take hours. Handwritten
 * globs have few.
 */
const GLOB_LIMITS = { length: 512, wildcardsInSegment: 3, folderWildcards: 4, braces: 8 } as const;

/** Why a glob is refused, as the end of a sentence. Undefined if it is accepted. */
function globComplexity(pattern: string): string | undefined {
  if (pattern.length > GLOB_LIMITS.length) return `is longer than ${GLOB_LIMITS.length} characters`;
  if (/[()]/.test(pattern)) return 'contains parentheses, which globs in manifests do not support';
  if (count(pattern, /\{/g) > GLOB_LIMITS.braces)
    return `has more than ${GLOB_LIMITS.braces} pairs of braces`;
  const segments = pattern.split('/');
  if (segments.filter((segment) => segment === '**').length > GLOB_LIMITS.folderWildcards)
    return `has more than ${GLOB_LIMITS.folderWildcards} occurrences of "**"`;
  if (segments.some((segment) => count(segment, /\*+/g) > GLOB_LIMITS.wildcardsInSegment))
    return `has more than ${GLOB_LIMITS.wildcardsInSegment} "*" in one name`;
  return undefined;
}

const count = (text: string, part: RegExp) => text.match(part)?.length ?? 0;

/** A requested file, the name that the request used for it, and where to report problems. */
export interface LoadProjectAsk {
  readonly path: string;
  readonly called: string;
  readonly report: (finding: Finding) => Diagnostic;
  /** Called with the file that the import resolved to. */
  readonly found?: (file: string) => void;
  /** Additional imports of the agents in the file. */
  readonly beside?: readonly CodeImport[];
}
