import { basename, dirname, join, resolve } from 'node:path';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import { isInside } from '../../manifest/files.ts';
import type { ImportOptions, SourceFile } from '../importer.ts';
import { createReport } from '../report.ts';
import { SourceMap } from '../source-map.ts';
import { readDocuments, readNamed, readSource } from '../sources.ts';
import { textOf } from '../values.ts';

/** What a file of agent_ecology2 defines: agents before and since "genesis", prompt components, motivations. */
export type EcologyKind = 'agent' | 'genesis' | 'component' | 'motivation';

export interface EcologyFile {
  readonly path: string;
  readonly file: string;
  readonly root: SourceMap;
  readonly diagnostics: readonly Diagnostic[];
}

const COMPONENT_TYPES: readonly unknown[] = ['behavior', 'trait', 'goal', 'phase'];

export function ecologyKind(value: JsonObject): EcologyKind | undefined {
  const has = (key: string) => value[key] !== undefined && value[key] !== null;
  if (typeof value.id === 'string') {
    if (has('artifacts') || has('source_dir')) return 'genesis';
    if (['workflow', 'llm_model', 'starting_credits', 'genotype', 'system_prompt'].some(has)) return 'agent';
  }
  if (typeof value.name === 'string' && COMPONENT_TYPES.includes(value.type) && has('prompt_fragment'))
    return 'component';
  return isJsonObject(value.motivation) ? 'motivation' : undefined;
}

/** The first document of a file; undefined if it holds no map. */
export function readEcologyFile({ path, file, source }: SourceFile): EcologyFile | undefined {
  const { documents, diagnostics } = readDocuments(source);
  const [first] = documents;
  if (first === undefined || !isJsonObject(first.value)) return undefined;
  return { path, file, root: new SourceMap(first.value, null, [], createReport(first.lineOf)), diagnostics };
}

/** The text of a file that a manifest names, relative to its folder; undefined if it is not there. */
export async function siblingText(
  manifest: string,
  name: string,
  options: ImportOptions,
): Promise<string | undefined> {
  return readNamed(resolve(dirname(manifest), name), [dirname(manifest)], options);
}

/** A file that is looked up in the folders above a manifest, where its project has it. */
export async function readAbove(
  manifest: string,
  places: readonly string[],
  options: ImportOptions,
): Promise<EcologyFile | undefined> {
  for (const folder of foldersAbove(manifest))
    for (const place of places) {
      const path = join(folder, place);
      if (!isInside(path, folder)) continue;
      if (!(await options.files.exists(path))) continue;
      const read = await readSource(path, options);
      if ('source' in read) return readEcologyFile(read);
    }
  return undefined;
}

/** The folder of a file and those above it, as far as a project is deep. */
export function* foldersAbove(file: string): Generator<string> {
  let folder = dirname(file);
  for (let level = 0; level < 6; level++) {
    yield folder;
    if (dirname(folder) === folder) return;
    folder = dirname(folder);
  }
}

/** The model of agent_ecology2 under the name of its provider here; without a name, its default. */
export function modelOf(written = 'gemini/gemini-2.0-flash'): string {
  const [first = '', ...rest] = written.trim().split('/');
  const provider: Readonly<Record<string, string>> = {
    gemini: 'google',
    vertex_ai: 'google',
    claude: 'anthropic',
  };
  if (rest.length > 0) return `${provider[first] ?? first}/${rest.join('/')}`;
  return `${provider[first.split('-')[0] ?? ''] ?? 'openai'}/${first}`;
}

/** The paragraphs of a motivation profile: its purpose, nature, drives and personality. */
export function motivationText(root: SourceMap): string {
  const motivation = root.part('motivation');
  if (motivation === undefined) return '';
  const paragraphs: string[] = [];
  const section = (part: SourceMap | undefined, title: string) => {
    if (part === undefined) return;
    const facts: string[] = [];
    for (const key of Object.keys(part.value)) {
      if (key === 'prompt') continue;
      const value = textOf(part.value[key]);
      if (value !== undefined && part.kept(key, 'a line of the text') !== undefined)
        facts.push(`${key.replaceAll('_', ' ')}: ${value.replaceAll('_', ' ')}`);
    }
    const prompt = textOf(part.kept('prompt', 'a paragraph of the text')) ?? '';
    paragraphs.push([`## ${title}`, ...facts, prompt.trim()].filter((line) => line !== '').join('\n'));
  };
  section(motivation.part('telos'), 'Your purpose');
  section(motivation.part('nature'), 'Your nature');
  const drives = motivation.part('drives');
  for (const key of Object.keys(drives?.value ?? {})) section(drives?.part(key), `Your drive: ${key}`);
  section(motivation.part('personality'), 'Your personality');
  return paragraphs.join('\n\n');
}

/** What a Python file does that has to be ported: its length, its functions, and what it asks of the kernel. */
export function portReport(name: string, code: string): string {
  const lines = code.trimEnd().split('\n').length;
  const functions = [...code.matchAll(/^(?:async )?def (\w+)/gm)].map(([, called]) => called);
  const calls = [
    ...new Set([...code.matchAll(/\b(kernel_\w+\.\w+|_syscall_\w+|invoke(?=\())/g)].map(([call]) => call)),
  ];
  const asks = calls.length === 0 ? '' : `; it calls ${calls.sort().join(', ')}`;
  return `${name} (${lines} ${lines === 1 ? 'line' : 'lines'}${functions.length === 0 ? '' : `, ${functions.join(', ')}`})${asks}`;
}

export const stemOf = (path: string): string => basename(path).replace(/\.\w+$/, '');
