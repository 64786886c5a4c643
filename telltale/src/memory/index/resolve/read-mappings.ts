import { isJsonObject, type Json, type JsonObject } from '../../../kernel/json.ts';
import { folderOf, joined } from './paths.ts';
import type { PathMapping } from './resolve-context.ts';

/** What a config says of imports in the end, option by option: its own, else that of the last that it extends. */
interface Options {
  readonly baseUrl?: string;
  /** `from` is where the config stands that has them. */
  readonly paths?: { readonly from: string; readonly table: JsonObject };
}

/** The mapping of every `tsconfig.json` and `jsconfig.json` that has one. `configs`: all configs of the folder, by path. */
export function readMappings(configs: ReadonlyMap<string, JsonObject>): readonly PathMapping[] {
  const known = new Map<string, Options>();
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
  known: Map<string, Options>,
): Options {
  const before = known.get(path);
  if (before !== undefined) return before;
  known.set(path, {});
  const config = configs.get(path) ?? {};
  const folder = folderOf(path);
  let options: Options = {};
  for (const parent of [config.extends ?? []].flat()) {
    if (typeof parent !== 'string' || !parent.startsWith('.')) continue;
    const base = joined(folder, parent) ?? '';
    options = { ...options, ...optionsOf(configs.has(base) ? base : `${base}.json`, configs, known) };
  }
  const { baseUrl, paths } = tableOf(config.compilerOptions);
  const ownBase = typeof baseUrl === 'string' ? joined(folder, baseUrl) : undefined;
  const all: Options = {
    ...options,
    ...(ownBase === undefined ? {} : { baseUrl: ownBase }),
    ...(paths === undefined ? {} : { paths: { from: folder, table: tableOf(paths) } }),
  };
  known.set(path, all);
  return all;
}

/** As TypeScript has it: paths begin at the `baseUrl` that holds, whoever says it; else where the config with them stands. */
function mappingOf(folder: string, { baseUrl, paths }: Options): PathMapping | undefined {
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

const tableOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
