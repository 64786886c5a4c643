import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts';
import { folderOf, joined } from './paths.ts';

/** A manifest's path and text. */
export interface ContextManifestText {
  readonly path: string;
  readonly text: string;
}

/** What manifests say of imports. One that cannot be read says nothing: the folder's own tools will tell. */
export function readContext(manifests: readonly ContextManifestText[]): ResolveContext {
  const packages = new Map<string, PackageHome>();
  const crates = new Map<string, string>();
  const goModules: { module: string; folder: string }[] = [];
  const configs = new Map<string, JsonObject>();
  for (const { path, text } of manifests) {
    const folder = folderOf(path);
    const name = path.slice(folder === '' ? 0 : folder.length + 1);
    if (name === 'package.json') addPackage(packages, folder, parseJson(text));
    else if (name === 'go.mod') {
      const module = /^module[ \t]+"?([^\s"]+)/m.exec(text)?.[1];
      if (module !== undefined) goModules.push({ module, folder });
    } else if (name === 'Cargo.toml') {
      const crate = /^\[package\][^[]*?^name[ \t]*=[ \t]*"([^"]+)"/ms.exec(text)?.[1];
      if (crate !== undefined) crates.set(crate.replaceAll('-', '_'), folder);
    } else configs.set(path, parseJson(text));
  }
  return {
    packages,
    crates,
    goModules: goModules.toSorted((a, b) => b.module.length - a.module.length),
    configs: readMappings(configs).toSorted((a, b) => b.folder.length - a.folder.length),
  };
}

function addPackage(packages: Map<string, PackageHome>, folder: string, json: JsonObject): void {
  const { name, main, module, exports, imports, types } = json;
  if (typeof name !== 'string' || packages.has(name)) return;
  const entry = [module, main, types].find((each) => typeof each === 'string');
  packages.set(name, {
    folder,
    ...(typeof entry === 'string' ? { main: entry } : {}),
    ...(exports === undefined ? {} : { exports }),
    ...(imports === undefined ? {} : { imports }),
  });
}

const tableOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** JSON, or JSON with comments and commas before closing brackets. */
function parseJson(text: string): JsonObject {
  const bare = text.replace(/^\uFEFF/, '');
  try {
    return tableOf(JSON.parse(bare) as Json);
  } catch {
    try {
      const stripped = bare
        .replace(
          /("(?:[^"\\]|\\.)*(?:"|$))|\/\/[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*$)/g,
          (_all, quoted?: string) => quoted ?? '',
        )
        .replace(/("(?:[^"\\]|\\.)*(?:"|$))|,(?=\s*[}\]])/g, (_all, quoted?: string) => quoted ?? '');
      return tableOf(JSON.parse(stripped) as Json);
    } catch {
      return {};
    }
  }
}

/** What a config says of imports in the end, option by option: its own, else that of the last that it extends. */
interface ContextOptions {
  readonly baseUrl?: string;
  /** `from` is where the config stands that has them. */
  readonly paths?: { readonly from: string; readonly table: JsonObject };
}

/** The mapping of every `tsconfig.json` and `jsconfig.json` that has one. `configs`: all configs of the folder, by path. */
function readMappings(configs: ReadonlyMap<string, JsonObject>): readonly PathMapping[] {
  const known = new Map<string, ContextOptions>();
  return [...configs.keys()]
    .filter((path) => /(?:^|\/)[jt]sconfig\.json$/.test(path))
    .flatMap((path) => mappingOf(folderOf(path), optionsOf(path, configs, known)) ?? []);
}

/**
 * Options of each config are read once: however often it is extended, in a circle too, where the one that closes it is
 * taken to say nothing.
 */
function optionsOf(
  path: string,
  configs: ReadonlyMap<string, JsonObject>,
  known: Map<string, ContextOptions>,
): ContextOptions {
  const before = known.get(path);
  if (before !== undefined) return before;
  known.set(path, {});
  const config = configs.get(path) ?? {};
  const folder = folderOf(path);
  let options: ContextOptions = {};
  for (const parent of [config.extends ?? []].flat()) {
    if (typeof parent !== 'string' || !parent.startsWith('.')) continue;
    const base = joined(folder, parent) ?? '';
    options = { ...options, ...optionsOf(configs.has(base) ? base : `${base}.json`, configs, known) };
  }
  const { baseUrl, paths } = mappingTable(config.compilerOptions);
  const ownBase = typeof baseUrl === 'string' ? joined(folder, baseUrl) : undefined;
  const all: ContextOptions = {
    ...options,
    ...(ownBase === undefined ? {} : { baseUrl: ownBase }),
    ...(paths === undefined ? {} : { paths: { from: folder, table: mappingTable(paths) } }),
  };
  known.set(path, all);
  return all;
}

/** As TypeScript has it: paths begin at the `baseUrl` that holds, whoever says it; else where the config with them stands. */
function mappingOf(folder: string, { baseUrl, paths }: ContextOptions): PathMapping | undefined {
  if (baseUrl === undefined && paths === undefined) return undefined;
  const from = baseUrl ?? paths?.from ?? folder;
  const targetsOf = (targets: Json): readonly string[] =>
    (Array.isArray(targets) ? targets : []).flatMap((target) =>
      typeof target === 'string' ? (joined(from, target) ?? []) : [],
    );
  return {
    folder,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    paths: Object.entries(paths?.table ?? {})
      .map(([pattern, targets]): [string, readonly string[]] => [pattern, targetsOf(targets)])
      .toSorted(([a], [b]) => exactness(b) - exactness(a)),
  };
}

const exactness = (pattern: string): number =>
  pattern.includes('*') ? pattern.indexOf('*') : Number.MAX_SAFE_INTEGER;

const mappingTable = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** What a folder's own manifests say of how imports are written. Plain data: it comes from a thread. */
export interface ResolveContext {
  /** By name. */
  readonly packages: ReadonlyMap<string, PackageHome>;
  /** The deepest first. */
  readonly configs: readonly PathMapping[];
  /** Path of a Go module, and its folder. */
  readonly goModules: readonly { readonly module: string; readonly folder: string }[];
  /** Folders of Rust crates, by the name that code has for them. */
  readonly crates: ReadonlyMap<string, string>;
}

export interface PackageHome {
  /** `''` for the folder itself. */
  readonly folder: string;
  readonly main?: string;
  readonly exports?: Json;
  readonly imports?: Json;
}

/** `paths` and `baseUrl` that hold for the files of a tsconfig; as all paths here, relative to the folder that is read. */
export interface PathMapping {
  readonly folder: string;
  readonly baseUrl?: string;
  /** The most exact pattern first. */
  readonly paths: readonly (readonly [pattern: string, targets: readonly string[]])[];
}

export const EMPTY_CONTEXT: ResolveContext = {
  packages: new Map(),
  configs: [],
  goModules: [],
  crates: new Map(),
};

/** The files of a graph, as far as resolving looks at them. */
export interface ResolveView {
  has(path: string): boolean;
  /** The first file of a folder, in the order of names, that has this ending; tests come last. */
  firstIn(folder: string, ending: string): string | undefined;
  /** The first path that ends with these names: of `com/a/B.java`, `src/main/java/com/a/B.java`. */
  bySuffix(suffix: string): string | undefined;
}

/** `paths` are asked for when they are first needed: most languages only ask `has`. */
export function createResolveView(
  has: (path: string) => boolean,
  paths: () => Iterable<string>,
): ResolveView {
  let byName: Map<string, string[]> | undefined;
  let byFolder: Map<string, string[]> | undefined;
  const indexed = (keyOf: (path: string) => string): Map<string, string[]> => {
    const index = new Map<string, string[]>();
    for (const path of paths()) {
      if (!LOOKED_UP.test(path)) continue;
      const key = keyOf(path);
      const before = index.get(key);
      if (before === undefined) index.set(key, [path]);
      else before.push(path);
    }
    for (const group of index.values()) group.sort();
    return index;
  };
  return {
    has,
    firstIn(folder, ending) {
      byFolder ??= indexed(folderOf);
      const files = (byFolder.get(folder) ?? []).filter((path) => path.endsWith(ending));
      return files.find((path) => !path.endsWith(`_test${ending}`)) ?? files[0];
    },
    bySuffix(suffix) {
      byName ??= indexed(nameOf);
      return byName.get(nameOf(suffix))?.find((path) => path === suffix || path.endsWith(`/${suffix}`));
    },
  };
}

/** Languages whose imports name no file. */
const LOOKED_UP = /\.(?:go|java)$/;

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
