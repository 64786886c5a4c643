import { isJsonObject } from '../../kernel/json.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import { fileDiagnostic } from '../../manifest/files/file-finding.ts';
import type { ImportedFile, Importer, ImportOptions, SourceFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createTaken, nameOf, type Taken } from '../names.ts';
import { type Part, plainText, textOf } from '../part.ts';
import { readDocuments } from '../sources.ts';
import { AgentFile, type Shared } from './agents.ts';
import { GenesisCluster } from './genesis.ts';
import { type EcologyFile, ecologyKind, motivationText, readEcologyFile, stemOf } from './read-ecology.ts';

/** Converts agents of agent_ecology2, in the layout with state machines and in the one with Python loops. */
export const agentEcology: Importer = {
  pattern: '**/*.{yaml,yml}',
  detect: ({ source }) => {
    const [first] = readDocuments(source).documents;
    return first !== undefined && isJsonObject(first.value) && ecologyKind(first.value) !== undefined;
  },
  async import(sources, options) {
    const taken = createTaken();
    const files = sources.map((source) => ({ source, file: readEcologyFile(source) }));
    const shared = sharedOf(files.flatMap(({ file }) => file ?? []));
    const imported: ImportedFile[] = [];
    for (const { source, file } of files) {
      options.signal.throwIfAborted();
      if (file === undefined) imported.push(refused(source));
      else imported.push(await importFile(file, shared, taken, options));
    }
    // Which agents use a component is known once all of them are made.
    return imported.map((each, index) => {
      const file = files[index]?.file;
      return file === undefined || each.made === undefined ? each : finished(each, file, shared);
    });
  },
};

function sharedOf(files: readonly EcologyFile[]): Shared {
  const of = (kind: string) => files.filter(({ root }) => ecologyKind(root.value) === kind);
  return {
    components: new Map(of('component').map((file) => [textOf(file.root.value.name) ?? '', file])),
    motivations: new Map(of('motivation').map((file) => [stemOf(file.path), file])),
    users: new Map(),
  };
}

const refused = ({ file }: SourceFile): ImportedFile => ({
  file,
  diagnostics: [
    fileDiagnostic(file, {
      severity: 'error',
      code: 'nothing_to_import',
      message: 'It defines no agent, artifact, component or motivation of agent_ecology2.',
      hint: 'Name the folder of the agents, such as config/genesis or src/agents.',
    }),
  ],
});

async function importFile(
  file: EcologyFile,
  shared: Shared,
  taken: Taken,
  options: ImportOptions,
): Promise<ImportedFile> {
  const kind = ecologyKind(file.root.value);
  if (kind === undefined) return refused({ ...file, source: { file: file.file, text: '', lineStarts: [0] } });
  const made =
    kind === 'agent'
      ? await new AgentFile(file, shared, taken, options).make()
      : kind === 'genesis'
        ? await new GenesisCluster(file, taken, options).make()
        : kind === 'motivation'
          ? makeMotivation(file, taken)
          : { kind: 'component', name: textOf(file.root.value.name) ?? '', files: [] };
  if (kind === 'component') readComponent(file.root);
  file.root.rest();
  if (made === undefined) return { file: file.file, diagnostics: [...file.diagnostics, nothingMade(file)] };
  return { file: file.file, diagnostics: file.diagnostics, made: { ...made, entries: [] } };
}

/** With what is known at the end: the entries of the report, and who uses a component or a motivation. */
function finished(imported: ImportedFile, { root, path }: EcologyFile, shared: Shared): ImportedFile {
  const { made } = imported;
  if (made === undefined) return imported;
  if (made.kind === 'component') noteComponent(root, shared.users.get(`component ${made.name}`) ?? []);
  const users = shared.users.get(`motivation ${stemOf(path)}`);
  if (users !== undefined)
    root.note('motivation', 'kept', `paragraphs of the instructions of ${users.join(', ')}`);
  return { ...imported, made: { ...made, entries: root.report.entries() } };
}

function nothingMade({ file, root }: EcologyFile): Diagnostic {
  const folder = textOf(root.value.source_dir);
  return fileDiagnostic(file, {
    severity: 'error',
    code: 'nothing_to_import',
    message:
      folder === undefined
        ? 'There is nothing in it to convert.'
        : `The folder ${folder} was not found, or is empty.`,
    hint:
      folder === undefined
        ? 'Add an artifact with content or code.'
        : 'Restore the folder, or leave the file out.',
  });
}

/** A motivation is a text of its own, too, so that an agent can read it. */
function makeMotivation({ path, root }: EcologyFile, taken: Taken) {
  const name = taken.artifacts.take(nameOf(`motivation_${stemOf(path)}`));
  const manifest = { kind: 'Artifact', name, source: plainText(motivationText(root)) };
  return {
    kind: 'artifact',
    name,
    files: [{ path: `${name}.yml`, text: yamlOf(manifest, ['Imported from agent_ecology2.']) }],
  };
}

/** What is said of these keys is known only when all agents are made. */
function readComponent(root: Part): void {
  for (const key of ['prompt_fragment', 'inject_into', 'requires_context']) root.take(key);
  root.kept('name', 'the component');
  root.left('type', 'components are of one kind');
  root.left('version', 'a component has no version');
  root.left('description', 'a component has no description');
}

function noteComponent(root: Part, agents: readonly string[]): void {
  const by = agents.join(', ');
  const use = (key: string, how: string) => {
    if (root.value[key] === undefined) return;
    root.note(
      key,
      agents.length === 0 ? 'left' : 'kept',
      agents.length === 0 ? 'no agent of this import names the component' : how,
    );
  };
  use('prompt_fragment', `a component of ${by}`);
  use('inject_into', `the steps that the workflow of ${by} has`);
  use('requires_context', 'variables of the workflow');
}
