import { createHash } from 'node:crypto';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { type Diagnostic, type Finding, MANIFEST_LIMITS, quoted } from '../diagnostic.ts';
import type { Env } from '../environment.ts';
import { type FileProblem, type Files, fileDiagnostic, fileFinding, isInside } from '../files.ts';
import { type ReadDocument, readManifests } from '../read-manifests.ts';
import { isMap } from '../schema/plain-values.ts';
import { type Decoded, decodeSource } from '../source-text.ts';
import { type ReadVariables, readVariables, unreadVariables, VARIABLES_FILE } from '../variables-file.ts';
import type { LoadedSource } from './project.ts';

/** An agent, or a document of unknown kind that may be meant to be one. */
const MAY_BE_AGENT = /\bAgent\b|^[ \t"'{]*[Kk]ind["']?[ \t]*:(?![ \t"']*(?:Tool|Relic|Artifact|Workflow)\b)/m;

/** A file that was read, or the reason why it could not be. */
export type ReadSource =
  | {
      readonly type: 'read';
      /** With links resolved. */
      readonly file: string;
      readonly label: string;
      readonly documents: readonly ReadDocument[];
      /** Whether some of its documents could not be read at all, so that their names are not known. */
      readonly isBroken: boolean;
      readonly diagnostics: readonly Diagnostic[];
    }
  | { readonly type: 'problem'; readonly problem: FileProblem }
  | { readonly type: 'outside' }
  | { readonly type: 'full'; readonly what: 'files' | 'bytes' };

/** Reads each file once, however many imports lead to it, and counts the cost of the load. */
export interface SourceCache {
  read(path: string, realRoot: string): Promise<ReadSource>;
  /** Adds a text that is not a file as if it were in `folder`. */
  add(label: string, bytes: Uint8Array, folder: string, realRoot: string): Promise<ReadSource>;
  /** The path as diagnostics show it. */
  label(path: string): string;
  sources(): readonly LoadedSource[];
  documents(): number;
}

export interface SourceCacheOptions {
  readonly env: Env;
  readonly cwd: string;
  readonly files: Files;
  readonly onProgress?: ((read: number) => void) | undefined;
}

export function createSourceCache({ env, cwd, files, onProgress }: SourceCacheOptions): SourceCache {
  const reads = new Map<string, Promise<ReadSource>>();
  const variables = new Map<string, Promise<ReadVariables | undefined>>();
  const sources: LoadedSource[] = [];
  let bytesRead = 0;
  let documents = 0;

  const label = (path: string) =>
    isInside(path, cwd) ? relative(cwd, path).split(sep).join('/') || '.' : path;

  const decode = (file: string, shown: string, bytes: Uint8Array): Decoded => {
    sources.push(
      Object.freeze({ file, bytes: bytes.length, hash: createHash('sha256').update(bytes).digest('hex') }),
    );
    onProgress?.(sources.length);
    return decodeSource(shown, bytes);
  };

  const keep = async (
    file: string,
    shown: string,
    bytes: Uint8Array,
    folder: string,
    realRoot: string,
  ): Promise<ReadSource> => {
    const source = { type: 'read', file, label: shown } as const;
    const decoded = decode(file, shown, bytes);
    if (!decoded.ok) return { ...source, documents: [], isBroken: true, diagnostics: [decoded.diagnostic] };
    if (basename(file) === VARIABLES_FILE)
      return {
        ...source,
        documents: [],
        isBroken: false,
        diagnostics: readVariables(decoded.source, env).diagnostics,
      };
    // Few files contain agents, and only those can have a variables file next to them.
    const beside = MAY_BE_AGENT.test(decoded.source.text) ? await variablesIn(folder, realRoot) : undefined;
    const read = readManifests(decoded.source, env, beside?.variables);
    documents += read.count;
    const hasAgent = read.documents.some(({ value }) => isMap(value) && value.kind === 'Agent');
    return {
      ...source,
      documents: read.documents,
      isBroken: read.count > read.documents.length,
      diagnostics: [...(hasAgent ? (beside?.diagnostics ?? []) : []), ...read.diagnostics],
    };
  };

  const readFile = async (path: string, file: string, realRoot: string): Promise<ReadSource> => {
    const bytes = await files.read(file, MANIFEST_LIMITS.fileBytes);
    if (!bytes.ok) return { type: 'problem', problem: bytes.error };
    bytesRead += bytes.value.length;
    if (bytesRead > MANIFEST_LIMITS.totalBytes) return { type: 'full', what: 'bytes' };
    return keep(file, label(path), bytes.value, dirname(file), realRoot);
  };

  const variablesIn = (folder: string, realRoot: string): Promise<ReadVariables | undefined> => {
    const key = JSON.stringify([folder, realRoot]);
    const reading = variables.get(key) ?? readVariablesIn(folder, realRoot);
    variables.set(key, reading);
    return reading;
  };

  const readVariablesIn = async (folder: string, realRoot: string): Promise<ReadVariables | undefined> => {
    const path = join(folder, VARIABLES_FILE);
    const shown = label(path);
    const file = await files.realPath(path);
    const fail = (finding: Finding): ReadVariables => unreadVariables([fileDiagnostic(shown, finding)]);
    if (!isInside(file, realRoot)) return fail(outsideProject(shown, label(realRoot)));
    const bytes = await files.read(file, MANIFEST_LIMITS.fileBytes);
    if (!bytes.ok) return bytes.error.type === 'missing' ? undefined : fail(fileFinding(bytes.error, shown));
    bytesRead += bytes.value.length;
    const decoded = decode(file, shown, bytes.value);
    return decoded.ok ? readVariables(decoded.source, env) : unreadVariables([decoded.diagnostic]);
  };

  return {
    async read(path, realRoot) {
      const file = await files.realPath(path);
      if (isAbsolute(file) && !isInside(file, realRoot)) return { type: 'outside' };
      const known = reads.get(file);
      if (known !== undefined) return known;
      if (reads.size >= MANIFEST_LIMITS.files) return { type: 'full', what: 'files' };
      const reading = readFile(path, file, realRoot);
      reads.set(file, reading);
      return reading;
    },
    add: (shown, bytes, folder, realRoot) => keep(shown, shown, bytes, folder, realRoot),
    label,
    sources: () => sources.toSorted((a, b) => (a.file < b.file ? -1 : 1)),
    documents: () => documents,
  };
}

