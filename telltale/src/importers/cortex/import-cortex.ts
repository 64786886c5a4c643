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
import { convertAgent, convertMonument } from './convert-agent.ts';
import { convertMetadata } from './convert-metadata.ts';
import { BUILTIN_TOOLS, convertFeed, convertRelic, convertTool } from './convert-tool.ts';
import { convertWorkflow } from './convert-workflow.ts';
import { literal, mapOf, textOf } from './texts.ts';

const KIND = /^\s*"?kind"?:\s*["']?(Agent|Tool|Relic|Workflow|Metadata|Feed|Monument)\b/m;

export const cortex: Importer = {
  pattern: '**/*.{yml,yaml}',
  detect: ({ source }) => KIND.test(source.text),
  import: importCortex,
};

/** What an agent has to import, by the lists of `import`: `builtin:NAME`, or a path in the folder of the import. */
export type ImportList = 'tools' | 'relics' | 'agents' | 'workflows';
export type Needs = Readonly<Record<ImportList, Set<string>>>;

export const noNeeds = (): Needs => ({
  tools: new Set(),
  relics: new Set(),
  agents: new Set(),
  workflows: new Set(),
});

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
  /** What whoever uses it has to import as well. */
  readonly needs?: Needs;
  /** Lines at the head of the file. */
  readonly about?: readonly string[];
}

/** A name that steps and imports use, as it is called now, and what has to be imported for it. */
export interface Found {
  readonly target: string;
  readonly entry: string;
  readonly unit?: Unit;
}

/** All manifests of one import, and what they refer to. */
export class Cortex {
  readonly units: readonly Unit[];
  /** The folder above all sources. */
  readonly base: string;
  readonly options: ImportOptions;
  /** What the workflows need, and the workflows that the hooks of a metadata manifest became. */
  readonly needs = new Map<Unit, Needs>();
  readonly hookWorkflows = new Map<Unit, readonly string[]>();

  constructor(units: readonly Unit[], base: string, options: ImportOptions) {
    this.units = units;
    this.base = base;
    this.options = options;
  }

  /** The manifest that a path or a name means: the one of that name that lies closest. */
  find(kind: string, reference: string, from: Unit): Unit | undefined {
    const folder = dirname(from.source.path);
    const path = resolve(folder, reference);
    const byPath = this.units.find((unit) => unit.kind === kind && unit.source.path === path);
    if (byPath !== undefined || isPath(reference)) return byPath;
    const named = this.units.filter(
      (unit) => unit.kind === kind && unit !== from && unit.written === reference,
    );
    const distance = (unit: Unit) => relative(folder, dirname(unit.source.path)).split(sep).length;
    return named.sort((a, b) => distance(a) - distance(b) || a.out.localeCompare(b.out))[0];
  }

