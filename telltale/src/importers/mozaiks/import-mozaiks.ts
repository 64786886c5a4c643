import type { Json, JsonObject } from '../../lib/json.ts';
import { fileDiagnostic } from '../../manifest/files.ts';
import type { ImportedFile, Importer, ImportOptions, MadeFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createTaken, type Names, type NamesTaken, nameOf } from '../names.ts';
import type { SourceMap } from '../source-map.ts';
import { defined, filled, plainText, textOf } from '../values.ts';
import { type Handoffs, readHandoffs } from './handoffs.ts';
import {
  type AgentNames,
  inner,
  isMozaiks,
  type MozaiksDefinition,
  nameOfDefinition,
  readDefinitions,
} from './read-mozaiks.ts';
import { type MadeTool, readOutputs, readTools } from './tools.ts';
import { Variables } from './variables.ts';

const DEFAULT_MODEL = 'anthropic/claude-sonnet-4-5';

/** Converts workflows of Mozaiks: agents, their tools and variables, and who hands the conversation to whom. */
export const mozaiks: Importer = {
  pattern: '**/*.{yaml,yml,json}',
  detect: isMozaiks,
  async import(files, options) {
    const taken = createTaken();
    const imported: ImportedFile[] = [];
    for (const definition of readDefinitions(files)) {
      options.signal.throwIfAborted();
      imported.push(await importDefinition(definition, taken, options));
    }
    return imported;
  },
};

interface ReadAgent {
  readonly written: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly instructions: string;
}

async function importDefinition(
  definition: MozaiksDefinition,
  taken: NamesTaken,
  options: ImportOptions,
): Promise<ImportedFile> {
  const { file, diagnostics } = definition;
  const written = nameOfDefinition(definition);
  const folder = taken.folders.take(nameOf(written));
  const agents = readAgents(definition, taken.agents);
  const agentName = (name: string) => agents.find((each) => sameName(each.written, name))?.name;
  const tools = await readTools(definition, taken.tools, agentName, options);
  const variables = new Variables(definition, {
    agent: agentName,
    tool: (name) => tools.find((each) => each.written === name)?.name,
    artifact: taken.artifacts.take(`${nameOf(written)}_responses`),
  });
  const handoffs = readHandoffs(definition, agentName, variables);
  const settings = readSettings(definition, agentName);
  const outputs = readOutputs(definition);
  readOthers(definition);
  definition.rest();
  const workflow = { definition, folder, written, agents, tools, variables, handoffs, settings, outputs };
  const made = makeFiles(workflow, taken, options);
  if (made === undefined) {
    const [message, hint] = ['There is no agent in it, and no variable.', 'Name the folder of a workflow.'];
    const empty = fileDiagnostic(file, { severity: 'error', code: 'nothing_to_import', message, hint });
    return { file, diagnostics: [...diagnostics, empty] };
  }
  return { file, diagnostics, made: { ...made, entries: definition.entries() } };
}

const sameName = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

function readAgents(definition: MozaiksDefinition, names: Names): readonly ReadAgent[] {
  const agents: ReadAgent[] = [];
  const read = (item: SourceMap, written: string) => {
    if (Array.isArray(item.value.agents)) {
      item.left('workflow', 'its agents join those of the other documents');
      item.each('agents', 'agent', read);
      return;
    }
    agents.push(readAgent(item, written, names));
  };
  for (const root of definition.sections.get('agents') ?? []) root.each('agents', 'agent', read);
  return agents;
}

function readAgent(item: SourceMap, written: string, names: Names): ReadAgent {
  const name = names.take(nameOf(written));
  if (item.take('name') !== undefined) item.renamed('name', name);
  const description =
    textOf(item.kept('description')) ?? textOf(item.changed('display_name', 'the description of the agent'));
  const sections: string[] = [];
  for (const key of ['prompt_sections', 'prompt_sections_custom']) {
    if (item.value[key] === undefined) continue;
    item.each(key, '', (section) => {
      section.take('id');
      const heading = section.text('heading') ?? '';
      const content = section.text('content') ?? '';
      sections.push([heading, content].filter((text) => text !== '').join('\n'));
    });
    item.note(key, 'changed', 'sections of "instructions", each under its heading');
  }
  const message = textOf(item.changed('system_message', 'it is "instructions"'));
  if (message !== undefined) sections.push(message);
  item.left('max_consecutive_auto_reply', 'an agent waits for the person after each final answer');
  item.left('auto_tool_mode', 'the agent calls its tools itself, as it needs them');
  item.left('structured_outputs_required', 'where the registry names a model, "output" demands it');
  item.left('human_input_mode', 'an agent asks a person in its answer, or by a step of type "approval"');
  item.left('image_generation_enabled', 'import a tool that makes images');
  const instructions = plainText(sections.map((text) => text.trim()).join('\n\n'));
  return { written, name, description, instructions };
}

