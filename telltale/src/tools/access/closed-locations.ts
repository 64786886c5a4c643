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
import { coverageOfCommand } from '../definition/command-coverage.ts';
import { commandFiles } from '../definition/covered-call.ts';
import {
  commandFolders,
  levelsOf,
  linkedPackages,
  loadedCode,
  pythonCode,
  pythonModules,
  readAtStart,
} from './agent-files.ts';
import { folded, follow } from './permitted-paths.ts';

/** Where configuration and code are loaded from. Absolute paths, links resolved; they need not exist yet. */
export interface ClosedPlaces {
  /** Manifests, modules, transcripts, scripts, settings. */
  readonly files: readonly string[];
  /** Folders that are closed with everything in them: node_modules, linked packages. */
  readonly trees: readonly string[];
  /** Folders of the project in which programs are looked for by their names: they are on PATH. */
  readonly programs: readonly string[];
  /** Folders in which a new file may be loaded: commands create nothing directly in them. */
  readonly folders: readonly string[];
  /** Folders whose files are loaded because a glob of an agent's `import` matches them. */
  readonly globs: readonly ClosedGlob[];
  /** Folders that modules of tools and artifacts lie in, and those whose code a module may load by a computed path. */
  readonly code: readonly string[];
  /** Settings and hooks of git repositories that a person uses, too. */
  readonly git: readonly string[];
}

interface ClosedGlob {
  readonly folder: string;
  /** Whether the glob also matches files in the folders below. */
  readonly isDeep: boolean;
  /** In lower case, with the dot; undefined where the glob names none. */
  readonly extension: string | undefined;
}

export interface ClosedSources {
  /** What the agent was loaded with. */
  readonly project: Project;
  /** The agent's folder. */
  readonly folder: string;
  /** The folder of the process. */
  readonly cwd: string;
  /** Folders that a server watches, or was told to serve. */
  readonly served: readonly string[];
  readonly env: Env;
  readonly clock: Pick<Clock, 'now'>;
}

/** How long what was found counts. Only people can add to it: agents are kept from these places. */
const FRESH_MS = 2_000;
/** A search that took long is repeated less often. */
const FRESH_FACTOR = 20;
const OWN_FOLDER = '.telltale';
/** Where the command line reads environment variables from, in the folder that it is started in. */
const ENV_FILE = '.env';
const PROJECT_FILE = /^telltale\.ya?ml$/;
const MODULE_FILE = /\.(?:[cm]?[jt]sx?|node|wasm)$/;
const PYTHON_FILE = /\.(?:py[cdw]?|so)$/;
/** The names of files that modules are loaded from. */
export const CODE_FILE = new RegExp(`${MODULE_FILE.source}|${PYTHON_FILE.source}`);
/** Parts of manifests whose programs run outside the sandbox, or judge what an agent does. */
const TRUSTED_PARTS: ReadonlySet<string> = new Set(['mcp', 'hooks', 'notifications']);
/** Variables that name folders of code. */
const CODE_FOLDERS: ReadonlySet<string> = new Set(
  'NODE_PATH PYTHONPATH PYTHONHOME RUBYLIB GEM_PATH GEM_HOME PERL5LIB LUA_PATH CLASSPATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH'.split(
    ' ',
  ),
);
/** Variables that have an interpreter or a shell load a file before its program. */
const LOADS_FIRST: ReadonlySet<string> = new Set(
  'NODE_OPTIONS BASH_ENV ENV PYTHONSTARTUP RUBYOPT PERL5OPT LD_PRELOAD DYLD_INSERT_LIBRARIES'.split(' '),
);
/** Where this code is installed, and what of it runs. */
const OWN_PACKAGE = resolve(fileURLToPath(new URL('../../..', import.meta.url)));
const OWN_CODE = ['src', 'dist', 'bundle', 'bin'];
const PACKAGE_FILES = ['package.json', 'tsconfig.json'];
const GIT_SETTINGS = ['config', 'config.worktree', 'commondir', 'hooks'];

/**
 * Everything that this process, or a later one in the project, loads as configuration or code. Whoever writes there is
 * bound by no permission, so agents do not: neither by the tool `filesystem`, nor by git, nor by a command in a sandbox.
 */
export class ClosedLocations {
  readonly #sources: ClosedSources;
  #found: Promise<ClosedPlaces> | undefined;
  #freshUntil = 0;

  constructor(sources: ClosedSources) {
    this.#sources = sources;
  }