  /** What a tool, relic, agent or workflow is called now; undefined if nothing takes its place. */
  target(list: ImportList, reference: string, from: Unit): Found | undefined {
    const bare = reference.replace(/^builtin\//, '');
    const builtin = list === 'tools' && !isPath(reference) ? BUILTIN_TOOLS[bare]?.tool : undefined;
    if (builtin !== undefined) return { target: builtin, entry: `builtin:${builtin}` };
    const kinds = { tools: ['Tool', 'Feed'], relics: ['Relic'], agents: ['Agent'], workflows: ['Workflow'] }[
      list
    ];
    for (const kind of kinds) {
      const unit = this.find(kind, bare, from);
      if (unit !== undefined && isConvertible(unit)) return { target: unit.name, entry: unit.out, unit };
    }
    return undefined;
  }

  /** A path of Cortex's, relative to a manifest, that is still right when the sources move: `CORTEX_ROOT` is their folder. */
  sourcePath(from: Unit, path: string): string {
    const below = relative(this.base, resolve(dirname(from.source.path), path))
      .split(sep)
      .join('/');
    return `\${CORTEX_ROOT:-${this.base}}/${literal(below)}`;
  }

  /** The text of a file beside a manifest. */
  async text(from: Unit, path: string): Promise<string | undefined> {
    const read = await readSource(resolve(dirname(from.source.path), path), this.options);
    return 'source' in read ? read.source.text.trim() : undefined;
  }
}

export const isPath = (reference: string): boolean => /^\.{0,2}\/|\.ya?ml$/.test(reference);

/** Tools and feeds that are compiled into Cortex have a manifest without anything to run. */
function isConvertible({ kind, value }: Unit): boolean {
  if (kind !== 'Tool' && kind !== 'Feed') return true;
  const { entrypoint, runtime } = { ...value, ...mapOf(value.implementation as Json) } as JsonObject;
  return textOf(entrypoint as Json) !== undefined && runtime !== 'builtin';
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
  const order = ['Tool', 'Feed', 'Relic', 'Workflow', 'Metadata', 'Agent', 'Monument'];
  for (const unit of units.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))) {
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

async function importUnit(unit: Unit, context: Cortex): Promise<ImportedFile> {
  const { kind, name, written, source, report, fields } = unit;
  const { file } = source;
  if (!isConvertible(unit)) {
    const tool = BUILTIN_TOOLS[written]?.tool;
    const hint =
      tool === undefined ? 'Nothing takes its place.' : `Agents that import it import builtin:${tool} now.`;
    return {
      file,
      diagnostics: [
        problem(file, 'built_in', `"${name}" is compiled into Cortex: there is nothing to run.`, hint),
      ],
    };
  }
  fields.take('kind');
  fields.note('name', written === name ? 'kept' : 'changed', `name ${name}`);
  const converted = await convert(unit, context);
  if (converted === undefined)
    return {
      file,
      diagnostics: [problem(file, 'unknown_kind', `Cortex has no kind "${kind}".`, 'Correct the kind.')],
    };
  fields.rest();
  const about = [...(converted.about ?? []), `Imported from ${file}, ${kind} of Cortex.`, ...remarks(report)];
  const files = converted.manifests.map(
    ({ path, manifest }, index): MadeFile => ({
      path,
      text: yamlOf(manifest, index === 0 ? about : [`Imported from ${file}, ${kind} of Cortex.`]),
    }),
  );
  const clash = files.find(({ path }) => join(context.options.out, path) === source.path);
  if (clash !== undefined)
    return {
      file,
      diagnostics: [
        problem(
          file,
          'same_folder',
          'The manifest would replace its source.',
          'Name another folder with --out.',
        ),
      ],
    };
  return {
    file,
    diagnostics: [],
    made: { kind: kind.toLowerCase(), name, files, entries: report.entries() },
  };
}

const remarks = (report: Report): readonly string[] =>
  report
    .entries()
    .filter(({ outcome }) => outcome !== 'kept')
    .map(
      ({ step, construct, outcome, how }) =>
        `${step === null ? '' : `${step}, `}${construct} (${outcome}): ${how}`,
    );

function convert(unit: Unit, context: Cortex): Converted | Promise<Converted> | undefined {
  switch (unit.kind) {
    case 'Tool':
      return convertTool(unit, context);
    case 'Feed':
      return convertFeed(unit, context);
    case 'Relic':
      return convertRelic(unit);
    case 'Workflow':
      return convertWorkflow(unit, context);
    case 'Metadata':
      return convertMetadata(unit, context);
    case 'Agent':
      return convertAgent(unit, context);
    case 'Monument':
      return convertMonument(unit, context);
    default:
      return undefined;
  }
}

function commonFolder(folders: readonly string[]): string {
  const [first = '/', ...others] = folders;
  let common = first;
  for (const folder of others)
    while (folder !== common && !folder.startsWith(common.endsWith(sep) ? common : common + sep))
      common = dirname(common);
  return common;
}

/** Keys that say what a manifest is about and have no place in ours: lines at the head of the file. */
export function aboutOf(fields: SourceFields): readonly string[] {
  return ['author', 'state', 'grade', 'agency_level', 'category', 'tags'].flatMap((key) => {
    const value = fields.changed(key, 'a comment at the head of the file');
    if (value === undefined) return [];
    return [`${key}: ${Array.isArray(value) ? value.join(', ') : String(value)}`];
  });
}

/** `version` and `description`, of all kinds. */
export function commonOf(fields: SourceFields): JsonObject {
  const version = fields.kept('version');
  const summary = textOf(fields.kept('summary', 'description'));
  const description = textOf(fields.kept('description'));
  const both = [summary, description === summary ? undefined : description].filter(
    (text) => text !== undefined,
  );
  return {
    ...(version === undefined ? {} : { version: String(version) }),
    ...(both.length === 0 ? {} : { description: literal(both.join('\n\n')) }),
  };
}
