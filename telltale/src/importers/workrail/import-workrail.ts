import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import { fileDiagnostic, fileFinding } from '../../manifest/files/file-finding.ts';
import type { Files } from '../../manifest/files/files.ts';
import { MANIFEST_LIMITS } from '../../manifest/limits.ts';
import type { MadeFile } from '../made-file.ts';
import { agentOf } from './agent-of.ts';
import { checkMade } from './check-made.ts';
import type { ConvertOptions } from './conversion.ts';
import { convertWorkflow } from './convert-workflow.ts';
import { templateIdOf } from './expand-template.ts';
import { createNames, type Names, nameOf } from './names.ts';
import { readWorkrail, type WorkrailFile } from './read-workrail.ts';
import type { Entry } from './report.ts';
import { stepsOf } from './steps-of.ts';
import { workflowYaml, yamlOf } from './write-yaml.ts';

export interface ImportOptions {
  readonly cwd: string;
  readonly files: Files;
  readonly signal: AbortSignal;
  readonly confirm: ConvertOptions['confirm'];
  /** Whether an agent that runs it is made, too, and on what. */
  readonly agent: boolean;
  readonly model: string;
}

export interface ImportedFile {
  /** As it was named. */
  readonly file: string;
  readonly diagnostics: readonly Diagnostic[];
  /** Where it could be converted. */
  readonly made?: {
    readonly workflow: string;
    readonly files: readonly MadeFile[];
    readonly entries: readonly Entry[];
  };
}

/** Converts workflows of WorkRail. What is made has been checked as any manifest is; nothing is written here. */
export async function importWorkrail(
  paths: readonly string[],
  options: ImportOptions,
): Promise<readonly ImportedFile[]> {
  const read = await Promise.all(paths.map((path) => readFile(path, options)));
  const routines = await knownRoutines(read, options);
  const names = createNames();
  const imported: ImportedFile[] = [];
  for (const { file, found, diagnostics } of read) {
    options.signal.throwIfAborted();
    imported.push({
      file,
      diagnostics,
      ...(found === undefined ? {} : { made: await make(found, names, routines, options) }),
    });
  }
  return imported;
}

interface ReadFile {
  readonly file: string;
  readonly path: string;
  readonly found?: WorkrailFile;
  readonly diagnostics: readonly Diagnostic[];
}

async function readFile(file: string, { cwd, files }: ImportOptions): Promise<ReadFile> {
  const path = resolve(cwd, file);
  const shown = labelOf(path, cwd);
  const bytes = await files.read(path, MANIFEST_LIMITS.fileBytes);
  if (!bytes.ok) {
    const finding = fileFinding(bytes.error, shown);
    const isFolder = bytes.error.type === 'folder';
    const hint = isFolder ? `Name its files: ${join(file, '*.json')}` : finding.hint;
    return { file, path, diagnostics: [fileDiagnostic(shown, { ...finding, hint })] };
  }
  const { read: found, diagnostics } = readWorkrail(shown, bytes.value);
  return { file, path, diagnostics, ...(found === undefined ? {} : { found }) };
}

function labelOf(path: string, cwd: string): string {
  const below = relative(cwd, path) || '.';
  return (below.startsWith('..') || isAbsolute(below) ? path : below).split(sep).join('/');
}

/** Routines by the ids of their templates: those among the files, and those that lie beside one that calls them. */
async function knownRoutines(
  read: readonly ReadFile[],
  options: ImportOptions,
): Promise<ReadonlyMap<string, WorkrailFile['workflow']>> {
  const known = new Map<string, WorkrailFile['workflow']>();
  const add = ({ workflow }: WorkrailFile) => known.set(templateIdOf(workflow.id), workflow);
  for (const { found } of read) if (found !== undefined) add(found);
  for (const { found, path } of read)
    for (const templateId of found === undefined ? [] : calledIn(found)) {
      const name = templateId.split('.').at(-1) ?? templateId;
      for (const folder of ['routines', '.']) {
        if (known.has(templateId) || !/^[\w-]+$/.test(name)) continue;
        const { found: beside } = await readFile(join(dirname(path), folder, `${name}.json`), options);
        if (beside !== undefined) add(beside);
      }
    }
  return known;
}

const calledIn = ({ workflow }: WorkrailFile): readonly string[] =>
  [...stepsOf(workflow)].flatMap(({ step }) =>
    step.type === undefined && step.templateCall !== undefined ? [step.templateCall.templateId] : [],
  );

async function make(
  found: WorkrailFile,
  names: Names,
  routines: ReadonlyMap<string, WorkrailFile['workflow']>,
  { confirm, agent: wantsAgent, model, signal }: ImportOptions,
): Promise<NonNullable<ImportedFile['made']>> {
  const name = names.take(nameOf(found.workflow.id));
  const converted = convertWorkflow(found, name, { confirm, routine: (id) => routines.get(id) });
  const { checks, entries } = converted;
  const paths = { workflow: `${name}.yml`, checks: `${name}-checks.yml`, agent: `${name}-agent.yml` };
  const base = found.file.split('/').at(-1) ?? found.file;
  const agent: MadeFile = {
    path: paths.agent,
    text: yamlOf(agentOf(converted, paths, model), [
      `Is led through ${name}: telltale run ${paths.agent} "what is to be done"`,
      'Give it the tools that the procedure needs, and choose its model.',
    ]),
  };
  const files: readonly MadeFile[] = [
    { path: paths.workflow, text: workflowYaml(converted, base) },
    ...(checks === undefined
      ? []
      : [{ path: paths.checks, text: yamlOf(checks, [`Made from ${base} for ${name}.`]) }]),
  ];
  const wrong = await checkMade([agent, ...files], signal);
  if (wrong.length > 0) throw notValid(found.file, wrong);
  return { workflow: name, files: wantsAgent ? [...files, agent] : files, entries };
}

const notValid = (file: string, [first]: readonly Diagnostic[]) =>
  new RuntimeError(
    'internal',
    `What was made of ${file} is not a valid manifest: ${first?.message} (${first?.file}:${first?.line}, ${first?.code})`,
    { hint: 'This is a mistake of the import, not of the file: please report it with the file.' },
  );
