import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import type { ImportOptions, MadeFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { nameOf, type Taken } from '../names.ts';
import { mapOf, type Part, plainText, textOf, textsOf } from '../part.ts';
import { budgetOf, HEAD, type Made } from './genesis.ts';
import { isInvocation, toInvocation, toTemplate, WorldVariables } from './prompts.ts';
import { type EcologyFile, modelOf, motivationText, readAbove, siblingText, stemOf } from './read-ecology.ts';
import { MAX_TICKS, makeWorkflow } from './state-machine.ts';

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
export class AgentFile {
  readonly #path: string;
  readonly #root: Part;
  readonly #shared: Shared;
  readonly #taken: Taken;
  readonly #options: ImportOptions;
  readonly #name: string;

  constructor({ path, root }: EcologyFile, shared: Shared, taken: Taken, options: ImportOptions) {
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
      const manifest = { ...workflow.manifest, context_variables: { runtime: variables.list() } };
      const text = yamlOf(manifest, [...head, ...workflow.ports.map((each) => `Port ${each}`)]);
      files.push({ path: `${folder}/workflow.yml`, text });
    }
    const manifest = mapOf({
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
      if (found !== undefined) paragraphs.push(motivationText(found.root));
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
  { value }: Part,
  name: string,
  prompts: ReadonlyMap<string, readonly string[]>,
  variables: WorldVariables,
): JsonObject | undefined {
  const fragment = textOf(value.prompt_fragment)?.trim() ?? '';
  const rules = Array.isArray(value.inject_into) ? (value.inject_into as readonly Json[]) : [];
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
