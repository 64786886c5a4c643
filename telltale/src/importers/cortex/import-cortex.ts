import { dirname, join, relative, sep } from 'node:path';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { ImportedFile, Importer, ImportOptions, MadeFile, SourceFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createNames, type Names, nameOf } from '../names.ts';
import { createReport, remarksOf, SourceFields } from '../report.ts';
import { commonFolder, problem, readDocuments } from '../sources.ts';
import { textOf } from '../values.ts';
import { convertAgent, convertMonument } from './convert-agent.ts';
import { convertRelic, convertTool } from './convert-tool.ts';
import { convertMetadata, convertWorkflow } from './convert-workflow.ts';
import { BUILTIN_TOOLS, type Converted, Cortex, isRunnable, type Unit } from './cortex.ts';

const KIND = /^\s*"?kind"?:\s*["']?(Agent|Tool|Relic|Workflow|Metadata|Feed|Monument)\b/m;

export const cortex: Importer = {
  pattern: '**/*.{yml,yaml}',
  detect: ({ source }) => KIND.test(source.text),
  import: importCortex,
};

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

type Convert = (unit: Unit, context: Cortex) => Converted | Promise<Converted>;
const CONVERTERS: Readonly<Record<string, Convert>> = {
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
  fields.named('name', name);
  const { manifests, about } = await convert(unit, context);
  fields.rest();
  const origin = `Imported from ${file}, ${kind} of Cortex.`;
  const files = manifests.map(({ path, manifest }, index): MadeFile => {
    const head = index === 0 ? [...about, origin, ...remarksOf(report.entries())] : [origin];
    return { path, text: yamlOf(manifest, head) };
  });
  const made = { kind: kind.toLowerCase(), name, files, entries: report.entries() };
  return { file, diagnostics: [], made };
}
