import { basename, dirname } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import type { SourceFile } from '../importer.ts';
import { createReport, type Entry, type Report } from '../report.ts';
import { SourceMap } from '../source-map.ts';
import { readDocuments } from '../sources.ts';
import { textOf } from '../values.ts';

/**
 * The files of a workflow, by the names that Mozaiks gives them, JSON or YAML; and the keys that say what a document of a
 * file with several of them is.
 */
const KEYS = {
  orchestrator:
    'orchestrator workflow_name name initial_agent initial_message startup_mode max_turns visual_agents',
  agents: 'agents',
  handoffs: 'handoffs handoff_rules',
  context_variables: 'context_variables ContextVariablesPlan definitions derived_variables',
  tools: 'tools lifecycle_tools tool_files ui_tools',
  structured_outputs: 'structured_outputs models registry',
  hooks: 'hooks hook_files',
  ui_config: 'ui_config',
  workflow_graph: 'workflow_graph mid_flight_journeys journeys',
} as const;

export type Section = keyof typeof KEYS;
const SECTIONS = Object.keys(KEYS) as readonly Section[];

/** What the generator of Mozaiks writes while it plans; the definitions follow in other documents. */
const PLANNING =
  'PatternSelection WorkflowStrategy StateArchitecture UXArchitecture AgentRoster ToolPlanning MermaidSequenceDiagram PackMetadata agent_message';

/** One workflow of Mozaiks: a folder of files, or one file that holds all of it. */
export interface MozaiksDefinition {
  /** As messages show it. */
  readonly file: string;
  /** The folder that its Python files are looked up in, absolute. */
  readonly folder: string;
  /** What it is called where nothing says so. */
  readonly fallbackName: string;
  readonly sections: ReadonlyMap<Section, readonly SourceMap[]>;
  /** Sections that have a file of their own, where a bare `agents` or `variables` means that section's. */
  readonly isFolder: boolean;
  readonly diagnostics: readonly Diagnostic[];
  entries(): readonly Entry[];
  /** Reports every key that nobody read. */
  rest(): void;
}

const sectionOf = (path: string): Section | undefined =>
  SECTIONS.find((section) => section === basename(path).replace(/\.(ya?ml|json)$/, ''));

const BUNDLE = /^\s*(?:"?handoff_rules"?|"?\w+_output"?|ContextVariablesPlan|"?derived_variables"?)\s*:/m;

/** Whether a file found in a folder defines a workflow, or a part of one. */
export const isMozaiks = ({ path, source }: SourceFile): boolean =>
  sectionOf(path) !== undefined || BUNDLE.test(source.text);

/** Groups files into workflows: those of one folder belong together, any other file stands for itself. */
export function readDefinitions(files: readonly SourceFile[]): readonly MozaiksDefinition[] {
  const folders = new Map<string, SourceFile[]>();
  for (const file of files) {
    const folder = dirname(file.path);
    const home = sectionOf(file.path) === undefined ? file.path : workflowFolder(folder);
    folders.set(home, [...(folders.get(home) ?? []), file]);
  }
  return [...folders].map(([home, own]) => readDefinition(home, own));
}

/** `_pack/workflow_graph.json` belongs to the folder above. */
const workflowFolder = (folder: string): string => (basename(folder) === '_pack' ? dirname(folder) : folder);

function readDefinition(home: string, files: readonly SourceFile[]): MozaiksDefinition {
  const isFolder = files.some(({ path }) => path !== home);
  const sections = new Map<Section, SourceMap[]>();
  const diagnostics: Diagnostic[] = [];
  const reports: Report[] = [];
  const roots: SourceMap[] = [];
  const add = (section: Section, part: SourceMap) => {
    sections.set(section, [...(sections.get(section) ?? []), part]);
  };
  for (const file of files) {
    const read = readDocuments(file.source);
    diagnostics.push(...read.diagnostics);
    const section = sectionOf(file.path);
    for (const { value, lineOf } of read.documents) {
      const report = createReport(lineOf, files.length > 1 ? file.file : undefined);
      reports.push(report);
      const root = new SourceMap(rootOf(value, section), null, [], report);
      roots.push(root);
      if (section !== undefined) add(section, root);
      else route(root, add);
    }
  }
  const [first] = files;
  return {
    file: isFolder && files.length > 1 ? dirname(shownHome(files)) : (first?.file ?? home),
    folder: isFolder ? home : dirname(home),
    fallbackName: basename(home).replace(/\.(ya?ml|json)$/, ''),
    sections,
    isFolder,
    diagnostics,
    entries: () => reports.flatMap((report) => report.entries()),
    rest: () => {
      for (const root of roots) root.rest();
    },
  };
}

const shownHome = (files: readonly SourceFile[]): string =>
  files.find(({ path }) => basename(dirname(path)) !== '_pack')?.file ?? '.';

/** A file that is a list holds the entries of its section. */
function rootOf(value: Json, section: Section | undefined): JsonObject {
  if (isJsonObject(value)) return value;
  return Array.isArray(value) && section !== undefined ? { [section]: value } : { value };
}

/** A document without a name of its own: its keys say what it holds. */
function route(part: SourceMap, add: (section: Section, part: SourceMap) => void): void {
  for (const key of PLANNING.split(' '))
    part.left(key, 'it is a record of planning; what runs is defined in the other documents');
  for (const key of Object.keys(part.value)) {
    const nested = key.endsWith('_output') ? part.part(key) : undefined;
    if (nested !== undefined) route(nested, add);
  }
  for (const section of SECTIONS)
    if (part.keyOf(...KEYS[section].split(' ')) !== undefined) add(section, part);
}

/** The map that holds the entries of a section: some files wrap it once more in its name. */
export function inner(part: SourceMap, ...keys: readonly string[]): SourceMap {
  for (const key of keys) {
    const nested = part.part(key);
    if (nested !== undefined) return inner(nested, ...keys);
  }
  return part;
}

/** The name here of an agent by its name in Mozaiks; undefined if the workflow does not have it. */
export type AgentNames = (name: string) => string | undefined;

/** Mozaiks writes the person and the end as agents. */
export function specialTarget(name: string): 'user' | 'end' | undefined {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '');
  if (['user', 'userproxy', 'useragent'].includes(plain)) return 'user';
  return ['terminate', 'end', 'stop'].includes(plain) ? 'end' : undefined;
}

/** The name of the workflow, where one of its files says it. */
export function nameOfDefinition({ sections, fallbackName }: MozaiksDefinition): string {
  for (const part of sections.get('orchestrator') ?? []) {
    const settings = inner(part, 'orchestrator');
    const name = (textOf(settings.value.workflow_name) ?? textOf(settings.value.name))?.trim() ?? '';
    if (name !== '') return name;
  }
  return fallbackName;
}
