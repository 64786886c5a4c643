import { basename, resolve } from 'node:path';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { ImportOptions } from '../importer.ts';
import { type Names, nameOf } from '../names.ts';
import { jsonTypeOf, parametersOf, toolStub } from '../python.ts';
import type { SourceMap } from '../source-map.ts';
import { readNamed } from '../sources.ts';
import { defined, mapOf, plainText, plainValue, textOf, textsOf } from '../values.ts';
import { type AgentNames, inner, type MozaiksDefinition } from './read-mozaiks.ts';

export interface MadeTool {
  readonly name: string;
  /** The function it is called by in Mozaiks. */
  readonly written: string;
  /** The agents that have it, as Mozaiks calls them. */
  readonly agents: string[];
  readonly manifest: JsonObject;
  /** What to port, for the head of its file. */
  readonly remark: string;
}

const NOT_DRAWN = 'nothing draws components of Mozaiks: the console shows the call and its result';

/** The tools of a workflow. Each becomes a stub: its Python code has to be ported by hand. */
export async function readTools(
  definition: MozaiksDefinition,
  names: Names,
  agentName: AgentNames,
  options: ImportOptions,
): Promise<readonly MadeTool[]> {
  const parts: SourceMap[] = [];
  const sources = new Map<string, string>();
  for (const root of definition.sections.get('tools') ?? []) {
    root.each('tool_files', 'tool file', (item) => {
      const file = textOf(item.kept('file', 'the code to port'));
      const source = textOf(item.changed('source', 'it is not converted: the stubs of its functions say so'));
      if (file !== undefined && source !== undefined) sources.set(basename(file), source);
    });
    // Tools are read once their sources are known; what they do not read is reported then.
    root.each('tools', 'tool', (item) => void parts.push(item));
    root.each('ui_tools', 'tool', (item) => item.rest(NOT_DRAWN));
    root.each('lifecycle_tools', 'lifecycle tool', readLifecycleTool);
  }
  const made = new Map<string, MadeTool>();
  for (const part of parts) {
    const tool = await readTool(part, definition, { names, made, sources }, options);
    for (const agent of tool.agents)
      if (agentName(agent) === undefined) part.note('agent', 'left', `the workflow has no agent ${agent}`);
    const known = made.get(tool.written);
    if (known === undefined) made.set(tool.written, tool);
    else known.agents.push(...tool.agents);
  }
  return [...made.values()];
}

/** What the tools of a workflow share while they are read. */
interface Readings {
  readonly names: Names;
  readonly made: ReadonlyMap<string, MadeTool>;
  readonly sources: ReadonlyMap<string, string>;
}

async function readTool(
  part: SourceMap,
  definition: MozaiksDefinition,
  { names, made, sources }: Readings,
  options: ImportOptions,
): Promise<MadeTool> {
  const file = textOf(part.take('file') ?? part.take('filename') ?? part.take('path'));
  part.take('filename');
  const written = part.text('function') ?? part.text('name') ?? basename(file ?? 'tool', '.py');
  const name = made.get(written)?.name ?? names.take(nameOf(written));
  const agents = [...textsOf(part.take('agent')), ...textsOf(part.take('agents'))];
  part.note('agent', 'changed', `the agent imports the tool: ${agents.join(', ') || 'none does'}`);
  part.note('function', name === written ? 'kept' : 'changed', `the tool ${name}`);
  const content = textOf(part.take('content'));
  const source =
    content ?? (file === undefined ? undefined : await sourceOf(file, definition, sources, options));
  const parameters = source === undefined ? undefined : parametersOf(source, written);
  const place = `${file ?? 'a Python file'}, function ${written}`;
  const remark = `Port ${place}. Replace "implementation" with a module, a command or an HTTP request.`;
  const taken = parameters === undefined ? '; its parameters were not found, so any are accepted' : '';
  part.note('file', 'changed', `Python is not converted: calls fail and say what to port (${place})${taken}`);
  if (content !== undefined) part.note('content', 'changed', 'the parameters were read out of it');
  const manifest = toolStub(name, textOf(part.kept('description')), parameters, place);
  noteTool(part);
  return { name, written, agents, manifest, remark };
}

function noteTool(part: SourceMap): void {
  if (part.text('tool_type') !== 'UI_Tool') part.kept('tool_type', 'a tool');
  else part.left('tool_type', 'no component is drawn: to ask a person, port it as an approval');
  part.left('ui', NOT_DRAWN);
  part.left('auto_invoke', 'tools are called by the model, or by a workflow');
  part.left('integration', 'say it in the code that you port');
  part.left('installRequirements', 'packages of Python are not needed by what you port');
}

/** What lifecycle tools are to be ported as. */
const LIFECYCLE: Readonly<Record<string, string>> = {
  before_agent: 'the hook "before_turn"',
  after_agent: 'the hook "after_turn"',
  before_chat: 'a workflow with a trigger on the event session.started',
  after_chat: 'a workflow with a trigger on the event session.ended',
};

function readLifecycleTool(part: SourceMap): void {
  const place = `${part.text('file') ?? 'its file'}, function ${part.text('function') ?? part.text('name') ?? ''}`;
  const as = LIFECYCLE[part.text('trigger') ?? ''] ?? 'a hook';
  part.note('trigger', 'left', `Python code is not converted: port ${place} as ${as}`);
  part.rest('it belongs to the code to port');
}