/**
 * Maps items in order, at most `limit` at a time. If one rejects, it waits for those that have started, and then throws
 * the first error.
 */
export async function boundedMap<In, Out>(
  items: readonly In[],
  limit: number,
  map: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results = new Array<Out>(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await map(items[index] as In);
    }
  };
  const workers = Array.from({ length: Math.min(limit, items.length) }, worker);
  const settled = await Promise.allSettled(workers);
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
  return results;
}

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

const WIDER = 'Move it into the project, or set a root that contains it (--root DIR).';

export const outsideProject = (path: string, root: string) =>
  error('outside_project', `${quoted(path)} is outside the project (${rootName(root)}).`, WIDER);

export const entryOutside = (path: string, root: string) =>
  error(
    'outside_project',
    `${quoted(path)} is outside the root (${rootName(root)}).`,
    'Set a root that contains it (--root DIR).',
  );

const rootName = (root: string) => (root === '.' ? 'the current folder' : root);

export const globClimbs = (pattern: string) =>
  error(
    'outside_project',
    `${quoted(pattern)} has ".." after a wildcard.`,
    'Put "../" only at the beginning.',
  );

export const globMatchesNothing = (pattern: string): Finding => ({
  severity: 'warning',
  code: 'import_matches_nothing',
  message: `${quoted(pattern)} matches no file.`,
  hint: 'Create one, or correct the pattern. It is relative to this manifest. Symbolic links are not followed.',
});

export const globTooWide = (pattern: string, limit: number) =>
  error(
    'glob_too_wide',
    limit === MANIFEST_LIMITS.globMatches
      ? `${quoted(pattern)} matches more than ${limit.toLocaleString('en')} files.`
      : `${quoted(pattern)} searches more than ${limit.toLocaleString('en')} files and folders.`,
    'Choose a smaller folder.',
  );

export const globTooComplex = (pattern: string, why: string) =>
  error(
    'glob_too_complex',
    `${quoted(pattern)} ${why}.`,
    'Write several simpler entries, such as "./tools/*.yml" or "./{tools,more}/**/*.yml".',
  );

export const globUnreadable = (pattern: string, reason: string) =>
  error(
    'file_unreadable',
    `${quoted(pattern)} cannot be searched for (${reason}).`,
    'Check the folder and its permissions.',
  );

export const tooManyFiles = (what: 'files' | 'bytes') =>
  error(
    'too_many_files',
    what === 'files'
      ? `More than ${MANIFEST_LIMITS.files.toLocaleString('en')} files would be loaded.`
      : `More than ${MANIFEST_LIMITS.totalBytes.toLocaleString('en')} bytes would be loaded.`,
    'Load fewer files, or use narrower globs.',
  );

export const wrongKind = (list: string, wanted: string, label: string, line: number, kind: string) =>
  error(
    'wrong_kind',
    `${label}:${line} is ${article(kind)} ${kind}, and "${list}" imports ${wanted}s.`,
    `List it under "${listOf(kind)}", or make the pattern narrower.`,
  );

const listOf = (kind: string) => `${kind.toLowerCase()}s`;
const article = (word: string) => (/^[aeiou]/i.test(word) ? 'an' : 'a');

export const nameTaken = (kind: string, name: string, label: string, line: number) =>
  error(
    'name_taken',
    `Another ${kind} is already named ${quoted(name)}: ${label}:${line}.`,
    'Rename one of them. Names are unique per kind.',
  );

export const builtinNameTaken = (name: string, label: string, line: number) =>
  error(
    'name_taken',
    `"builtin:${name}" and the Tool in ${label}:${line} have the same name.`,
    'Rename your tool, or remove the built-in one.',
  );
