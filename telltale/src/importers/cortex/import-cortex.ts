import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import { fileDiagnostic } from '../../manifest/files/file-finding.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { ImportedFile, Importer, ImportOptions, MadeFile, SourceFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createNames, type Names, nameOf } from '../names.ts';
import { createReport, type Report, SourceFields } from '../report.ts';
import { readDocuments, readSource } from '../sources.ts';
import { listOf, literal, mapOf, paragraphs, textOf } from '../values.ts';
import { convertAgent, convertMonument } from './convert-agent.ts';
import { convertMetadata } from './convert-metadata.ts';
import { convertRelic } from './convert-relic.ts';
import { BUILTIN_TOOLS, convertTool, isRunnable } from './convert-tool.ts';
import { bareName, convertWorkflow } from './convert-workflow.ts';

const KIND = /^\s*"?kind"?:\s*["']?(Agent|Tool|Relic|Workflow|Metadata|Feed|Monument)\b/m;

export const cortex: Importer = {
  pattern: '**/*.{yml,yaml}',
  detect: ({ source }) => KIND.test(source.text),
  import: importCortex,
};

/** What an agent has to import, by the lists of `import`: `builtin:NAME`, or a path in the folder of the import. */
export const LISTS = ['tools', 'relics', 'agents', 'workflows'] as const;
export type ImportList = (typeof LISTS)[number];
export type Needs = Readonly<Record<ImportList, Set<string>>>;

export const noNeeds = (): Needs => ({
  tools: new Set(),
  relics: new Set(),
  agents: new Set(),
  workflows: new Set(),
});

export function addNeeds(needs: Needs, more: Needs | undefined): void {
  for (const list of LISTS) for (const entry of more?.[list] ?? []) needs[list].add(entry);
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
  readonly fields: SourceFields;
  readonly report: Report;
}

export interface Converted {
  readonly manifests: readonly { readonly path: string; readonly manifest: JsonObject }[];
  /** Lines at the head of the file. */
  readonly about: readonly string[];
}

/** A name that steps and imports use, as it is called now, and what has to be imported for it. */
export interface Found {
  readonly target: string;
  readonly entry: string;
  readonly unit?: Unit;
}

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
  target(list: ImportList, reference: string, from: Unit): Found | undefined {
    const bare = bareName(reference);
    const builtin = list === 'tools' ? BUILTIN_TOOLS[bare]?.tool : undefined;
    if (builtin !== undefined) return { target: builtin, entry: `builtin:${builtin}` };
    const unit = KINDS[list]
      .map((kind) => this.find(kind, bare, from))
      .find((each) => each !== undefined && isRunnable(each));
    return unit === undefined ? undefined : { target: unit.name, entry: unit.out, unit };
  }

  /** Reads one list of imports, and reports what became of each entry: text, or a map with a path or a name. */
  resolve(list: ImportList, imports: SourceFields, from: Unit, needs: Needs): void {
    for (const each of listOf(imports.take(list))) {
      const reference = String(mapOf(each).path ?? mapOf(each).name ?? each);
      const found = this.target(list, reference, from);
      if (found !== undefined) needs[list].add(found.entry);
      const how = found === undefined ? 'not among the imported files' : found.entry;
      imports.note(
        list,
        found === undefined ? 'left' : found.unit === undefined ? 'changed' : 'kept',
        `${reference}: ${how}`,
      );
    }
  }

  /** The folder of the sources, which `CORTEX_ROOT` moves. */
  get sourceRoot(): string {
    return `\${CORTEX_ROOT:-${this.#base}}`;
  }

  sourcePath(from: Unit, path: string): string {
    const below = relative(this.#base, resolve(dirname(from.source.path), path));
    return `${this.sourceRoot}/${literal(below.split(sep).join('/'))}`;
  }

  /** The text of the first of these files beside a manifest that can be read. */
  async text(from: Unit, paths: readonly string[]): Promise<string | undefined> {
    for (const path of paths) {
      const read = await readSource(resolve(dirname(from.source.path), path), this.options);
      if ('source' in read) return read.source.text.trim();
    }
    return undefined;
  }
}

async function importCortex(
  files: readonly SourceFile[],
  options: ImportOptions,
): Promise<readonly ImportedFile[]> {
  const base = commonFolder(files.map(({ path }) => dirname(path)));
  const failed: ImportedFile[] = [];
  const names = new Map<string, Names>();
  const units = files.flatMap((source) => unitsOf(source, base, names, failed));
  const context = new Cortex(units, base, options);
  const imported: ImportedFile[] = [];
  // Agents come last: they import what the workflows and metadata need.
  const kinds = Object.keys(CONVERTERS);
  for (const unit of units.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))) {
    options.signal.throwIfAborted();
    imported.push(await importUnit(unit, context));
  }
  return [...failed, ...imported];
}

