import { isJsonObject, type Json, type JsonObject } from '../../../kernel/json.ts';
import { folderOf } from './paths.ts';
import { readMappings } from './read-mappings.ts';
import type { PackageHome, ResolveContext } from './resolve-context.ts';

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
