import { dirname, relative, resolve, sep } from 'node:path';
import type { JsonObject } from '../../lib/json.ts';
import type { ImportOptions, SourceFile } from '../importer.ts';
import type { Report } from '../report.ts';
import type { SourceMap } from '../source-map.ts';
import { readNamed } from '../sources.ts';
import { listOf, mapOf, plainText, trimmedText } from '../values.ts';

/** What an agent has to import, by the lists of `import`: `builtin:NAME`, or a path in the folder of the import. */
export const LISTS = ['tools', 'relics', 'agents', 'workflows'] as const;
export type CortexImportList = (typeof LISTS)[number];

export class Needs {
  readonly tools = new Set<string>();
  readonly relics = new Set<string>();
  readonly agents = new Set<string>();
  readonly workflows = new Set<string>();

  add(more: Needs | undefined): void {
    for (const list of LISTS) for (const entry of more?.[list] ?? []) this[list].add(entry);
  }
}

/** One manifest of Cortex. */
export interface Unit {
  readonly kind: string;
  /** The name that its manifest has now: of two of one kind and name the second gets a number. */
  readonly name: string;
  readonly written: string;
  readonly source: SourceFile;
  /** Where its manifest goes, relative to the folder of the import, with `/`. */
  readonly out: string;
  readonly value: JsonObject;
  readonly fields: SourceMap;
  readonly report: Report;
}

export interface Converted {
  /** Its manifest without kind, name, version and description; undefined if it has no manifest of its own. */
  readonly body?: JsonObject;
  /** Comes after the description. */
  readonly details?: string | undefined;
  /** Lines at the head of the file. */
  readonly about?: readonly string[];
  /** Further manifests that it becomes, by their paths. */
  readonly others?: Readonly<Record<string, JsonObject>>;
}

/** A name that steps and imports use, as it is called now, and what has to be imported for it. */
export interface CortexFound {
  readonly target: string;
  readonly entry: string;
  readonly unit?: Unit;
}

export const MISSING = 'not among the imported files';

const KINDS = {
  tools: ['Tool', 'Feed'],
  relics: ['Relic'],
  agents: ['Agent', 'Monument'],
  workflows: ['Workflow'],
};

/** All manifests of one import, and what they refer to. */
export class Cortex {
  readonly units: readonly Unit[];
  readonly options: ImportOptions;
  /** What whoever imports a workflow or metadata has to import as well. */
  readonly needs = new Map<Unit, Needs>();
  readonly #base: string;

  /** `base` is the folder above all sources. */
  constructor(units: readonly Unit[], base: string, options: ImportOptions) {
    this.units = units;
    this.#base = base;
    this.options = options;
  }

  /** The manifest that a path or a name means: the one of that name that lies closest. */
  find(kind: string, reference: string, from: Unit): Unit | undefined {
    const folder = dirname(from.source.path);
    const ofKind = this.units.filter((unit) => unit.kind === kind);
    if (/^\.{0,2}\/|\.ya?ml$/.test(reference))
      return ofKind.find(({ source }) => source.path === resolve(folder, reference));
    const distance = ({ source }: Unit) => relative(folder, dirname(source.path)).split(sep).length;
    const named = ofKind.filter((unit) => unit !== from && unit.written === reference);
    return named.sort((a, b) => distance(a) - distance(b) || a.out.localeCompare(b.out))[0];
  }

  /** What a tool, relic, agent or workflow is called now; undefined if nothing takes its place. */
  target(list: CortexImportList, reference: string, from: Unit): CortexFound | undefined {
    const bare = bareName(reference);
    const builtin = list === 'tools' ? BUILTIN_TOOLS[bare]?.tool : undefined;
    if (builtin !== undefined) return { target: builtin, entry: `builtin:${builtin}` };
    const unit = KINDS[list]
      .map((kind) => this.find(kind, bare, from))
      .find((each) => each !== undefined && isRunnable(each));
    return unit === undefined ? undefined : { target: unit.name, entry: unit.out, unit };
  }

  /** Reads one list of imports, and reports what became of each entry: text, or a map with a path or a name. */
  resolve(list: CortexImportList, imports: SourceMap, from: Unit, needs: Needs): void {
    for (const each of listOf(imports.take(list))) {
      const reference = String(mapOf(each).path ?? mapOf(each).name ?? each);
      const found = this.target(list, reference, from);
      if (found !== undefined) needs[list].add(found.entry);
      const how = found === undefined ? MISSING : found.entry;
      const outcome = found === undefined ? 'left' : found.unit === undefined ? 'changed' : 'kept';
      imports.note(list, outcome, `${reference}: ${how}`);
    }
  }

  /** The folder of the sources, which `CORTEX_ROOT` moves. */
  get sourceRoot(): string {
    return `\${CORTEX_ROOT:-${this.#base}}`;
  }

  sourcePath(from: Unit, path: string): string {
    const below = relative(this.#base, resolve(dirname(from.source.path), path));
    return `${this.sourceRoot}/${plainText(below.split(sep).join('/'))}`;
  }

  /** The text of the first of these files beside a manifest that can be read. */
  async text(from: Unit, paths: readonly string[]): Promise<string | undefined> {
    for (const path of paths) {
      const file = resolve(dirname(from.source.path), path);
      const text = await readNamed(file, [this.#base, this.options.cwd], this.options);
      if (text !== undefined) return text.trim();
    }
    return undefined;
  }
}

/** `from:to` names of parameters, parted by spaces; a name alone stands for both. */
export function builtin(tool: string, parameters: string, operation?: string) {
  const pairs = parameters.split(' ').map((each) => each.split(':'));
  const names = new Map(pairs.map(([from = '', to = from]) => [from, to]));
  return { tool, operation, names };
}

/** Tools that are compiled into Cortex, and what takes their place. */
export const BUILTIN_TOOLS: Readonly<Record<string, ReturnType<typeof builtin>>> = {
  list: builtin('filesystem', 'path', 'list'),
  tree: builtin('filesystem', 'path max_depth:depth', 'tree'),
  grep: builtin('filesystem', 'pattern path glob max_results:limit', 'grep'),
  fs_read: builtin('filesystem', 'path start_line:offset limit', 'read'),
  fs_write: builtin('filesystem', 'path content', 'write'),
  exec: builtin('shell', 'command cmd:command input:command cwd timeout'),
  web_fetch: builtin('http_fetch', 'url method headers body'),
};

/** Tools and feeds that are compiled into Cortex have a manifest without anything to run. */
export function isRunnable({ kind, written, value }: Unit): boolean {
  if ((kind !== 'Tool' && kind !== 'Feed') || written === 'json') return true;
  const { entrypoint, runtime } = { ...value, ...mapOf(value.implementation) } as JsonObject;
  return trimmedText(entrypoint) !== undefined && runtime !== 'builtin';
}

export const bareName = (reference: string): string => reference.replace(/^builtin\//, '');
