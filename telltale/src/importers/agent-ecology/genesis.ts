import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import type { ImportedFile, ImportOptions, MadeFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { nameOf, type Taken } from '../names.ts';
import { filledOf, mapOf, type Part, plainText, textOf, textsOf } from '../part.ts';
import { failingScript, parametersOf, toolStub } from '../python.ts';
import { readSource } from '../sources.ts';
import {
  contentText,
  type EcologyFile,
  foldersAbove,
  modelOf,
  portReport,
  siblingText,
  stemOf,
} from './read-ecology.ts';

type Made = Omit<NonNullable<ImportedFile['made']>, 'entries'>;

/** What the artifacts of one manifest become. */
interface Cluster {
  readonly files: MadeFile[];
  readonly artifacts: string[];
  readonly tools: string[];
  readonly workflows: string[];
  /** Artifacts that hold data, which the agent may read and rewrite. */
  readonly data: string[];
  instructions: string | undefined;
  model: string | undefined;
}

/**
 * A manifest of config/genesis: artifacts, and the principal that owns them. Data and texts become artifacts, Python
 * code becomes a stub, and an artifact that runs in a loop makes the cluster an agent. Undefined if it holds nothing.
 */
export async function makeGenesis(
  { path, root }: EcologyFile,
  taken: Taken,
  options: ImportOptions,
): Promise<Made | undefined> {
  const id = textOf(root.kept('id', 'the name')) ?? stemOf(path);
  const folder = taken.folders.take(nameOf(id));
  const cluster: Cluster = {
    files: [],
    artifacts: [],
    tools: [],
    workflows: [],
    data: [],
    instructions: undefined,
    model: undefined,
  };
  root.left('enabled', 'nothing runs until somebody starts it');
  root.left('enabled_key', 'nothing runs until somebody starts it');
  root.left('kernel', 'there is no kernel: these are artifacts and tools like any others');
  const parts: (readonly [part: Part, id: string])[] = [];
  root.each('artifacts', 'artifact', (part, name) => void parts.push([part, name]));
  for (const [part, name] of parts) await readArtifact(part, name, path, folder, cluster, taken, options);
  if (root.value.source_dir !== undefined) await readFolder(root, path, folder, cluster, taken, options);
  const principal = readPrincipal(root);
  const isAgent = cluster.instructions !== undefined || cluster.workflows.length > 0;
  if (!isAgent)
    return cluster.files.length === 0 ? undefined : { kind: 'artifact', name: folder, files: cluster.files };
  const name = taken.agents.take(nameOf(id));
  const data = cluster.data.map((each) => `\`${each}\``).join(', ');
  const memory =
    data === ''
      ? ''
      : `\n\n## Your artifacts\nWhat you know is in these artifacts: ${data}. Read them with read_artifact before you act, and keep them up to date with write_artifact.`;
  const manifest = mapOf({
    kind: 'Agent',
    name,
    model: options.model ?? cluster.model ?? modelOf('gemini/gemini-2.0-flash'),
    instructions: `${plainText((cluster.instructions ?? '').trim())}${memory}`,
    limits: principal.cost === undefined ? undefined : { cost_usd: principal.cost },
    budget: principal.budget,
    import: filledOf({ tools: cluster.tools, workflows: cluster.workflows, artifacts: cluster.artifacts }),
    permissions: { artifacts: ['read', 'write'] },
  });
  if (cluster.model === undefined && options.model === undefined)
    root.note('model', 'changed', 'no state names a model: it is the default of agent_ecology2');
  const head = ['Imported from agent_ecology2.', ...(cluster.workflows.length === 0 ? [] : [LOOP])];
  const agent: MadeFile = { path: `${folder}.yml`, text: yamlOf(manifest, head) };
  return { kind: 'agent', name, files: [...cluster.files, agent] };
}

const LOOP =
  'Its loop in Python is not converted. The agent runs without it; the workflow of the loop fails until it is ported.';

async function readArtifact(
  part: Part,
  id: string,
  manifest: string,
  folder: string,
  cluster: Cluster,
  taken: Taken,
  options: ImportOptions,
): Promise<void> {
  part.take('id');
  const type = textOf(part.take('type')) ?? 'text';
  const codeFile = textOf(part.take('code_file'));
  const code =
    textOf(part.take('code')) ??
    (codeFile === undefined ? undefined : await siblingText(manifest, codeFile, options));
  const isLoop = part.take('has_loop') === true;
  noteRights(part);
  if (codeFile !== undefined || code !== undefined) {
    const place =
      code === undefined
        ? `${codeFile}, which is not there`
        : portReport(codeFile ?? `the code of ${id}`, code);
    part.note(
      codeFile === undefined ? 'code' : 'code_file',
      'changed',
      `Python code is not converted: port ${place}`,
    );
    part.note(
      'type',
      'changed',
      isLoop ? 'a workflow that fails until it is ported' : 'a tool that fails until it is ported',
    );
    if (part.value.has_loop !== undefined)
      part.note(
        'has_loop',
        'changed',
        isLoop ? 'give the workflow a trigger of type "schedule" once it is ported' : 'a tool',
      );
    const description = isJsonObject(part.value.content) ? textOf(part.value.content.description) : undefined;
    if (part.take('content') !== undefined) part.note('content', 'changed', 'the description');
    if (isLoop) makeLoop(id, place, description, folder, cluster, taken);
    else makeTool(id, code, place, description, folder, cluster, taken);
    return;
  }
  if (part.value.has_loop !== undefined) part.note('has_loop', 'left', 'it has no code to run');
  const contentFile = textOf(part.take('content_file'));
  const inline = part.take('content');
  const text =
    contentFile === undefined
      ? inline === undefined
        ? undefined
        : contentText(inline)
      : await siblingText(manifest, contentFile, options);
  const key = contentFile === undefined ? 'content' : 'content_file';
  if (text === undefined || text.trim() === '') {
    part.note(key, 'left', `${contentFile ?? 'the content'} is not there, or empty: no artifact is made`);
    return;
  }
  readModel(text, cluster);
  if (
    type === 'text' &&
    /strategy|constitution|system_prompt/.test(id) &&
    cluster.instructions === undefined
  ) {
    part.note('type', 'changed', 'the instructions of the agent');
    part.note(key, 'kept', 'the instructions of the agent');
    cluster.instructions = text;
    return;
  }
  part.note('type', 'changed', `an artifact with ${type === 'json' ? 'JSON' : 'text'} as its source`);
  part.note(key, 'kept', 'the source of the artifact');
  makeArtifact(id, text, folder, cluster, taken);
}

/** What agent_ecology2 says about who may do what with an artifact. */
function noteRights(part: Part): void {
  part.left('executable', 'what has code is a tool or a workflow');
  part.left('has_standing', 'only agents have a budget');
  part.left('access_contract_id', 'agents with "permissions: { artifacts }" read and write artifacts');
  part.left('interface', 'the parameters of a tool are read from its code');
  part.left('metadata', 'the store keeps author, parent version and time');
  const state = part.part('state');
  state?.left('writer', 'agents with "permissions: { artifacts: [write] }" write new versions');
  const capabilities = textsOf(part.take('capabilities'));
  if (capabilities.length > 0)
    part.note(
      'capabilities',
      'left',
      capabilities
        .map((each) =>
          each === 'can_call_llm'
            ? 'can_call_llm: an agent asks its model by itself'
            : `${each}: nothing corresponds to it`,
        )
        .join('; '),
    );
}

function readModel(text: string, cluster: Cluster): void {
  const model = /"model"\s*:\s*"([^"]+)"/.exec(text)?.[1];
  if (model !== undefined) cluster.model ??= modelOf(model);
}

