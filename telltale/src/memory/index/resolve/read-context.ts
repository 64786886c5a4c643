import { isJsonObject, type Json, type JsonObject } from '../../../kernel/json.ts';
import { folderOf, joined } from './paths.ts';
import type { PackageHome, PathMapping, ResolveContext } from './resolve-context.ts';

/** A manifest's path and text. */
export interface ManifestText {
  readonly path: string;
  readonly text: string;
}

/** What manifests say of imports. One that cannot be read says nothing: the folder's own tools will tell. */
export function readContext(manifests: readonly ManifestText[]): ResolveContext {
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
    configs: [...configs.keys()]
      .filter((path) => /(?:^|\/)[jt]sconfig\.json$/.test(path))
      .flatMap((path) => mappingOf(path, configs, 0) ?? [])
      .toSorted((a, b) => b.folder.length - a.folder.length),
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

const MAX_EXTENDS = 5;

/** Its own, else that of the file it extends, where that is one of the folder's. */
function mappingOf(
  path: string,
  configs: ReadonlyMap<string, JsonObject>,
  depth: number,
): PathMapping | undefined {
  const config = configs.get(path);
  if (config === undefined || depth > MAX_EXTENDS) return undefined;
  const folder = folderOf(path);
  const { baseUrl, paths } = tableOf(config.compilerOptions);
  if (typeof baseUrl === 'string' || paths !== undefined) {
    const base = typeof baseUrl === 'string' ? baseUrl : '.';
    return {
      folder,
      ...(typeof baseUrl === 'string' ? { baseUrl } : {}),
      paths: Object.entries(tableOf(paths))
        .map(([pattern, targets]): [string, readonly string[]] => [
          pattern,
          (Array.isArray(targets) ? targets : []).flatMap((target) =>
            typeof target === 'string' ? [`${base}/${target}`] : [],
          ),
        ])
        .toSorted(([a], [b]) => exactness(b) - exactness(a)),
    };
  }
  const parents = [config.extends ?? []].flat().filter((each) => typeof each === 'string');
  for (const parent of parents.toReversed()) {
    if (!parent.startsWith('.')) continue;
    const base = joined(folder, parent) ?? '';
    const inherited = mappingOf(configs.has(base) ? base : `${base}.json`, configs, depth + 1);
    if (inherited === undefined) continue;
    // Its paths begin where it stands, and hold for the files of the one that extends it.
    const back = '../'.repeat(folder === '' ? 0 : folder.split('/').length) + inherited.folder;
    return {
      folder,
      ...(inherited.baseUrl === undefined ? {} : { baseUrl: `${back}/${inherited.baseUrl}` }),
      paths: inherited.paths.map(([pattern, targets]) => [pattern, targets.map((each) => `${back}/${each}`)]),
    };
  }
  return undefined;
}

const exactness = (pattern: string): number =>
  pattern.includes('*') ? pattern.indexOf('*') : Number.MAX_SAFE_INTEGER;

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