interface Settings {
  readonly start?: string | undefined;
  readonly maxTurns?: number | undefined;
  readonly example?: string | undefined;
  readonly nextSpeaker?: string | undefined;
  /** Whether a model chooses the next speaker among all agents. */
  readonly isAuto: boolean;
}

function readSettings(definition: MozaiksDefinition, agent: AgentNames): Settings {
  let settings: Settings = { isAuto: false };
  for (const root of definition.sections.get('orchestrator') ?? []) {
    const part = inner(root, 'orchestrator');
    const nameKey = part.keyOf('workflow_name', 'name');
    if (nameKey !== undefined) part.changed(nameKey, 'the name of the group, or of the folder');
    const initial = part.text('initial_agent');
    const start = initial === undefined ? undefined : agent(initial);
    if (initial !== undefined)
      part.either('initial_agent', start !== undefined, 'who starts', `the workflow has no agent ${initial}`);
    const maxTurns = part.changed('max_turns', '"handoffs" of a group, "turns" of an agent alone');
    const example = textOf(part.changed('initial_message', 'an example: start the conversation with it'));
    part.left('startup_mode', 'who speaks first is up to how the session is started');
    part.left('entry_point', 'the server lists every agent');
    part.left('visual_agents', 'the console shows every agent');
    for (const key of ['agent_message', 'initial_message_to_user'])
      part.left(key, 'it is shown by the user interface of Mozaiks');
    const pattern = part.text('orchestration_pattern')?.toLowerCase() ?? '';
    const rule = ['round_robin', 'random'].find((each) => pattern.startsWith(each.replace('_', '')));
    const isAuto = pattern.startsWith('auto');
    const routing = isAuto ? '"handoff" names all others' : 'the handoffs decide who speaks next';
    part.changed('orchestration_pattern', rule ?? routing);
    const isAlone = part.value.human_in_the_loop === false;
    part.changed('human_in_the_loop', `"next_speaker: ${isAlone ? 'end' : 'user'}"`);
    settings = {
      start: start ?? settings.start,
      maxTurns: typeof maxTurns === 'number' && maxTurns >= 1 ? Math.floor(maxTurns) : settings.maxTurns,
      example: example ?? settings.example,
      nextSpeaker: rule ?? (isAlone ? 'end' : settings.nextSpeaker),
      isAuto: isAuto || settings.isAuto,
    };
  }
  return settings;
}

/** Files that only the platform of Mozaiks uses. */
function readOthers({ sections }: MozaiksDefinition): void {
  for (const part of sections.get('hooks') ?? [])
    for (const key of ['hooks', 'hook_files'])
      part.each(key, 'hook', (item) => {
        const file = item.text('filename') ?? item.text('file') ?? 'its file';
        const place = `${file}, function ${item.text('function') ?? ''} (${item.text('hook_type') ?? 'a hook'})`;
        item.note('hook_type', 'left', `Python code is not converted: port ${place} as a hook or a feed`);
        item.rest('it belongs to the code to port');
      });
  for (const part of sections.get('workflow_graph') ?? []) {
    part.left('version', 'it is the version of the file format');
    part.rest('one workflow does not lead to another: port it as a workflow with steps of type "agent"');
  }
  for (const part of sections.get('ui_config') ?? []) part.rest('the console shows every agent');
}

interface Workflow {
  readonly definition: MozaiksDefinition;
  readonly folder: string;
  readonly written: string;
  readonly agents: readonly ReadAgent[];
  readonly tools: readonly MadeTool[];
  readonly variables: Variables;
  readonly handoffs: Handoffs;
  readonly settings: Settings;
  readonly outputs: ReadonlyMap<string, JsonObject>;
}

type ImportMozaiksMade = Omit<NonNullable<ImportedFile['made']>, 'entries'>;

function makeFiles(
  workflow: Workflow,
  taken: NamesTaken,
  options: ImportOptions,
): ImportMozaiksMade | undefined {
  const { folder, agents, tools, settings, handoffs } = workflow;
  const [first] = agents;
  if (first === undefined) return variablesAlone(workflow);
  const files: MadeFile[] = [];
  const entries = workflow.definition.entries();
  const from = `Imported from ${workflow.definition.file}, a workflow of Mozaiks.`;
  /** With what was left of this part of the source as comments at its head. */
  const write = (path: string, manifest: JsonObject, label: string | null, head = from) => {
    const left = entries.filter(({ step, outcome }) => step === label && outcome === 'left');
    const remarks = left.map(({ construct, how }) => `${construct} (left): ${how}`);
    files.push({ path, text: yamlOf(manifest, [head, ...remarks]) });
  };
  for (const { name, manifest, remark, written } of tools)
    write(`${folder}/tools/${name}.yml`, manifest, `tool ${written}`, remark);
  const artifact = responsesArtifact(workflow);
  if (artifact !== undefined) write(`${folder}/responses.yml`, artifact, '');
  const rules = handoffs.byAgent.get(first.name) ?? [];
  const isGroup = agents.length > 1 || handoffs.onMessage.length > 0 || rules.length > 1;
  for (const agent of agents)
    write(
      `${folder}/${agent.name}.yml`,
      agentManifest(agent, workflow, isGroup, options),
      `agent ${agent.written}`,
    );
  const start = settings.start ?? first.name;
  if (!isGroup) return { kind: 'agent', name: start, files };
  const name = taken.agents.take(nameOf(workflow.written));
  write(`${folder}.yml`, groupManifest(name, start, workflow, options), null);
  return { kind: 'agent', name, files };
}