function makeArtifact(id: string, text: string, folder: string, cluster: Cluster, taken: Taken): void {
  const name = taken.artifacts.take(nameOf(id));
  const manifest = { kind: 'Artifact', name, source: plainText(text) };
  cluster.files.push({
    path: `${folder}/${name}.yml`,
    text: yamlOf(manifest, ['Imported from agent_ecology2.']),
  });
  cluster.artifacts.push(`./${folder}/${name}.yml`);
  cluster.data.push(name);
}

function makeTool(
  id: string,
  code: string | undefined,
  place: string,
  description: string | undefined,
  folder: string,
  cluster: Cluster,
  taken: Taken,
): void {
  const name = taken.tools.take(nameOf(id));
  const parameters = code === undefined ? undefined : parametersOf(code, 'run');
  const manifest = toolStub(name, description, parameters, place);
  cluster.files.push({ path: `${folder}/${name}.yml`, text: yamlOf(manifest, [`Port ${place}.`]) });
  cluster.tools.push(`./${folder}/${name}.yml`);
}

function makeLoop(
  id: string,
  place: string,
  description: string | undefined,
  folder: string,
  cluster: Cluster,
  taken: Taken,
): void {
  const name = taken.workflows.take(nameOf(id));
  const manifest: JsonObject = mapOf({
    kind: 'Workflow',
    name,
    description: description === undefined ? undefined : plainText(description),
    steps: [
      { name: 'loop', type: 'script', script: failingScript(`The loop ${id} is not ported yet: ${place}.`) },
    ],
  });
  cluster.files.push({ path: `${folder}/${name}.yml`, text: yamlOf(manifest, [`Port ${place}.`]) });
  cluster.workflows.push(`./${folder}/${name}.yml`);
}