function unitsOf(
  source: SourceFile,
  base: string,
  names: Map<string, Names>,
  failed: ImportedFile[],
): readonly Unit[] {
  const { documents, diagnostics } = readDocuments(source.source);
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const fail = (found: readonly Diagnostic[]) => {
    failed.push({ file: source.file, diagnostics: found });
    return [];
  };
  if (errors.length > 0) return fail(errors);
  const units = documents.flatMap(({ value, lineOf }, index): readonly Unit[] => {
    if (!isMap(value) || typeof value.kind !== 'string') return [];
    const report = createReport(lineOf);
    const below = relative(base, source.path)
      .split(sep)
      .join('/')
      .replace(/\.ya?ml$/, '');
    const written = textOf(value.name as Json) ?? below.split('/').at(-2) ?? below;
    const kind = KIND_HERE[value.kind] ?? value.kind;
    const taken = names.get(kind) ?? createNames();
    names.set(kind, taken);
    const name = taken.take(nameOf(written));
    const out = `${below}${index === 0 ? '' : `-${index + 1}`}.yml`;
    const fields = new SourceFields(value as JsonObject, { step: null, path: [] }, report);
    return [{ kind: value.kind, name, written, source, out, value: value as JsonObject, fields, report }];
  });
  return units.length > 0
    ? units
    : fail([problem(source.file, 'not_cortex', 'The file has no "kind".', 'Name a manifest of Cortex.')]);
}

/** Kinds that become another one share its names. */
const KIND_HERE: Readonly<Record<string, string>> = { Feed: 'Tool', Monument: 'Agent' };

const problem = (file: string, code: string, message: string, hint: string): Diagnostic =>
  fileDiagnostic(file, { severity: 'error', code, message, hint });

const CONVERTERS: Readonly<Record<string, (unit: Unit, context: Cortex) => Converted | Promise<Converted>>> =
  {
    Tool: convertTool,
    Feed: convertTool,
    Relic: convertRelic,
    Workflow: convertWorkflow,
    Metadata: convertMetadata,
    Agent: convertAgent,
    Monument: convertMonument,
  };

async function importUnit(unit: Unit, context: Cortex): Promise<ImportedFile> {
  const { kind, name, written, out, source, report, fields } = unit;
  const { file, path: from } = source;
  const fail = (...words: readonly [code: string, message: string, hint: string]) => ({
    file,
    diagnostics: [problem(file, ...words)],
  });
  const convert = CONVERTERS[kind];
  if (convert === undefined)
    return fail('unknown_kind', `Cortex has no kind "${kind}".`, 'Correct the kind.');
  if (join(context.options.out, out) === from)
    return fail('same_folder', 'The manifest would replace its source.', 'Name another folder with --out.');
  const tool = BUILTIN_TOOLS[written]?.tool;
  const instead =
    tool === undefined ? 'Nothing takes its place.' : `What imports it imports builtin:${tool} now.`;
  if (!isRunnable(unit))
    return fail('built_in', `"${written}" is compiled into Cortex: there is nothing to run.`, instead);
  fields.take('kind');
  fields.take('name');
  fields.note('name', written === name ? 'kept' : 'changed', `name ${name}`);
  const { manifests, about } = await convert(unit, context);
  fields.rest();
  const remarks = report.entries().flatMap(({ step, construct, outcome, how }) => {
    if (outcome === 'kept') return [];
    return [`${step === null ? '' : `${step}, `}${construct} (${outcome}): ${how}`];
  });
  const origin = `Imported from ${file}, ${kind} of Cortex.`;
  const files = manifests.map(({ path, manifest }, index): MadeFile => {
    return { path, text: yamlOf(manifest, index === 0 ? [...about, origin, ...remarks] : [origin]) };
  });
  return {
    file,
    diagnostics: [],
    made: { kind: kind.toLowerCase(), name, files, entries: report.entries() },
  };
}

function commonFolder(folders: readonly string[]): string {
  const [first = '/', ...others] = folders;
  let common = first;
  for (const folder of others)
    while (folder !== common && !folder.startsWith(common.endsWith(sep) ? common : common + sep))
      common = dirname(common);
  return common;
}

/** What all kinds have. Keys without a place in ours are lines at the head of the file. */
export function headOf(fields: SourceFields): {
  readonly about: string[];
  readonly version: string | undefined;
  readonly description: string | undefined;
} {
  const about = ['author', 'state', 'grade', 'agency_level', 'category', 'tags'].flatMap((key) => {
    const value = fields.changed(key, 'a comment at the head of the file');
    return value === undefined ? [] : [`${key}: ${listOf(value).join(', ')}`];
  });
  const version = textOf(fields.kept('version'));
  const description = paragraphs(
    textOf(fields.kept('summary', 'description')),
    textOf(fields.kept('description')),
  );
  return { about, version, description: description === undefined ? undefined : literal(description) };
}
