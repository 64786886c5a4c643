import { resolve } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { isInside } from '../../manifest/files.ts';
import type { ImportedFile, ImportOptions, MadeFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { type NamesTaken, nameOf } from '../names.ts';
import { failingScript, parametersOf, toolStub } from '../python.ts';
import type { SourceMap } from '../source-map.ts';
import { readSource } from '../sources.ts';
import { defined, filled, mapOf, plainText, textOf, textsOf } from '../values.ts';
import { type EcologyFile, foldersAbove, modelOf, portReport, siblingText, stemOf } from './read-ecology.ts';

export type Made = Omit<NonNullable<ImportedFile['made']>, 'entries'>;

export const HEAD = 'Imported from agent_ecology2.';
const LOOP =
  'Its loop in Python is not converted. The agent runs without it; the workflow of the loop fails until it is ported.';

/**
 * A manifest of config/genesis: artifacts, and the principal that owns them. Data and texts become artifacts, Python
 * code becomes a stub, and an artifact that runs in a loop makes the cluster an agent.
 */
export class GenesisCluster {
  readonly #file: EcologyFile;
  readonly #taken: NamesTaken;
  readonly #options: ImportOptions;
  readonly #folder: string;
  readonly #files: MadeFile[] = [];
  readonly #imports = { tools: [] as string[], workflows: [] as string[], artifacts: [] as string[] };
  /** Artifacts that the agent may read and rewrite. */
  readonly #data: string[] = [];
  #instructions: string | undefined;
  #model: string | undefined;

  constructor(file: EcologyFile, taken: NamesTaken, options: ImportOptions) {
    this.#file = file;
    this.#taken = taken;
    this.#options = options;
    this.#folder = taken.folders.take(nameOf(textOf(file.root.value.id) ?? stemOf(file.path)));
  }

  /** What it becomes; undefined if it holds nothing. */
  async make(): Promise<Made | undefined> {
    const { root, path } = this.#file;
    const id = textOf(root.kept('id', 'the name')) ?? stemOf(path);
    for (const key of ['enabled', 'enabled_key']) root.left(key, 'nothing runs until somebody starts it');
    root.left('kernel', 'there is no kernel: these are artifacts and tools like any others');
    const parts: (readonly [part: SourceMap, id: string])[] = [];
    root.each('artifacts', 'artifact', (part, name) => void parts.push([part, name]));
    for (const [part, name] of parts) await this.#read(part, name);
    if (root.value.source_dir !== undefined) await this.#readFolder();
    const account = accountOf(root);
    if (this.#instructions === undefined && this.#imports.workflows.length === 0)
      return this.#files.length === 0
        ? undefined
        : { kind: 'artifact', name: this.#folder, files: this.#files };
    const name = this.#taken.agents.take(nameOf(id));
    if (this.#model === undefined)
      root.note('model', 'changed', 'no state names a model: it is the default of agent_ecology2');
    const data = this.#data.map((each) => `\`${each}\``).join(', ');
    const memory = `\n\n## Your artifacts\nWhat you know is in these artifacts: ${data}. Read them with read_artifact before you act, and keep them up to date with write_artifact.`;
    const manifest = filled({
      kind: 'Agent',
      name,
      model: this.#options.model ?? modelOf(this.#model),
      instructions: plainText((this.#instructions ?? '').trim()) + (data === '' ? '' : memory),
      ...account,
      import: filled(this.#imports),
      permissions: { artifacts: ['read', 'write'] },
    });
    const head = this.#imports.workflows.length === 0 ? [HEAD] : [HEAD, LOOP];
    this.#files.push({ path: `${this.#folder}.yml`, text: yamlOf(manifest, head) });
    return { kind: 'agent', name, files: this.#files };
  }

  async #read(part: SourceMap, id: string): Promise<void> {
    part.take('id');
    noteRights(part);
    const codeFile = part.text('code_file');
    const code =
      part.text('code') ?? (codeFile && (await siblingText(this.#file.path, codeFile, this.#options)));
    if (codeFile !== undefined || code !== undefined) this.#stub(part, id, codeFile, code);
    else await this.#content(part, id);
  }

  /** Python code: a workflow if it runs in a loop, else a tool. */
  #stub(part: SourceMap, id: string, codeFile: string | undefined, code: string | undefined): void {
    const place =
      code === undefined
        ? `${codeFile}, which is not there`
        : portReport(codeFile ?? `the code of ${id}`, code);
    const isLoop =
      part.changed('has_loop', 'a workflow: give it a trigger of type "schedule" once it is ported') === true;
    const made = isLoop ? 'a workflow' : 'a tool';
    part.note(
      codeFile === undefined ? 'code' : 'code_file',
      'changed',
      `Python code is not converted: port ${place}`,
    );
    part.note('type', 'changed', `${made} that fails until it is ported`);
    const content = part.changed('content', 'the description');
    part.leaveOthers('content', content, 'description');
    const description = isJsonObject(content) ? textOf(content.description) : undefined;
    if (!isLoop) {
      const name = this.#taken.tools.take(nameOf(id));
      const parameters = code === undefined ? undefined : parametersOf(code, 'run');
      this.#add('tools', name, toolStub(name, description, parameters, place), [`Port ${place}.`]);
      return;
    }
    const name = this.#taken.workflows.take(nameOf(id));
    const script = failingScript(`The loop ${id} is not ported yet: ${place}.`);
    const workflow = {
      kind: 'Workflow',
      name,
      description: description === undefined ? undefined : plainText(description),
      steps: [{ name: 'loop', type: 'script', script }],
    };
    this.#add('workflows', name, defined(workflow), [`Port ${place}.`]);
  }

  #add(
    kind: 'tools' | 'workflows' | 'artifacts',
    name: string,
    manifest: JsonObject,
    head: readonly string[],
  ): void {
    this.#files.push({ path: `${this.#folder}/${name}.yml`, text: yamlOf(manifest, head) });
    this.#imports[kind].push(`./${this.#folder}/${name}.yml`);
  }

  #artifact(id: string, text: string): void {
    const name = this.#taken.artifacts.take(nameOf(id));
    this.#add('artifacts', name, { kind: 'Artifact', name, source: plainText(text) }, [HEAD]);
    this.#data.push(name);
  }

  /** Texts and data. The strategy is what the agent is told; a state may name the model. */
  async #content(part: SourceMap, id: string): Promise<void> {
    part.left('has_loop', 'it has no code to run');
    const type = part.text('type') ?? 'text';
    const key = part.value.content_file === undefined ? 'content' : 'content_file';
    const written = part.take(key);
    const inline = typeof written === 'string' ? written : `${JSON.stringify(written ?? '', null, 2)}\n`;
    const text = key === 'content' ? inline : await siblingText(this.#file.path, inline, this.#options);
    if (written === undefined || text === undefined || text.trim() === '') {
      part.note(key, 'left', 'it is not there, or empty: no artifact is made');
      return;
    }
    const model = /"model"\s*:\s*"([^"]+)"/.exec(text)?.[1];
    this.#model ??= model;
    const isStrategy = type === 'text' && /strategy|constitution|system_prompt/.test(id);
    const isInstructions = isStrategy && this.#instructions === undefined;
    part.note(
      'type',
      'changed',
      isInstructions ? 'the instructions of the agent' : `an artifact with ${type} as its source`,
    );
    part.note(key, 'kept', isInstructions ? 'the instructions of the agent' : 'the source of the artifact');
    if (isInstructions) this.#instructions = text;
    else this.#artifact(id, text);
  }

  /** `source_dir`: each file of the folder is an artifact. The folder is relative to the root of the repository. */
  async #readFolder(): Promise<void> {
    const { root, path } = this.#file;
    const source = root.text('source_dir') ?? '.';
    const pattern = textOf(root.kept('file_pattern', 'the files that become artifacts')) ?? '*';
    const prefix = textOf(root.kept('id_prefix', 'in front of the names of the artifacts')) ?? '';
    const mapping = root.kept('id_mapping', 'the names of the artifacts');
    root.left('artifact_type', 'an artifact without methods is a text');
    for (const above of foldersAbove(path)) {
      if (!isInside(resolve(above, source), above)) break;
      const found = await this.#options.files.glob(pattern, `${above}/${source}`, this.#options.signal);
      if (!found.ok || found.value.length === 0) continue;
      for (const each of found.value) {
        const read = await readSource(each, this.#options);
        if (!('source' in read) || read.source.text.trim() === '') continue;
        const mapped = isJsonObject(mapping) ? textOf(mapping[stemOf(each)]) : undefined;
        this.#artifact(mapped ?? `${prefix}${stemOf(each)}`, read.source.text);
      }
      for (const name of Object.keys(mapOf(mapping)))
        if (!found.value.some((each) => stemOf(each) === name))
          root.note(`id_mapping.${name}`, 'left', 'no file has this name');
      break;
    }
    root.either(
      'source_dir',
      this.#data.length > 0,
      `${this.#data.length} artifacts`,
      `${source} is not there`,
    );
  }
}

/** What agent_ecology2 says about who may do what with an artifact. */
function noteRights(part: SourceMap): void {
  part.left('executable', 'what has code is a tool or a workflow');
  part.left('has_standing', 'only agents have a budget');
  part.left('access_contract_id', 'agents with "permissions: { artifacts }" read and write artifacts');
  part.left('interface', 'the parameters of a tool are read from its code');
  part.left('metadata', 'the store keeps author, parent version and time');
  part.part('state')?.left('writer', 'agents with "permissions: { artifacts: [write] }" write new versions');
  const capabilities = textsOf(part.take('capabilities'));
  if (capabilities.includes('can_call_llm'))
    part.note('capabilities', 'left', 'an agent asks its model by itself');
  else if (capabilities.length > 0)
    part.note('capabilities', 'left', `nothing corresponds to ${capabilities.join(', ')}`);
}

/** Its scrip is what decisions see as balance; its budget for models limits the cost. */
function accountOf(root: SourceMap): { readonly limits?: JsonObject; readonly budget?: JsonObject } {
  const part = root.part('principal');
  part?.left('id', 'the agent itself has the budget');
  for (const key of ['starting_scrip_key', 'starting_llm_budget_key', 'disk_quota_key'])
    part?.left(key, 'the number beside it counts: look it up in config.yaml');
  part?.left('disk_quota', 'artifacts have no quota');
  const cost = amountOf(part?.changed('starting_llm_budget', '"limits: { cost_usd }" of each session'));
  const budget = budgetOf(
    part?.changed('starting_scrip', '"budget: { balance }", which nothing is taken from'),
  );
  return defined({ limits: cost === undefined ? undefined : { cost_usd: cost }, budget });
}

/** At 0 a session ends, so an agent without money has no budget at all. */
export function budgetOf(written: Json | undefined): JsonObject | undefined {
  const balance = amountOf(written) ?? 0;
  return balance > 0 ? { balance, costs: { turn: 0, action: 0, artifact: 0 } } : undefined;
}

const amountOf = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && value >= 0 ? value : undefined;