/** `source_dir`: each file of the folder is an artifact. The folder is relative to the root of the repository. */
async function readFolder(
  root: Part,
  manifest: string,
  folder: string,
  cluster: Cluster,
  taken: Taken,
  options: ImportOptions,
): Promise<void> {
  const source = textOf(root.take('source_dir')) ?? '.';
  const pattern = textOf(root.kept('file_pattern', 'the files that become artifacts')) ?? '*';
  const prefix = textOf(root.kept('id_prefix', 'in front of the names of the artifacts')) ?? '';
  const mapping = root.take('id_mapping');
  root.left('artifact_type', 'an artifact without methods is a text');
  if (mapping !== undefined) root.note('id_mapping', 'kept', 'the names of the artifacts');
  for (const above of foldersAbove(manifest)) {
    const path = `${above}/${source}`;
    const found = await options.files.glob(pattern, path, options.signal);
    if (!found.ok || found.value.length === 0) continue;
    for (const each of found.value) {
      const read = await readSource(each, options);
      if (!('source' in read) || read.source.text.trim() === '') continue;
      const stem = stemOf(each);
      const mapped = isJsonObject(mapping) ? textOf(mapping[stem]) : undefined;
      makeArtifact(mapped ?? `${prefix}${stem}`, read.source.text, folder, cluster, taken);
    }
    root.note('source_dir', 'kept', `${cluster.data.length} artifacts`);
    return;
  }
  root.note('source_dir', 'left', `${source} is not there`);
}

interface Principal {
  readonly budget: JsonObject | undefined;
  readonly cost: number | undefined;
}

/** The account of an agent. Its scrip is what decisions see as balance; its budget for models limits the cost. */
function readPrincipal(root: Part): Principal {
  const part = root.part('principal');
  if (part === undefined) return { budget: undefined, cost: undefined };
  part.left('id', 'the agent itself has the budget');
  for (const key of ['starting_scrip_key', 'starting_llm_budget_key', 'disk_quota_key'])
    part.left(key, 'the number beside it counts: look it up in config.yaml');
  part.left('disk_quota', 'artifacts have no quota');
  const scrip = amountOf(part.take('starting_scrip'));
  const cost = amountOf(part.take('starting_llm_budget'));
  if (part.value.starting_scrip !== undefined)
    part.note('starting_scrip', 'changed', '"budget: { balance }", which nothing is taken from');
  if (part.value.starting_llm_budget !== undefined)
    part.note('starting_llm_budget', 'changed', '"limits: { cost_usd }" of each session');
  return { budget: scrip === undefined ? undefined : budgetOf(scrip), cost };
}

/** At 0 a session ends, so an agent without money has no budget at all. */
export const budgetOf = (balance: number): JsonObject | undefined =>
  balance > 0 ? { balance, costs: { turn: 0, action: 0, artifact: 0 } } : undefined;

export const amountOf = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && value >= 0 ? value : undefined;
