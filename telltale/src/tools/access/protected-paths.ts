import { lstat, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { delimiter, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import { MANIFEST_KINDS } from '../../manifest/check-manifest.ts';
import { MANIFEST_LIMITS } from '../../manifest/diagnostic.ts';
import type { Env } from '../../manifest/environment.ts';
import {
  findProjectRoot,
  isInside,
  looksLikeAgent,
  MANIFEST_FILE,
  walkFolder,
} from '../../manifest/files.ts';
import { importEntries, splitGlob } from '../../manifest/project/import-entries.ts';
import type { Project } from '../../manifest/project/project.ts';
import { readManifests } from '../../manifest/read-manifests.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { decodeSource } from '../../manifest/source-text.ts';
import { looksLikeManifest } from '../../manifest/validate-manifests.ts';
import { VARIABLES_FILE } from '../../manifest/variables-file.ts';
import { commandFiles } from '../definition/approved-files.ts';
import { coverageOfCommand } from '../definition/command-coverage.ts';
import {
  commandFolders,
  filesReadAtStart,
  findLoadedCode,
  findPythonCode,
  linkedPackages,
  pythonModules,
  withParents,
} from './loaded-code.ts';
import { foldCase, resolveLinks } from './permitted-paths.ts';

/**
 * The locations that configuration and code are loaded from. Absolute paths, links resolved. They need not exist yet.
 */
export interface ProtectedLocations {
  /** Manifests, modules, transcripts, scripts, settings. */
  readonly files: readonly string[];
  /** Folders that are protected with everything in them: node_modules, linked packages. */
  readonly trees: readonly string[];
  /** Folders of the project that are on PATH. */
  readonly programs: readonly string[];
  /** Folders in which a new file may be loaded. Commands must not create anything directly in them. */
  readonly folders: readonly string[];
  /** Folders whose files are loaded because a glob of an agent's `import` matches them. */
  readonly globs: readonly ProtectedGlob[];
  /** Folders of tool and artifact modules, and folders from which a module may load code by a computed path. */
  readonly code: readonly string[];
  /** Settings and hooks of git repositories, which a person uses, too. */
  readonly git: readonly string[];
}

interface ProtectedGlob {
  readonly folder: string;
  /** Whether the glob also matches files in subfolders. */
  readonly isDeep: boolean;
  /** In lower case, with the dot. Undefined if the glob names none. */
  readonly extension: string | undefined;
}

export interface ProtectedPathsDeps {
  /** The project the agent was loaded from. */
  readonly project: Project;
  /** The agent's folder. */
  readonly folder: string;
  /** The working folder of the process. */
  readonly cwd: string;
  /** Folders that a server watches or serves. */
  readonly served: readonly string[];
  readonly env: Env;
  readonly clock: Pick<Clock, 'now'>;
}

/** How long a search result stays valid. Only people can add locations meanwhile: agents cannot write to them. */
const FRESH_MS = 2_000;
/** A slow search is repeated less often: its result stays valid for this many times the time it took. */
const FRESH_FACTOR = 20;
const OWN_FOLDER = '.telltale';
/** The command line reads environment variables from this file in the folder it is started in. */
const ENV_FILE = '.env';
const PROJECT_FILE = /^telltale\.ya?ml$/;
const MODULE_FILE = /\.(?:[cm]?[jt]sx?|node|wasm)$/;
const PYTHON_FILE = /\.(?:py[cdw]?|so)$/;
/** The names of files that modules are loaded from. */
export const CODE_FILE = new RegExp(`${MODULE_FILE.source}|${PYTHON_FILE.source}`);
/** Parts of manifests whose programs run outside the sandbox, or judge an agent's work. */
const TRUSTED_PARTS: ReadonlySet<string> = new Set(['mcp', 'hooks', 'notifications']);
/** Variables that name folders of code. */
const CODE_FOLDERS: ReadonlySet<string> = new Set(
  'NODE_PATH PYTHONPATH PYTHONHOME RUBYLIB GEM_PATH GEM_HOME PERL5LIB LUA_PATH CLASSPATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH'.split(
    ' ',
  ),
);
/** Variables that make an interpreter or a shell load a file before its program. */
const PRELOAD_VARIABLES: ReadonlySet<string> = new Set(
  'NODE_OPTIONS BASH_ENV ENV PYTHONSTARTUP RUBYOPT PERL5OPT LD_PRELOAD DYLD_INSERT_LIBRARIES'.split(' '),
);
/** Where Telltale itself is installed, and the folders of it that contain code. */
const OWN_PACKAGE = resolve(fileURLToPath(new URL('../../..', import.meta.url)));
const OWN_CODE = ['src', 'dist', 'bundle', 'bin'];
const PACKAGE_FILES = ['package.json', 'tsconfig.json'];
const GIT_SETTINGS = ['config', 'config.worktree', 'commondir', 'hooks'];

/**
 * Everything that this process, or a later one in the project, loads as configuration or code. Whoever can write there
 * escapes all permissions. So agents cannot write there: not with the tool `filesystem`, not with git, and not with a
 * command in a sandbox.
 */
export class ProtectedPaths {
  readonly #sources: ProtectedPathsDeps;
  #found: Promise<ProtectedLocations> | undefined;
  #freshUntil = 0;

  constructor(sources: ProtectedPathsDeps) {
    this.#sources = sources;
  }

  /** The locations as they are now, or were a moment ago. */
  locations(): Promise<ProtectedLocations> {
    const { clock } = this.#sources;
    const began = clock.now();
    if (this.#found !== undefined && began < this.#freshUntil) return this.#found;
    this.#freshUntil = Number.POSITIVE_INFINITY;
    const finding = findProtectedPaths(this.#sources);
    this.#found = finding;
    const settle = () => {
      const now = clock.now();
      this.#freshUntil = now + Math.max(FRESH_MS, (now - began) * FRESH_FACTOR);
    };
    finding.then(settle, () => {
      this.#found = undefined;
    });
    return finding;
  }

  /** Whether no approval can make a path writable: the runtime's own files, and packages. */
  async isNeverWritable(real: string): Promise<boolean> {
    const path = foldCase(real);
    if (path.split(/[\\/]/).includes(OWN_FOLDER)) return true;
    return (await this.locations()).trees.some((tree) => isInside(path, foldCase(tree)));
  }

  /**
   * Explains why an agent may not write this content to a path (links resolved). Undefined if it may. Without content,
   * only the location is checked.
   */
  async whyNotWritable(real: string, content?: string): Promise<string | undefined> {
    const path = foldCase(real);
    const segments = path.split(/[\\/]/);
    const name = segments.at(-1) ?? '';
    if (segments.includes(OWN_FOLDER)) return `"${OWN_FOLDER}" holds the runtime's own files`;
    const { files, trees, programs, globs, code } = await this.locations();
    if (files.some((file) => foldCase(file) === path))
      return name === ENV_FILE
        ? 'keys and addresses of providers are read from it'
        : 'it is a file that an agent consists of';
    if (PROJECT_FILE.test(name)) return `a project is configured by a file named "${name}"`;
    const tree = trees.find((each) => isInside(path, foldCase(each)));
    if (tree !== undefined) return `code is loaded from "${tree}"`;
    const onPath = programs.find((each) => isInside(path, foldCase(each)));
    if (onPath !== undefined) return `"${onPath}" is on PATH, so programs are started from there`;
    const folder = dirname(path);
    const glob = globs.find((each) => globCovers(each, path));
    if (glob !== undefined) return `an agent imports the files of "${glob.folder}" by a glob`;
    const isCode = CODE_FILE.test(name);
    const brought = globs.find((each) => isCode && globCovers({ ...each, extension: undefined }, path));
    const parent = name === '__init__.py' ? dirname(folder) : folder;
    const near = brought?.folder ?? code.find((each) => isCode && foldCase(each) === parent);
    if (near !== undefined) return `modules are loaded from "${near}"`;
    if (
      content !== undefined &&
      MANIFEST_FILE.test(name) &&
      (isLoadable(content) || this.#isManifest(content))
    )
      return 'its content is a manifest, which a later "telltale dev" or "telltale serve" would load';
    return undefined;
  }

  /** A folder scan recognizes manifests by their text, but a file named directly is loaded however it is spelled. */
  #isManifest(content: string): boolean {
    if (!/kind|\\/i.test(content) || content.length > MANIFEST_LIMITS.fileBytes) return false;
    const decoded = decodeSource('written', Buffer.from(content));
    if (!decoded.ok) return false;
    return readManifests(decoded.source, this.#sources.env).documents.some(
      ({ value }) =>
        isMap(value) && MANIFEST_KINDS.some((kind) => kind === value.kind) && value.apiVersion === undefined,
    );
  }

  /**
   * Explains why an agent may not create a link there: it would bring its target into a location that code is loaded
   * from.
   */
  async whyNotLinkable(real: string, target: string): Promise<string | undefined> {
    const reason = (await this.whyNotWritable(real)) ?? (await this.whyNotWritable(target));
    if (reason !== undefined) return reason;
    const path = foldCase(real);
    const { files, trees, programs, folders, globs } = await this.locations();
    const places = [...files, ...trees, ...programs, ...folders, ...globs.map((glob) => glob.folder)];
    if (places.some((place) => isInside(foldCase(place), path))) return 'a folder is loaded from there';
    const name = path.split(/[\\/]/).at(-1) ?? '';
    const counts = MANIFEST_FILE.test(name) || CODE_FILE.test(name) || name === 'agents';
    if (counts && folders.some((folder) => foldCase(folder) === dirname(path)))
      return 'a link with that name is followed when manifests are loaded';
    return undefined;
  }
}

/** Whether a folder scan would load a YAML or JSON file with this text. */
function isLoadable(content: string): boolean {
  // Decode it as a scan does, without a byte order mark.
  const text = new TextDecoder().decode(new TextEncoder().encode(content));
  return looksLikeManifest(text) || looksLikeAgent(text);
}

function globCovers({ folder, isDeep, extension }: ProtectedGlob, path: string): boolean {
  if (extension !== undefined && extname(path) !== extension) return false;
  return isDeep ? isInside(path, foldCase(folder)) : dirname(path) === foldCase(folder);
}

async function findProtectedPaths({
  project,
  folder,
  cwd,
  served,
  env,
}: ProtectedPathsDeps): Promise<ProtectedLocations> {
  const roots = [project.root, folder, cwd, ...served];
  const search = new ProtectedPathSearch(env, await Promise.all(roots.map(realPathOr)));
  for (const root of roots) await search.addFolder(root);
  for (const root of roots) await search.addFolder(join(root, 'agents'), { ifThere: true });
  for (const { file } of project.manifests) search.addManifest(file);
  // The working folder may be a home folder, so its subfolders are not searched. A project that is the whole disk
  // cannot be searched before each write.
  for (const root of new Set([project.root, folder, ...served]))
    if (dirname(root) !== root) await search.scan(root);
  await search.scanShallow(cwd);
  await search.addPath(cwd);
  await search.addProcess(cwd);
  await search.readAll();
  return search.finish([folder, cwd, project.root], project.root);
}

/** Collects the locations that manifests name. */
class ProtectedPathSearch {
  readonly #env: Env;
  readonly #files = new Set<string>();
  readonly #trees = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #globs: ProtectedGlob[] = [];
  readonly #modules = new Set<string>();
  readonly #scripts = new Set<string>();
  readonly #programFolders = new Set<string>();
  readonly #programs = new Set<string>();
  readonly #codeFolders = new Set<string>();
  readonly #waiting: string[] = [];
  readonly #read = new Set<string>();
  readonly #roots: readonly string[];

  /** `roots`: the folders of the project and of the process, links resolved. */
  constructor(env: Env, roots: readonly string[]) {
    this.#env = env;
    this.#roots = roots;
  }

  /** Queues a file to be read as a manifest. It need not exist. */
  addManifest(file: string): void {
    this.#waiting.push(file);
  }

  async addFolder(path: string, { ifThere = false } = {}): Promise<string | undefined> {
    const found = await resolveLinks(path).catch(() => undefined);
    if (found === undefined || (ifThere && !found.exists)) return undefined;
    this.#folders.add(found.real);
    // If the folder does not exist yet, its parents are protected, so that commands cannot create it.
    for (let at = found.real; !found.exists; at = dirname(at)) {
      this.#folders.add(at);
      if (dirname(at) === at || (await exists(at))) break;
    }
    return found.real;
  }

  /** Whoever writes into a folder on PATH decides which program `git` is, and which `bwrap` is. */
  async addPath(cwd: string): Promise<void> {
    for (const entry of (this.#env.PATH ?? '').split(delimiter)) {
      const folder = await realPathOr(resolve(cwd, entry));
      if (!this.#isOfProject(folder)) continue;
      await this.addFolder(folder);
      if (!this.#roots.some((root) => isInside(root, folder))) this.#programs.add(folder);
    }
  }

  /**
   * Adds what this process was started with, and what a later process in the folder would be: Telltale's own code, and
   * everything the environment names.
   */
  async addProcess(cwd: string): Promise<void> {
    for (const part of OWN_CODE) this.#trees.add(join(OWN_PACKAGE, part));
    for (const level of withParents(OWN_PACKAGE)) this.#trees.add(join(level, 'node_modules'));
    this.#files.add(join(OWN_PACKAGE, 'package.json'));
    this.#files.add(join(await realPathOr(cwd), ENV_FILE));
    this.#addEnvironment(this.#env, cwd, false);
    for (const entry of (this.#env.NODE_PATH ?? '').split(delimiter).filter((each) => each !== '')) {
      const folder = await realPathOr(resolve(cwd, entry));
      if (!this.#roots.some((root) => isInside(root, folder))) this.#codeFolders.add(folder);
    }
  }

  #isOfProject(path: string): boolean {
    return this.#roots.some((root) => dirname(root) !== root && isInside(path, root));
  }

  async scan(root: string): Promise<void> {
    for (const file of (await walkFolder(root)).files)
      if (await containsLoadable(file)) this.addManifest(file);
  }

  async scanShallow(folder: string): Promise<void> {
    for (const below of [folder, join(folder, 'agents')])
      for (const name of await readdir(below).catch(() => [] as string[]))
        if (MANIFEST_FILE.test(name) && (await containsLoadable(join(below, name))))
          this.addManifest(join(below, name));
  }

  async readAll(): Promise<void> {
    for (let file = this.#waiting.pop(); file !== undefined; file = this.#waiting.pop())
      await this.#readManifest(file);
  }

  async finish(starts: readonly string[], root: string): Promise<ProtectedLocations> {
    const scripts = [...this.#scripts];
    const python = await findPythonCode(scripts.filter((file) => PYTHON_FILE.test(file)));
    const {
      files,
      dynamicFolders: open,
      packages,
    } = await findLoadedCode([...this.#modules, ...scripts.filter((file) => MODULE_FILE.test(file))]);
    for (const file of [...files, ...scripts, ...python.files]) this.#files.add(file);
    for (const folder of [...packages, ...python.packages]) this.#trees.add(folder);
    for (const each of this.#codeFolders) {
      const folder = await realPathOr(each);
      if (this.#isOfProject(folder)) this.#trees.add(folder);
    }
    for (const folder of this.#programFolders) await this.addFolder(folder, { ifThere: true });
    for (const folder of python.folders) await this.addFolder(folder);
    const direct = await Promise.all([...this.#modules].map((module) => realPathOr(dirname(module))));
    const folders = [...new Set(files.map((file) => dirname(file)))];
    for (const folder of folders) {
      await this.addFolder(folder);
      // The nearest package.json decides how a module is read and where its imports lead.
      for (const level of withParents(folder))
        for (const name of PACKAGE_FILES) this.#files.add(join(level, name));
    }
    for (const start of [...starts, ...folders])
      for (const level of withParents(await realPathOr(start))) {
        this.#trees.add(join(level, 'node_modules'));
        if (isInside(level, root)) this.#folders.add(level);
      }
    for (const name of ['telltale.yml', 'telltale.yaml']) this.#files.add(join(root, name));
    await this.#followLinks();
    return {
      files: [...this.#files],
      trees: [...this.#trees],
      programs: [...this.#programs],
      folders: [...this.#folders],
      globs: this.#globs,
      code: [...new Set([...direct, ...open, ...python.folders])],
      git: [...this.#folders].flatMap((folder) => [
        ...GIT_SETTINGS.map((name) => join(folder, '.git', name)),
        join(folder, '.git'),
      ]),
    };
  }

  /** A link in one of the folders may lead to a file elsewhere, which is then loaded. */
  async #followLinks(): Promise<void> {
    for (const folder of [...this.#folders])
      for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
        if (!entry.isSymbolicLink() || !(MANIFEST_FILE.test(entry.name) || CODE_FILE.test(entry.name)))
          continue;
        const path = join(folder, entry.name);
        const target = await realpath(path).catch(async () => {
          const named = await readlink(path).catch(() => entry.name);
          return resolve(folder, named);
        });
        this.#files.add(target);
      }
  }

  async #readManifest(path: string): Promise<void> {
    const file = await resolveLinks(path).then(
      ({ real }) => real,
      () => undefined,
    );
    if (file === undefined || this.#read.has(file)) return;
    this.#read.add(file);
    this.#files.add(file);
    const folder = dirname(file);
    await this.addFolder(folder);
    await this.addFolder(dirname(path));
    await this.#protectProjectMarkers(folder);
    this.#files.add(join(folder, VARIABLES_FILE));
    const bytes = await readSmall(file);
    const decoded = bytes === undefined ? undefined : decodeSource(file, bytes);
    if (decoded?.ok !== true) return;
    for (const { value } of readManifests(decoded.source, this.#env).documents)
      if (isMap(value)) await this.#readDocument(value as Document, folder);
  }

  /** A new package.json, telltale.yml or .git above a manifest would become the root of its project. */
  async #protectProjectMarkers(folder: string): Promise<void> {
    const root = await findProjectRoot(folder, { exists: exists });
    if (root === undefined) return;
    for (const level of withParents(folder)) {
      if (level === root) return;
      this.#files.add(join(level, 'package.json'));
      await this.addFolder(level);
    }
  }

  async #readDocument(document: Document, folder: string): Promise<void> {
    this.#addCommands(document, folder);
    const { kind, implementation, model, models, module } = document;
    if (kind === 'Tool' && isMap(implementation))
      await this.#addModule(implementation.module as Json, folder);
    if (kind === 'Artifact') await this.#addModule(module, folder);
    if (kind !== 'Agent') return;
    for (const ref of [model, ...(isMap(models) ? Object.values(models) : [])]) {
      const script = typeof ref === 'string' ? /^scripted:(.+)$/s.exec(ref)?.[1] : undefined;
      if (script !== undefined) await this.#addTranscript(resolve(folder, script));
    }
    for (const { what } of importEntries(document)) {
      if (what.type === 'file') this.addManifest(resolve(folder, what.path));
      if (what.type !== 'glob') continue;
      // A glob without wildcards is that file.
      this.#files.add(resolve(folder, what.pattern));
      const parts = splitGlob(what.pattern);
      const base = parts === undefined ? undefined : await this.addFolder(resolve(folder, parts.folder));
      if (parts === undefined || base === undefined) continue;
      const extension = /\.\w+$/.exec(parts.rest)?.[0].toLowerCase();
      const isDeep = parts.rest.includes('/') || parts.rest.includes('**');
      this.#globs.push({ folder: base, isDeep, extension });
    }
  }

  /** If the transcript does not exist yet, commands must not create it. */
  async #addTranscript(path: string): Promise<void> {
    const found = await resolveLinks(path).catch(() => undefined);
    this.#files.add(found?.real ?? path);
    if (found?.exists === false) await this.addFolder(dirname(found.real));
  }

  async #addModule(module: Json | undefined, folder: string): Promise<void> {
    if (typeof module !== 'string' || module === '') return;
    if (/^[./]/.test(module) || /\.[cm]?[jt]s$/.test(module)) this.#modules.add(resolve(folder, module));
    else for (const linked of await linkedPackages(module, folder)) this.#trees.add(linked);
  }

  /**
   * Adds what the programs of commands load, as far as that can be followed. The commands in `verify` check the agent's
   * own work and are left out, and so are files that other commands find by themselves, such as the scripts in
   * package.json or a Makefile.
   */
  #addCommands(value: Json, folder: string, isTrusted = false): void {
    if (Array.isArray(value)) for (const each of value) this.#addCommands(each, folder, isTrusted);
    if (!isMap(value)) return;
    const { command, args, cwd, env } = value as Document;
    const words = [...(Array.isArray(command) ? command : [command]), ...(Array.isArray(args) ? args : [])];
    const texts = words.filter((word) => typeof word === 'string');
    const at = typeof cwd === 'string' ? resolve(folder, cwd) : folder;
    if (texts.length > 0) this.#addCommand(texts, at, isTrusted);
    if (texts.length > 0 && isMap(env)) this.#addEnvironment(env, at, isTrusted);
    for (const [key, each] of Object.entries(value))
      if (key !== 'verify') this.#addCommands(each as Json, folder, isTrusted || TRUSTED_PARTS.has(key));
  }

  /** Adds the files that a program learns of from its environment, and the folders it loads code from. */
  #addEnvironment(env: Readonly<Record<string, unknown>>, cwd: string, isTrusted: boolean): void {
    for (const [name, value] of Object.entries(env)) {
      if (typeof value !== 'string' || !(isTrusted || PRELOAD_VARIABLES.has(name))) continue;
      if (CODE_FOLDERS.has(name))
        for (const folder of value.split(delimiter)) this.#codeFolders.add(resolve(cwd, folder));
      const parts = value.split(/[\s=:,;]+/).filter((part) => part !== '');
      const code = parts.filter((part) => CODE_FILE.test(part)).map((part) => resolve(cwd, part));
      for (const file of [...code, ...commandFiles(['', ...parts], cwd)]) this.#scripts.add(file);
    }
  }

  #addCommand(words: readonly string[], cwd: string, isTrusted: boolean): void {
    for (const at of commandFolders(words, cwd)) {
      const place = { folder: at, cwd: at, path: this.#env.PATH, roots: [at], namesOnly: true } as const;
      const { files, runs } = coverageOfCommand(words, place);
      const found = isTrusted ? files.map(({ path }) => resolve(at, path)) : [];
      if (isTrusted) this.#programFolders.add(at);
      const named = [...commandFiles(words, at), ...pythonModules(words, at)];
      for (const script of [...named, ...runs, ...filesReadAtStart(words, found)]) this.#scripts.add(script);
    }
  }
}

type Document = Readonly<Record<string, Json | undefined>> & { readonly [key: string]: Json };

async function containsLoadable(file: string): Promise<boolean> {
  const bytes = await readSmall(file);
  return bytes !== undefined && isLoadable(new TextDecoder().decode(bytes));
}

/** Undefined if it is too large for a manifest, not a file, or unreadable. Nothing loads such a file either. */
async function readSmall(file: string): Promise<Uint8Array | undefined> {
  try {
    const stats = await lstat(await realpath(file));
    if (!stats.isFile() || stats.size > MANIFEST_LIMITS.fileBytes) return undefined;
    return await readFile(file);
  } catch {
    return undefined;
  }
}

const realPathOr = (path: string): Promise<string> =>
  resolveLinks(path).then(
    ({ real }) => real,
    () => path,
  );

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
