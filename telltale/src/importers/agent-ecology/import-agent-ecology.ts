import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import { fileDiagnostic } from '../../manifest/files.ts';
import type { ImportedFile, Importer, ImportOptions, MadeFile, SourceFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createTaken, type NamesTaken, nameOf } from '../names.ts';
import type { SourceMap } from '../source-map.ts';
import { readDocuments } from '../sources.ts';
import { defined, listOf, mapOf, plainText, textOf, textsOf } from '../values.ts';
import { budgetOf, GenesisCluster, HEAD, type Made } from './genesis.ts';
import { INVOCATION, isInvocation, toInvocation, toTemplate, WorldVariables } from './prompts.ts';
import {
  type EcologyFile,
  ecologyKind,
  modelOf,
  motivationText,
  readAbove,
  readEcologyFile,
  siblingText,
  stemOf,
} from './read-ecology.ts';
import { MAX_TICKS, makeWorkflow } from './state-machine.ts';

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
  taken: NamesTaken,
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
function makeMotivation({ path, root }: EcologyFile, taken: NamesTaken) {
  const name = taken.artifacts.take(nameOf(`motivation_${stemOf(path)}`));
  const manifest = { kind: 'Artifact', name, source: plainText(motivationText(root)) };
  return {
    kind: 'artifact',
    name,
    files: [{ path: `${name}.yml`, text: yamlOf(manifest, ['Imported from agent_ecology2.']) }],
  };
}

/** What is said of these keys is known only when all agents are made. */
function readComponent(root: SourceMap): void {
  for (const key of ['prompt_fragment', 'inject_into', 'requires_context']) root.take(key);
  root.kept('name', 'the component');
  root.left('type', 'components are of one kind');
  root.left('version', 'a component has no version');
  root.left('description', 'a component has no description');
}