function agentManifest(
  { name, written, description, instructions }: ReadAgent,
  { agents, tools, variables, handoffs, settings, outputs }: Workflow,
  isGroup: boolean,
  options: ImportOptions,
): JsonObject {
  const others = agents.filter((each) => each.name !== name);
  const rules = handoffs.byAgent.get(name) ?? [];
  const handoff: readonly Json[] =
    rules.length === 0 && settings.isAuto ? others.map((each) => each.name) : rules;
  const targets = handoff.map((each) => (typeof each === 'string' ? each : (each as JsonObject).to));
  const own = tools.filter((tool) => tool.agents.some((agent) => sameName(agent, written)));
  const schema = outputs.get(written);
  return filled({
    kind: 'Agent',
    name,
    description: description === undefined ? undefined : plainText(description),
    model: options.model ?? DEFAULT_MODEL,
    instructions,
    limits: isGroup ? undefined : defined({ turns: settings.maxTurns }),
    context_variables: variables.listsFor(own.map((tool) => tool.name)),
    output: defined({ schema }),
    import: filled({
      agents: others.filter((each) => targets.includes(each.name)).map((each) => `./${each.name}.yml`),
      tools: own.map((tool) => `./tools/${tool.name}.yml`),
      artifacts: variables.responses.length === 0 ? [] : ['./responses.yml'],
    }),
    handoff,
    examples: isGroup || settings.example === undefined ? undefined : [plainText(settings.example)],
  });
}

function groupManifest(
  name: string,
  start: string,
  { agents, variables, handoffs, settings, folder }: Workflow,
  options: ImportOptions,
): JsonObject {
  return filled({
    kind: 'Agent',
    name,
    description: `The agents ${agents.map((each) => each.name).join(', ')} in one conversation.`,
    model: options.model ?? DEFAULT_MODEL,
    limits: defined({ handoffs: settings.maxTurns }),
    context_variables: variables.listsFor([]),
    import: filled({
      agents: agents.map((each) => `./${folder}/${each.name}.yml`),
      artifacts: variables.responses.length === 0 ? [] : [`./${folder}/responses.yml`],
    }),
    group: filled({
      agents: agents.map((each) => each.name),
      start,
      next_speaker: settings.nextSpeaker ?? 'user',
      on_message: handoffs.onMessage,
    }),
    examples: settings.example === undefined ? undefined : [plainText(settings.example)],
  });
}

/** Variables without an agent: a `context_variables.json`, which an agent in the same folder reads. */
function variablesAlone({ folder, variables }: Workflow): ImportMozaiksMade | undefined {
  const { defined, runtime, derived } = variables;
  if (variables.names.size === 0) return undefined;
  const lists = { defined_variables: defined, runtime_variables: runtime, derived_variables: derived };
  const text = `${JSON.stringify({ context_variables: lists }, null, 2)}\n`;
  return { kind: 'variables', name: folder, files: [{ path: `${folder}/context_variables.json`, text }] };
}

/** The artifact that takes values out of what tools returned. */
function responsesArtifact({ variables, written }: Workflow): JsonObject | undefined {
  if (variables.responses.length === 0) return undefined;
  const methods = variables.responses.map(({ variable, tool, key }) => {
    const asked = `${JSON.stringify(tool)}, ${JSON.stringify(key)}`;
    return `export function ${variable}(context) {\n  return answer(context, ${asked});\n}\n`;
  });
  return {
    kind: 'Artifact',
    name: variables.artifact,
    description: `What tools of ${written} returned, for its variables.`,
    source: plainText(`${ANSWER}\n${methods.join('\n')}`),
    methods: Object.fromEntries(variables.responses.map(({ variable }) => [variable, {}])),
  };
}

const ANSWER = `// A field of the last result, where that is the result of the tool; null leaves the variable as it is.
function answer(context, tool, key) {
  const last = context.recent_actions.filter(({ status }) => status === 'completed').pop();
  return last?.name === tool ? (context.last_result?.[key] ?? null) : null;
}
`;