/** The Python source of a tool: the file beside the manifests, or in their folder `tools`. */
async function sourceOf(
  file: string,
  { folder }: MozaiksDefinition,
  sources: ReadonlyMap<string, string>,
  options: ImportOptions,
): Promise<string | undefined> {
  const inline = sources.get(basename(file));
  if (inline !== undefined) return inline;
  for (const path of [resolve(folder, 'tools', basename(file)), resolve(folder, file)]) {
    const text = await readNamed(path, [folder], options);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** The JSON Schema of each agent's final answer, by the agent's name in Mozaiks. */
export function readOutputs(definition: MozaiksDefinition): ReadonlyMap<string, JsonObject> {
  const outputs = new Map<string, JsonObject>();
  for (const root of definition.sections.get('structured_outputs') ?? []) {
    const part = inner(root, 'structured_outputs');
    const models = new Map<string, JsonObject>();
    part.each('models', 'model', (item, name) => {
      models.set(name, item.value);
      for (const key of Object.keys(item.value)) item.kept(key, 'a part of the JSON Schema');
      const { fields } = item.value;
      for (const field of Array.isArray(fields) ? fields : Object.values(mapOf(fields)))
        item.leaveOthers('fields', field, 'name type items values variants description');
    });
    for (const [agent, model] of [...registryOf(part), ...(part === root ? [] : registryOf(root))]) {
      if (model === undefined) continue;
      if (models.has(model)) outputs.set(agent, schemaOf(model, models, []));
      else part.note('registry', 'left', `${agent}: there is no model ${model}`);
    }
    part.left('agent_message', 'it is shown by the user interface of Mozaiks');
  }
  return outputs;
}

/** Pairs of an agent and a model; a map, or a list of `{agent, agent_definition}`. */
function registryOf(part: SourceMap): readonly (readonly [agent: string, model: string | undefined])[] {
  const value = part.take('registry');
  if (value === undefined) return [];
  part.note('registry', 'changed', 'the agents named here have "output: { schema }"');
  if (Array.isArray(value)) {
    const pairs: (readonly [string, string | undefined])[] = [];
    part.each('registry', 'agent', (item, name) => {
      item.take('agent');
      const key = item.keyOf('agent_definition', 'model', 'schema');
      pairs.push([name, key === undefined ? undefined : textOf(item.kept(key, 'the model of its output'))]);
    });
    return pairs;
  }
  return Object.entries(value as JsonObject).map(([agent, model]) => [agent, textOf(model)]);
}

/** A model as JSON Schema, with the models in it written out. One that holds itself is any object there. */
function schemaOf(
  name: string,
  models: ReadonlyMap<string, JsonObject>,
  above: readonly string[],
): JsonObject {
  const model = models.get(name);
  if (model === undefined || above.includes(name)) return { type: 'object' };
  const nested = [...above, name];
  if (model.type === 'literal' || model.type === 'union') return fieldSchema(model, models, nested);
  const properties: Record<string, Json> = {};
  const { fields } = model;
  const entries: readonly (readonly [string | undefined, Json])[] = Array.isArray(fields)
    ? fields.map((field: Json) => [textOf((field as JsonObject).name), field] as const)
    : Object.entries((fields ?? {}) as JsonObject);
  const required: string[] = [];
  for (const [field, definition] of entries) {
    if (field === undefined) continue;
    const schema = fieldSchema(definition, models, nested);
    properties[field] = schema;
    if (!acceptsNull(schema)) required.push(field);
  }
  return defined({ type: 'object', properties, required: required.length === 0 ? undefined : required });
}

const acceptsNull = ({ type, anyOf }: JsonObject): boolean =>
  type === 'null' ||
  (Array.isArray(type) && type.includes('null')) ||
  (Array.isArray(anyOf) && anyOf.some((each: Json) => acceptsNull(each as JsonObject)));

function fieldSchema(
  field: Json,
  models: ReadonlyMap<string, JsonObject>,
  above: readonly string[],
): JsonObject {
  if (typeof field === 'string') return typeSchema(field, models, above);
  const { type, items, values, variants, description } = field as JsonObject;
  const described = textOf(description);
  let schema: JsonObject;
  if (type === 'literal') schema = { enum: (values ?? []) as readonly Json[] };
  else if (type === 'union')
    schema = { anyOf: ((variants ?? []) as readonly Json[]).map((each) => fieldSchema(each, models, above)) };
  else if (/^list$/i.test(textOf(type) ?? '') && items !== undefined)
    schema = { type: 'array', items: fieldSchema(items, models, above) };
  else schema = typeSchema(textOf(type) ?? '', models, above);
  return defined({
    ...(plainValue(schema) as JsonObject),
    description: described === undefined ? undefined : plainText(described),
  });
}

function typeSchema(
  type: string,
  models: ReadonlyMap<string, JsonObject>,
  above: readonly string[],
): JsonObject {
  const listed = /^list\[(.*)\]$/i.exec(type)?.[1];
  if (listed !== undefined) return { type: 'array', items: typeSchema(listed.trim(), models, above) };
  const optional = /^(?:optional_|Optional\[)(\w+)\]?$/.exec(type)?.[1];
  if (optional !== undefined) return { type: [jsonTypeOf(optional) ?? 'string', 'null'] };
  if (models.has(type)) return schemaOf(type, models, above);
  return defined({ type: jsonTypeOf(type) });
}