function noteComponent(root: SourceMap, agents: readonly string[]): void {
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

/** Component and motivation files of the same import, by name; and which agents use them. */
export interface Shared {
  readonly components: ReadonlyMap<string, EcologyFile>;
  readonly motivations: ReadonlyMap<string, EcologyFile>;
  readonly users: Map<string, string[]>;
}

const ACTIONS = `## How you act
Where a prompt describes actions as JSON with an \`action_type\`, use the actions of this system instead: read_artifact and write_artifact have the same names. "noop" means to complete the step. Actions that you do not have are not there.`;

/** Keys that nothing here corresponds to, each with what to do instead. */
const LEFT: Readonly<Record<string, string>> = {
  enabled: 'an agent runs only when it is started',
  rag: 'nothing searches memories before a step: use "memory", or a context feed',
  visibility: 'prompts show what they name',
  interface_discovery: 'the agent is told the parameters of its tools',
  memory: 'use artifacts, or "memory" with a knowledge graph',
};

/** An agent with `workflow`, components, a genotype and a motivation, as they were before "genesis". */
class AgentFile {
  readonly #path: string;
  readonly #root: SourceMap;
  readonly #shared: Shared;
  readonly #taken: NamesTaken;
  readonly #options: ImportOptions;
  readonly #name: string;

  constructor({ path, root }: EcologyFile, shared: Shared, taken: NamesTaken, options: ImportOptions) {
    this.#path = path;
    this.#root = root;
    this.#shared = shared;
    this.#taken = taken;
    this.#options = options;
    this.#name = taken.agents.take(nameOf(textOf(root.kept('id', 'the name')) ?? stemOf(path)));
  }

  async make(): Promise<Made> {
    const root = this.#root;
    const name = this.#name;
    const folder = this.#taken.folders.take(name);
    const how = '"budget: { balance }", which nothing is taken from';
    const credits = root.changed('starting_credits', how) ?? root.changed('starting_scrip', how);
    const model = textOf(root.changed('llm_model', 'the model, with the name of its provider'));
    const known = { agent_id: name, balance: credits ?? 0, max_ticks: MAX_TICKS };
    const variables = new WorldVariables(known);
    const instructions = await this.#instructions();
    const workflow = makeWorkflow(this.#taken.workflows.take(`${name}_workflow`), root, variables);
    const components = await this.#components(workflow?.prompts ?? new Map(), variables);
    const meta = root.part('meta');
    const version = textOf(meta?.kept('version'));
    meta?.rest('it is a note about the file: version control has the history');
    for (const [key, why] of Object.entries(LEFT)) {
      root.part(key)?.rest(why);
      if (!isJsonObject(root.value[key])) root.left(key, why);
    }
    const files: MadeFile[] = [];
    if (workflow !== undefined) {
      const head = [HEAD, `A run ends after ${MAX_TICKS} states: see the variable max_ticks.`];
      const manifest = { ...workflow.manifest, context_variables: { runtime: variables.declared } };
      const text = yamlOf(manifest, [...head, ...workflow.ports.map((each) => `Port ${each}`)]);
      files.push({ path: `${folder}/workflow.yml`, text });
    }
    const manifest = defined({
      kind: 'Agent',
      name,
      version,
      model: this.#options.model ?? modelOf(model),
      instructions,
      workflow: workflow?.manifest.name,
      budget: budgetOf(credits),
      components: components.length === 0 ? undefined : components,
      import: workflow === undefined ? undefined : { workflows: [`./${folder}/workflow.yml`] },
      permissions: { artifacts: ['read', 'write'] },
    });
    files.push({ path: `${folder}.yml`, text: yamlOf(manifest, [HEAD]) });
    return { kind: 'agent', name, files };
  }

  /** The system prompt, who the agent is, and what drives it. */
  async #instructions(): Promise<string> {
    const root = this.#root;
    const paragraphs: string[] = [];
    const inline = textOf(root.kept('system_prompt', 'the instructions'));
    const file = textOf(root.kept('system_prompt_file', 'the instructions')) ?? 'system_prompt.md';
    const prompt = inline ?? (await siblingText(this.#path, file, this.#options));
    if (inline === undefined)
      root.either(
        'system_prompt',
        prompt !== undefined,
        `the instructions, from ${file}`,
        `there is no ${file}`,
      );
    paragraphs.push(prompt?.trim() ?? '');
    const profile = root.text('motivation_profile');
    if (profile !== undefined) {
      const places = ['config/motivation_profiles', 'motivation_profiles'].map(
        (each) => `${each}/${profile}.yaml`,
      );
      const found =
        this.#shared.motivations.get(profile) ?? (await readAbove(this.#path, places, this.#options));
      root.either(
        'motivation_profile',
        found !== undefined,
        'paragraphs of the instructions',
        `${profile}.yaml was not found`,
      );
      paragraphs.push(found === undefined ? '' : motivationText(found.root));
      if (found !== undefined && !this.#shared.motivations.has(profile)) {
        found.root.rest();
        for (const { construct, outcome, how } of found.root.report.entries())
          if (outcome === 'left') root.note(`motivation_profile.${construct}`, 'left', how);
      }
      this.#use(`motivation ${profile}`);
    }
    const genotype = root.part('genotype');
    const traits = Object.keys(genotype?.value ?? {}).map((key) => {
      const value = textOf(genotype?.changed(key, 'a line of the instructions')) ?? '';
      return `- ${key}: ${value.toLowerCase()}`.replaceAll('_', ' ');
    });
    if (traits.length > 0) paragraphs.push(`## Your traits\n${traits.join('\n')}`);
    return plainText([...paragraphs.filter((each) => each !== ''), ACTIONS].join('\n\n'));
  }

  #use(key: string): void {
    this.#shared.users.set(key, [...(this.#shared.users.get(key) ?? []), this.#name]);
  }

  /** Component files that the agent names, each for the steps that its workflow has. */
  async #components(
    prompts: ReadonlyMap<string, readonly string[]>,
    variables: WorldVariables,
  ): Promise<readonly JsonObject[]> {
    const lists = this.#root.part('components');
    const made: JsonObject[] = [];
    for (const kind of ['behaviors', 'traits', 'goals', 'phases']) {
      const named = textsOf(lists?.take(kind));
      if (named.length === 0) lists?.kept(kind, 'it is empty');
      for (const name of named) {
        const places = ['_components', 'src/agents/_components'].map(
          (each) => `${each}/${kind}/${name}.yaml`,
        );
        const found =
          this.#shared.components.get(name) ?? (await readAbove(this.#path, places, this.#options));
        if (found === undefined) {
          lists?.note(kind, 'left', `${name}.yaml was not found`);
          continue;
        }
        this.#use(`component ${name}`);
        const component = componentOf(found.root, name, prompts, variables);
        const why = `${name}: the workflow has none of the steps it is for`;
        lists?.either(kind, component !== undefined, `components of the agent: ${name}`, why);
        if (component !== undefined) made.push(component);
      }
    }
    return made;
  }
}

function componentOf(
  root: SourceMap,
  name: string,
  prompts: ReadonlyMap<string, readonly string[]>,
  variables: WorldVariables,
): JsonObject | undefined {
  const fragment = textOf(root.value.prompt_fragment)?.trim() ?? '';
  const rules = listOf(root.value.inject_into);
  for (const rule of rules) {
    root.leaveOthers('inject_into', rule, 'step if always');
    root.leaveOthers('inject_into.if', mapOf(rule).if, INVOCATION);
  }
  const entries = rules.flatMap((rule): readonly Json[] => {
    const step = textOf(isJsonObject(rule) ? rule.step : rule) ?? '';
    const test = isJsonObject(rule) && rule.always !== true ? rule.if : undefined;
    const condition = isInvocation(test) ? toInvocation(test, variables, true) : undefined;
    return (prompts.get(step) ?? []).map((given) =>
      condition === undefined ? given : { step: given, if: condition },
    );
  });
  if (fragment === '' || entries.length === 0) return undefined;
  return { name: nameOf(name), prompt: toTemplate(fragment, variables).text, inject_into: entries };
}