  /** The places as they are now, or were a moment ago. */
  places(): Promise<ClosedPlaces> {
    const { clock } = this.#sources;
    const began = clock.now();
    if (this.#found !== undefined && began < this.#freshUntil) return this.#found;
    this.#freshUntil = Number.POSITIVE_INFINITY;
    const finding = findPlaces(this.#sources);
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

  /** Whether no approval opens a path: the runtime's own files, and packages. */
  async isNeverWritten(real: string): Promise<boolean> {
    const path = folded(real);
    if (path.split(/[\\/]/).includes(OWN_FOLDER)) return true;
    return (await this.places()).trees.some((tree) => isInside(path, folded(tree)));
  }

  /**
   * Why an agent may not put this content at a path, links resolved; undefined where it may. Without content only the
   * place is judged.
   */
  async reasonAgainst(real: string, content?: string): Promise<string | undefined> {
    const path = folded(real);
    const segments = path.split(/[\\/]/);
    const name = segments.at(-1) ?? '';
    if (segments.includes(OWN_FOLDER)) return `"${OWN_FOLDER}" holds the runtime's own files`;
    const { files, trees, programs, globs, code } = await this.places();
    if (files.some((file) => folded(file) === path))
      return name === ENV_FILE
        ? 'keys and addresses of providers are read from it'
        : 'it is a file that an agent consists of';
    if (PROJECT_FILE.test(name)) return `a project is configured by a file named "${name}"`;
    const tree = trees.find((each) => isInside(path, folded(each)));
    if (tree !== undefined) return `code is loaded from "${tree}"`;
    const onPath = programs.find((each) => isInside(path, folded(each)));
    if (onPath !== undefined) return `"${onPath}" is on PATH, so programs are started from there`;
    const folder = dirname(path);
    const glob = globs.find((each) => globCovers(each, path));
    if (glob !== undefined) return `an agent imports the files of "${glob.folder}" by a glob`;
    const isCode = CODE_FILE.test(name);
    const brought = globs.find((each) => isCode && globCovers({ ...each, extension: undefined }, path));
    const parent = name === '__init__.py' ? dirname(folder) : folder;
    const near = brought?.folder ?? code.find((each) => isCode && folded(each) === parent);
    if (near !== undefined) return `modules are loaded from "${near}"`;
    if (
      content !== undefined &&
      MANIFEST_FILE.test(name) &&
      (isLoadable(content) || this.#isManifest(content))
    )
      return 'its content is a manifest, which a later "telltale dev" or "telltale serve" would load';
    return undefined;
  }

  /** A folder search knows manifests by their text. Whoever names such a file loads it however it is spelled. */
  #isManifest(content: string): boolean {
    if (!/kind|\\/i.test(content) || content.length > MANIFEST_LIMITS.fileBytes) return false;
    const decoded = decodeSource('written', Buffer.from(content));
    if (!decoded.ok) return false;
    return readManifests(decoded.source, this.#sources.env).documents.some(
      ({ value }) =>
        isMap(value) && MANIFEST_KINDS.some((kind) => kind === value.kind) && value.apiVersion === undefined,
    );
  }

  /** Why an agent may not put a link there: it would bring what it leads to into a place that is loaded from. */
  async reasonAgainstLink(real: string, target: string): Promise<string | undefined> {
    const reason = (await this.reasonAgainst(real)) ?? (await this.reasonAgainst(target));
    if (reason !== undefined) return reason;
    const path = folded(real);
    const { files, trees, programs, folders, globs } = await this.places();
    const places = [...files, ...trees, ...programs, ...folders, ...globs.map((glob) => glob.folder)];
    if (places.some((place) => isInside(folded(place), path))) return 'a folder is loaded from there';
    const name = path.split(/[\\/]/).at(-1) ?? '';
    const counts = MANIFEST_FILE.test(name) || CODE_FILE.test(name) || name === 'agents';
    if (counts && folders.some((folder) => folded(folder) === dirname(path)))
      return 'a link with that name is followed when manifests are loaded';
    return undefined;
  }
}

/** Whether a scan of a folder loads a YAML or JSON file with this text. */
function isLoadable(content: string): boolean {
  // As a scan decodes it: without a byte order mark.
  const text = new TextDecoder().decode(new TextEncoder().encode(content));
  return looksLikeManifest(text) || looksLikeAgent(text);
}

function globCovers({ folder, isDeep, extension }: ClosedGlob, path: string): boolean {
  if (extension !== undefined && extname(path) !== extension) return false;
  return isDeep ? isInside(path, folded(folder)) : dirname(path) === folded(folder);
}

async function findPlaces({ project, folder, cwd, served, env }: ClosedSources): Promise<ClosedPlaces> {
  const roots = [project.root, folder, cwd, ...served];
  const search = new PlaceSearch(env, await Promise.all(roots.map(realOr)));
  for (const root of roots) await search.addFolder(root);
  for (const root of roots) await search.addFolder(join(root, 'agents'), { ifThere: true });
  for (const { file } of project.manifests) search.expect(file);
  // The folder a process was started in may be a home folder: its subfolders are not searched.
  // A project that is the whole disk cannot be searched before each write.
  for (const root of new Set([project.root, folder, ...served]))
    if (dirname(root) !== root) await search.scan(root);
  await search.scanShallow(cwd);
  await search.addPath(cwd);
  await search.addProcess(cwd);
  await search.readAll();
  return search.finish([folder, cwd, project.root], project.root);
}

/** Collects what manifests name. */
class PlaceSearch {
  readonly #env: Env;
  readonly #files = new Set<string>();
  readonly #trees = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #globs: ClosedGlob[] = [];
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

  /** A file that is read as a manifest. It need not be there. */
  expect(file: string): void {
    this.#waiting.push(file);
  }

  async addFolder(path: string, { ifThere = false } = {}): Promise<string | undefined> {
    const found = await follow(path).catch(() => undefined);
    if (found === undefined || (ifThere && !found.exists)) return undefined;
    this.#folders.add(found.real);
    // Where the folder is still missing, creating it is what is closed to commands.
    for (let at = found.real; !found.exists; at = dirname(at)) {
      this.#folders.add(at);
      if (dirname(at) === at || (await isThere(at))) break;
    }
    return found.real;
  }

  /** Whoever writes into a folder on PATH decides what `git` is, and what `bwrap` is. */
  async addPath(cwd: string): Promise<void> {
    for (const entry of (this.#env.PATH ?? '').split(delimiter)) {
      const folder = await realOr(resolve(cwd, entry));
      if (!this.#isOfProject(folder)) continue;
      await this.addFolder(folder);
      if (!this.#roots.some((root) => isInside(root, folder))) this.#programs.add(folder);
    }
  }

  /** What this process was started with, and a later one in the folder will be: its own code, and what its environment names. */
  async addProcess(cwd: string): Promise<void> {
    for (const part of OWN_CODE) this.#trees.add(join(OWN_PACKAGE, part));
    for (const level of levelsOf(OWN_PACKAGE)) this.#trees.add(join(level, 'node_modules'));
    this.#files.add(join(OWN_PACKAGE, 'package.json'));
    this.#files.add(join(await realOr(cwd), ENV_FILE));
    this.#addEnvironment(this.#env, cwd, false);
    for (const entry of (this.#env.NODE_PATH ?? '').split(delimiter).filter((each) => each !== '')) {
      const folder = await realOr(resolve(cwd, entry));
      if (!this.#roots.some((root) => isInside(root, folder))) this.#codeFolders.add(folder);
    }
  }

  #isOfProject(path: string): boolean {
    return this.#roots.some((root) => dirname(root) !== root && isInside(path, root));
  }

  async scan(root: string): Promise<void> {
    for (const file of (await walkFolder(root)).files) if (await holdsLoadable(file)) this.expect(file);
  }

  async scanShallow(folder: string): Promise<void> {
    for (const below of [folder, join(folder, 'agents')])
      for (const name of await readdir(below).catch(() => [] as string[]))
        if (MANIFEST_FILE.test(name) && (await holdsLoadable(join(below, name))))
          this.expect(join(below, name));
  }

  async readAll(): Promise<void> {
    for (let file = this.#waiting.pop(); file !== undefined; file = this.#waiting.pop())
      await this.#readManifest(file);
  }

  async finish(starts: readonly string[], root: string): Promise<ClosedPlaces> {
    const scripts = [...this.#scripts];
    const python = await pythonCode(scripts.filter((file) => PYTHON_FILE.test(file)));
    const { files, open, packages } = await loadedCode([
      ...this.#modules,
      ...scripts.filter((file) => MODULE_FILE.test(file)),
    ]);
    for (const file of [...files, ...scripts, ...python.files]) this.#files.add(file);
    for (const folder of [...packages, ...python.packages]) this.#trees.add(folder);
    for (const each of this.#codeFolders) {
      const folder = await realOr(each);
      if (this.#isOfProject(folder)) this.#trees.add(folder);
    }
    for (const folder of this.#programFolders) await this.addFolder(folder, { ifThere: true });
    for (const folder of python.folders) await this.addFolder(folder);
    const direct = await Promise.all([...this.#modules].map((module) => realOr(dirname(module))));
    const folders = [...new Set(files.map((file) => dirname(file)))];
    for (const folder of folders) {
      await this.addFolder(folder);
      // The nearest package.json decides how a module is read, and where its imports lead.
      for (const level of levelsOf(folder))
        for (const name of PACKAGE_FILES) this.#files.add(join(level, name));
    }
    for (const start of [...starts, ...folders])
      for (const level of levelsOf(await realOr(start))) {
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

  /** A link in one of the folders may lead to a file elsewhere, which is loaded then. */
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
    const file = await follow(path).then(
      ({ real }) => real,
      () => undefined,
    );
    if (file === undefined || this.#read.has(file)) return;
    this.#read.add(file);
    this.#files.add(file);
    const folder = dirname(file);
    await this.addFolder(folder);
    await this.addFolder(dirname(path));
    await this.#closeMarkers(folder);
    this.#files.add(join(folder, VARIABLES_FILE));
    const bytes = await readSmall(file);
    const decoded = bytes === undefined ? undefined : decodeSource(file, bytes);
    if (decoded?.ok !== true) return;
    for (const { value } of readManifests(decoded.source, this.#env).documents)
      if (isMap(value)) await this.#readDocument(value as Document, folder);
  }

  /** A package.json, telltale.yml or .git on the way up from a manifest would be the top of its project from then on. */
  async #closeMarkers(folder: string): Promise<void> {
    const root = await findProjectRoot(folder, { exists: isThere });
    if (root === undefined) return;
    for (const level of levelsOf(folder)) {
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
      if (what.type === 'file') this.expect(resolve(folder, what.path));
      if (what.type !== 'glob') continue;
      // A glob that names a file as it stands is that file.
      this.#files.add(resolve(folder, what.pattern));
      const parts = splitGlob(what.pattern);
      const base = parts === undefined ? undefined : await this.addFolder(resolve(folder, parts.folder));
      if (parts === undefined || base === undefined) continue;
      const extension = /\.\w+$/.exec(parts.rest)?.[0].toLowerCase();
      const isDeep = parts.rest.includes('/') || parts.rest.includes('**');
      this.#globs.push({ folder: base, isDeep, extension });
    }
  }

  /** Where it is not there yet, commands must not create it. */
  async #addTranscript(path: string): Promise<void> {
    const found = await follow(path).catch(() => undefined);
    this.#files.add(found?.real ?? path);
    if (found?.exists === false) await this.addFolder(dirname(found.real));
  }

  async #addModule(module: Json | undefined, folder: string): Promise<void> {
    if (typeof module !== 'string' || module === '') return;
    if (/^[./]/.test(module) || /\.[cm]?[jt]s$/.test(module)) this.#modules.add(resolve(folder, module));
    else for (const linked of await linkedPackages(module, folder)) this.#trees.add(linked);
  }

  /**
   * What the programs of commands load, as far as it can be followed. What a step is verified by is the agent's work, and
   * so is what other commands find by themselves: the scripts in package.json, a Makefile.
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

  /** The files that a program is told of by its environment, and the folders that it loads code from. */
  #addEnvironment(env: Readonly<Record<string, unknown>>, cwd: string, isTrusted: boolean): void {
    for (const [name, value] of Object.entries(env)) {
      if (typeof value !== 'string' || !(isTrusted || LOADS_FIRST.has(name))) continue;
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
      for (const script of [...named, ...runs, ...readAtStart(words, found)]) this.#scripts.add(script);
    }
  }
}

type Document = Readonly<Record<string, Json | undefined>> & { readonly [key: string]: Json };

async function holdsLoadable(file: string): Promise<boolean> {
  const bytes = await readSmall(file);
  return bytes !== undefined && isLoadable(new TextDecoder().decode(bytes));
}

/** Undefined for what is too large to be a manifest, is no file or cannot be read: nothing loads that either. */
async function readSmall(file: string): Promise<Uint8Array | undefined> {
  try {
    const stats = await lstat(await realpath(file));
    if (!stats.isFile() || stats.size > MANIFEST_LIMITS.fileBytes) return undefined;
    return await readFile(file);
  } catch {
    return undefined;
  }
}

const realOr = (path: string): Promise<string> =>
  follow(path).then(
    ({ real }) => real,
    () => path,
  );

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
