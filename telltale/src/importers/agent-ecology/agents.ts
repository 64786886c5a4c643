import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import type { ImportedFile, ImportOptions, MadeFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { nameOf, type Taken } from '../names.ts';
import { mapOf, type Part, plainText, textOf, textsOf } from '../part.ts';
import { amountOf, budgetOf } from './genesis.ts';
import { isInvocation, toInvocation, toTemplate, WorldVariables } from './prompts.ts';
import { type EcologyFile, modelOf, motivationText, readAbove, siblingText, stemOf } from './read-ecology.ts';
import { MAX_TICKS, makeWorkflow } from './state-machine.ts';

type Made = Omit<NonNullable<ImportedFile['made']>, 'entries'>;

/** Component and motivation files of the same import, by name; and which agents use them. */
export interface Shared {
  readonly components: ReadonlyMap<string, EcologyFile>;
  readonly motivations: ReadonlyMap<string, EcologyFile>;
  readonly users: Map<string, string[]>;
}

const ACTIONS = `## How you act
Where a prompt describes actions as JSON with an \`action_type\`, use the actions of this system instead: read_artifact and write_artifact have the same names. "noop" means to complete the step. Actions that you do not have are not there.`;

/** An agent with `workflow`, components, a genotype and a motivation, as they were before "genesis". */
export async function makeAgent(
  { path, root }: EcologyFile,
  shared: Shared,
  taken: Taken,
  options: ImportOptions,
): Promise<Made> {
  const id = textOf(root.kept('id', 'the name')) ?? stemOf(path);
  const folder = taken.folders.take(nameOf(id));
  const name = taken.agents.take(nameOf(id));
  const credits = amountOf(root.take('starting_credits') ?? root.take('starting_scrip'));
  for (const key of ['starting_credits', 'starting_scrip'])
    if (root.value[key] !== undefined)
      root.note(key, 'changed', '"budget: { balance }", which nothing is taken from');
  const model = textOf(root.changed('llm_model', 'the model, with the name of its provider'));
  const variables = new WorldVariables(
    new Map<string, Json>([
      ['agent_id', name],
      ['balance', credits ?? 0],
      ['max_ticks', MAX_TICKS],
    ]),
  );
  const instructions = await instructionsOf(path, root, shared, name, options);
  const workflowName = taken.workflows.take(`${nameOf(id)}_workflow`);
  const workflow = makeWorkflow(workflowName, root, variables);
  const components = await componentsOf(
    path,
    root,
    shared,
    name,
    workflow?.prompts ?? new Map(),
    variables,
    options,
  );
  noteLeft(root);
  const files: MadeFile[] = [];
  if (workflow !== undefined) {
    const head = [
      'Imported from agent_ecology2.',
      `A run ends after ${MAX_TICKS} states: see the variable max_ticks.`,
      ...workflow.ports.map((each) => `Port ${each}`),
    ];
    const manifest = { ...workflow.manifest, context_variables: { runtime: variables.list() } };
    files.push({ path: `${folder}/workflow.yml`, text: yamlOf(manifest, head) });
  }
  const manifest = mapOf({
    kind: 'Agent',
    name,
    version: versionOf(root),
    model:
      options.model ??
      (model === undefined ? undefined : modelOf(model)) ??
      modelOf('gemini/gemini-2.0-flash'),
    instructions,
    workflow: workflow === undefined ? undefined : workflowName,
    budget: credits === undefined ? undefined : budgetOf(credits),
    components: components.length === 0 ? undefined : components,
    import: workflow === undefined ? undefined : { workflows: [`./${folder}/workflow.yml`] },
    permissions: { artifacts: ['read', 'write'] },
  });
  files.push({ path: `${folder}.yml`, text: yamlOf(manifest, ['Imported from agent_ecology2.']) });
  return { kind: 'agent', name, files };
}

function versionOf(root: Part): string | undefined {
  const meta = root.part('meta');
  if (meta === undefined) return undefined;
  const version = textOf(meta.kept('version'));
  meta.rest('it is a note about the file: version control has the history');
  return version;
}

/** The system prompt, who the agent is, and what drives it. */
async function instructionsOf(
  path: string,
  root: Part,
  shared: Shared,
  agent: string,
  options: ImportOptions,
): Promise<string> {
  const paragraphs: string[] = [];
  const inline = textOf(root.kept('system_prompt', 'the instructions'));
  const file = textOf(root.kept('system_prompt_file', 'the instructions')) ?? 'system_prompt.md';
  const prompt = inline ?? (await siblingText(path, file, options));
  if (prompt !== undefined && prompt.trim() !== '') paragraphs.push(prompt.trim());
  if (inline === undefined)
    root.note(
      'system_prompt',
      prompt === undefined ? 'left' : 'kept',
      prompt === undefined ? `there is no ${file} beside it` : `the instructions, from ${file}`,
    );
  const profile = textOf(root.take('motivation_profile'));
  if (profile !== undefined) {
    const found =
      shared.motivations.get(profile) ??
      (await readAbove(
        path,
        [`config/motivation_profiles/${profile}.yaml`, `motivation_profiles/${profile}.yaml`],
        options,
      ));
    root.note(
      'motivation_profile',
      found === undefined ? 'left' : 'changed',
      found === undefined ? `${profile}.yaml was not found` : 'paragraphs of the instructions',
    );
    if (found !== undefined) {
      paragraphs.push(motivationText(found.root));
      useOf(shared, `motivation ${profile}`, agent);
    }
  }
  const traits = root.part('genotype');
  if (traits !== undefined) {
    const lines = Object.keys(traits.value).flatMap((key) => {
      const value = textOf(traits.changed(key, 'a line of the instructions'));
      return value === undefined
        ? []
        : [`- ${key.replaceAll('_', ' ')}: ${value.toLowerCase().replaceAll('_', ' ')}`];
    });
    if (lines.length > 0) paragraphs.push(`## Your traits\n${lines.join('\n')}`);
  }
  return plainText([...paragraphs, ACTIONS].join('\n\n'));
}

const useOf = (shared: Shared, key: string, agent: string): void => {
  shared.users.set(key, [...(shared.users.get(key) ?? []), agent]);
};

/** Component files that the agent names, each for the steps that its workflow has. */
async function componentsOf(
  path: string,
  root: Part,
  shared: Shared,
  agent: string,
  prompts: ReadonlyMap<string, readonly string[]>,
  variables: WorldVariables,
  options: ImportOptions,
): Promise<readonly JsonObject[]> {
  const lists = root.part('components');
  const made: JsonObject[] = [];
  for (const kind of ['behaviors', 'traits', 'goals', 'phases']) {
    for (const name of textsOf(lists?.take(kind))) {
      const found =
        shared.components.get(name) ??
        (await readAbove(
          path,
          [`_components/${kind}/${name}.yaml`, `src/agents/_components/${kind}/${name}.yaml`],
          options,
        ));
      if (found === undefined) {
        lists?.note(kind, 'left', `${name}.yaml was not found`);
        continue;
      }
      useOf(shared, `component ${name}`, agent);
      const component = componentOf(found.root, name, prompts, variables);
      if (component === undefined)
        lists?.note(kind, 'left', `${name}: the workflow has none of the steps it is for`);
      else {
        lists?.note(kind, 'kept', `components of the agent: ${name}`);
        made.push(component);
      }
    }
    if (Array.isArray(lists?.value[kind]) && (lists.value[kind] as readonly Json[]).length === 0)
      lists.note(kind, 'kept', 'it is empty');
  }
  return made;
}

function componentOf(
  root: Part,
  name: string,
  prompts: ReadonlyMap<string, readonly string[]>,
  variables: WorldVariables,
): JsonObject | undefined {
  const fragment = textOf(root.value.prompt_fragment);
  const entries: Json[] = [];
  for (const rule of Array.isArray(root.value.inject_into)
    ? (root.value.inject_into as readonly Json[])
    : []) {
    const step = textOf(isJsonObject(rule) ? rule.step : rule) ?? '';
    const test = isJsonObject(rule) && rule.always !== true ? rule.if : undefined;
    for (const given of prompts.get(step) ?? [])
      entries.push(isInvocation(test) ? { step: given, if: toInvocation(test, variables, true) } : given);
  }
  if (fragment === undefined || fragment.trim() === '' || entries.length === 0) return undefined;
  return { name: nameOf(name), prompt: toTemplate(fragment.trim(), variables).text, inject_into: entries };
}

/** Keys of an agent that nothing here corresponds to, each with what to do instead. */
function noteLeft(root: Part): void {
  root.left('enabled', 'an agent runs only when it is started');
  const whole: Readonly<Record<string, string>> = {
    rag: 'nothing searches memories before a step: use "memory", or a context feed',
    visibility: 'prompts show what they name',
    interface_discovery: 'the agent is told the parameters of its tools',
    memory: 'use artifacts, or "memory" with a knowledge graph',
  };
  for (const [key, why] of Object.entries(whole)) {
    const part = root.part(key);
    if (part === undefined) root.left(key, why);
    else part.rest(why);
  }
}
