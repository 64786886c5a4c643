import type { Json } from '../../lib/json.ts';
import { nearest } from '../../lib/nearest.ts';
import { type Diagnostic, type Finding, type IssuePath, quoted } from '../diagnostic.ts';
import { BUILTIN_TOOLS } from '../schema/agent-input.ts';
import { NOT_AGENTS } from '../schema/handoff.ts';
import { isModelRef } from '../schema/model-ref.ts';
import { isMap } from './import-entries.ts';
import { type ImportList, KIND_OF_LIST } from './project.ts';
import type { ImportLink, ProjectDocument } from './project-document.ts';

const KIND_OF: Partial<Record<ReferenceTo, string>> = {
  tool: 'Tool',
  relic: 'Relic',
  agent: 'Agent',
  workflow: 'Workflow',
  artifact: 'Artifact',
  viewer: 'Agent',
};

const WORD: Record<ReferenceTo, string> = {
  tool: 'tool',
  relic: 'relic',
  agent: 'agent',
  workflow: 'workflow',
  artifact: 'artifact',
  prompt: 'prompt',
  model: 'model',
  server: 'MCP server',
  viewer: 'agent',
};

/**
 * Names that do not resolve. An agent's document and its imports are checked against that agent's imports. A workflow
 * that no agent here imports is checked against all documents, so a miss is only a warning.
 */
export function checkReferences(
  documents: readonly ProjectDocument[],
  scopes: readonly AgentScope[],
): Diagnostic[] {
  return documents.flatMap((each) => {
    const own = scopes.filter(({ agent, documents: inside }) =>
      each.kind === 'Agent' ? agent === each : inside.has(each),
    );
    return collectReferences(each).flatMap((reference) => {
      const isPlaced = own.length > 0 && reference.to !== 'viewer';
      const finding = isPlaced ? missing(reference, own, documents) : unplaced(reference, documents);
      if (finding !== undefined)
        return [each.document.diagnose({ path: reference.path, at: 'value' }, finding)];
      const noMethod = isPlaced ? methodMissing(reference, own) : undefined;
      const path = [...reference.path.slice(0, -1), 'method'];
      return noMethod === undefined ? [] : [each.document.diagnose({ path, at: 'value' }, noMethod)];
    });
  });
}

function missing(
  reference: ReferencesReference,
  scopes: readonly AgentScope[],
  documents: readonly ProjectDocument[],
): Finding | undefined {
  const scope = scopes.find(({ names }) => !isKnown(reference, names[reference.to], names.server));
  if (scope === undefined) return undefined;
  const { to, name } = reference;
  const known = [...scope.names[to]];
  const isCertain = to !== 'artifact' && !scope.partial.has(to);
  // If an import failed and no known name is similar, the failed import is what needs fixing.
  if (scope.partial.has(to) && scope.names.server.size === 0 && nearest(name, known) === undefined)
    return undefined;
  return {
    severity: isCertain ? 'error' : 'warning',
    code: `unknown_${to}`,
    message: `The agent ${quoted(scope.agent.name ?? '?')} ${HAS[to]} no ${WORD[to]} named ${quoted(name)}.`,
    hint: hintFor(reference, known, scope, documents),
  };
}

/** A method that the artifact's manifest does not name. A later version may have it. */
function methodMissing(
  { to, name, method }: ReferencesReference,
  scopes: readonly AgentScope[],
): Finding | undefined {
  if (to !== 'artifact' || method === undefined) return undefined;
  for (const { documents } of scopes)
    for (const { kind, name: own, document } of documents) {
      if (kind !== 'Artifact' || own !== name || document.manifest?.kind !== 'Artifact') continue;
      const methods = Object.keys(document.manifest.methods ?? {});
      if (methods.includes(method)) continue;
      const near = nearest(method, methods);
      return {
        severity: 'warning',
        code: 'unknown_method',
        message: `The artifact ${quoted(name)} has no method ${quoted(method)}.`,
        hint:
          near === undefined
            ? `It has: ${methods.join(', ')}. Until this method exists, the fallback is used.`
            : `Did you mean ${quoted(near)}?`,
      };
    }
  return undefined;
}

const HAS: Record<ReferenceTo, string> = {
  tool: 'imports',
  relic: 'imports',
  agent: 'imports',
  workflow: 'imports',
  artifact: 'imports',
  prompt: 'has',
  model: 'has',
  server: 'imports',
  viewer: 'imports',
};

function hintFor(
  { to, name }: ReferencesReference,
  known: readonly string[],
  scope: AgentScope,
  documents: readonly ProjectDocument[],
): string {
  const elsewhere = documents.find((each) => each.kind === KIND_OF[to] && each.name === name);
  if (elsewhere !== undefined)
    return `${elsewhere.label}:${elsewhere.line} defines it: add that file to "import.${to}s" of ${scope.agent.label}.`;
  if (to === 'tool' && BUILTIN_TOOLS.some((tool) => tool === name))
    return `It is built in: add "builtin:${name}" to "import.tools".`;
  const near = nearest(name, known);
  if (near !== undefined) return `Did you mean ${quoted(near)}?`;
  if (to === 'artifact') return 'Until it exists, the fallback is used.';
  const where =
    to === 'prompt' || to === 'model'
      ? `"${to}s"`
      : to === 'server'
        ? 'the MCP servers of "import.tools"'
        : `"import.${to}s"`;
  return known.length === 0
    ? `It imports none. Add it to ${where} of ${scope.agent.label}.`
    : `Known: ${known.slice(0, 20).join(', ')}. Or add it to ${where} of ${scope.agent.label}.`;
}

function unplaced(
  reference: ReferencesReference,
  documents: readonly ProjectDocument[],
): Finding | undefined {
  const kind = KIND_OF[reference.to];
  if (kind === undefined || reference.to === 'artifact') return undefined;
  const names = new Set(
    documents.flatMap((each) => (each.kind === kind && each.name !== undefined ? [each.name] : [])),
  );
  if (reference.to === 'tool') for (const tool of BUILTIN_TOOLS) names.add(tool);
  if (isKnown(reference, names, new Set())) return undefined;
  const near = nearest(reference.name, names);
  return {
    severity: 'warning',
    code: `unknown_${reference.to === 'viewer' ? 'agent' : reference.to}`,
    message: `No ${WORD[reference.to]} named ${quoted(reference.name)} is among the manifests that were checked.`,
    hint:
      near === undefined
        ? 'Validate it together with the agent that imports this file.'
        : `Did you mean ${quoted(near)}?`,
  };
}

/** A tool may be one of several that a server or a built-in provides: `github.create_issue`, `filesystem_read`. */
function isKnown(
  { to, name }: ReferencesReference,
  names: ReadonlySet<string>,
  servers: ReadonlySet<string>,
): boolean {
  if (names.has(name) || (to === 'model' && isModelRef(name))) return true;
  if (to !== 'tool') return false;
  const prefixes = [...name.matchAll(/[./:_]/g)].map(({ index }) => name.slice(0, index));
  return prefixes.some(
    (prefix) => servers.has(prefix) || (names.has(prefix) && BUILTIN_TOOLS.some((tool) => tool === prefix)),
  );
}

/** The names that an agent, and the workflows it imports, may use. */
export interface AgentScope {
  readonly agent: ProjectDocument;
  readonly documents: ReadonlySet<ProjectDocument>;
  readonly names: Readonly<Record<ReferenceTo, ReadonlySet<string>>>;
  /** The kinds whose names are not all known: an import failed, or an MCP server lists its tools only when it runs. */
  readonly partial: ReadonlySet<ReferenceTo>;
}

const GENESIS = [
  'genesis_random_decider',
  'genesis_balance_checker',
  'genesis_error_detector',
  'genesis_majority',
];
const PROMPTS = ['summarize', 'extract', 'classify'];

/** Its imports, the other documents in its file, the agent itself, and everything built in. */
export function agentScope(
  agent: ProjectDocument,
  links: readonly ImportLink[],
  byFile: ReadonlyMap<string, readonly ProjectDocument[]>,
  broken: ReadonlySet<string>,
): AgentScope {
  const imported = links.flatMap(({ entry, files }) =>
    files.flatMap((file) => byFile.get(file) ?? []).filter(({ kind }) => kind === KIND_OF_LIST[entry.list]),
  );
  const documents = new Set([agent, ...(byFile.get(agent.file) ?? []), ...imported]);
  const named = (wanted: string) =>
    [...documents].flatMap(({ kind, name }) => (kind === wanted && name !== undefined ? [name] : []));
  const entries = (type: 'builtin' | 'mcp') =>
    links.flatMap(({ entry: { what } }) => (what.type === type ? [what.name] : []));
  const { value } = agent.document;
  const keys = (key: string) => (isMap(value) && isMap(value[key]) ? Object.keys(value[key]) : []);
  const servers = entries('mcp');
  const partial = new Set<ReferenceTo>(servers.length > 0 ? ['tool'] : []);
  for (const { entry, files } of links) {
    const isKnown = entry.what.type === 'builtin' || entry.what.type === 'mcp' || entry.what.type === 'glob';
    if (!isKnown && files.length === 0) partial.add(REFERENCE_OF_LIST[entry.list]);
    if (files.some((file) => broken.has(file))) partial.add(REFERENCE_OF_LIST[entry.list]);
  }
  return {
    agent,
    documents,
    names: {
      tool: new Set([...named('Tool'), ...entries('builtin')]),
      relic: new Set(named('Relic')),
      agent: new Set(named('Agent')),
      workflow: new Set(named('Workflow')),
      artifact: new Set([...named('Artifact'), ...GENESIS]),
      prompt: new Set([...keys('prompts'), ...PROMPTS]),
      model: new Set(keys('models')),
      server: new Set(servers),
      viewer: new Set(),
    },
    partial,
  };
}

const REFERENCE_OF_LIST = {
  tools: 'tool',
  relics: 'relic',
  agents: 'agent',
  workflows: 'workflow',
  artifacts: 'artifact',
} as const satisfies Record<ImportList, ReferenceTo>;

export type ReferenceTo =
  | 'tool'
  | 'relic'
  | 'agent'
  | 'workflow'
  | 'artifact'
  | 'prompt'
  | 'model'
  | 'server'
  /** An agent whose prompts show something. It need not be imported, because a parent's variables may name it. */
  | 'viewer';

/** A name in a document for something outside it. */
export interface ReferencesReference {
  readonly to: ReferenceTo;
  readonly name: string;
  readonly path: IssuePath;
  /** The method of an artifact that is called. */
  readonly method?: string;
}

/**
 * What the `type` of an action, a step, a compensation or a feed's source refers to. Other types refer to nothing by
 * name.
 */
const TARGETS: ReadonlyMap<string, ReferenceTo> = new Map([
  ['tool', 'tool'],
  ['relic', 'relic'],
  ['agent', 'agent'],
  ['workflow', 'workflow'],
  ['artifact', 'artifact'],
  ['llm', 'prompt'],
  ['mcp', 'server'],
]);

/** Keys that contain the user's own data, where text that looks like a reference is none. */
const DATA: ReadonlySet<string> = new Set(
  [
    'parameters',
    'params',
    'input',
    'schema',
    'default',
    'data',
    'values',
    'value',
    'set',
    'args',
    'env',
    'headers',
  ].concat(['conditions', 'match', 'metadata', 'requires', 'fallback', 'import', 'permissions', 'output']),
);

/**
 * Every reference in an Agent, Workflow or Tool to something that other documents define. The reader has limited the
 * depth.
 */
function collectReferences({
  kind,
  document,
}: Pick<ProjectDocument, 'kind' | 'document'>): readonly ReferencesReference[] {
  const found: ReferencesReference[] = [];
  const templates = isMap(document.value) ? document.value.action_templates : undefined;
  const add = (to: ReferenceTo, name: Json | undefined, path: IssuePath, method?: Json) => {
    if (typeof name !== 'string' || name === '' || name.includes('${')) return;
    found.push({ to, name, path, ...(typeof method === 'string' ? { method } : {}) });
  };
  const visit = (value: Json, path: IssuePath): void => {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item as Json, [...path, index]);
      return;
    }
    if (!isMap(value)) return;
    readMap(value, path);
    for (const [key, item] of Object.entries(value))
      if (!DATA.has(key) && !(key === 'action_templates' && Array.isArray(item))) visit(item, [...path, key]);
  };
  const readMap = (map: { readonly [key: string]: Json }, path: IssuePath) => {
    const at = (key: string) => [...path, key];
    const section = path[0];
    const isTemplate = section === 'action_templates' && path.length >= 2;
    const type =
      typeof map.type === 'string'
        ? map.type
        : isTemplate
          ? inheritedType(map, templates)
          : path.at(-1) === 'compensate'
            ? 'tool'
            : undefined;
    const to = type === undefined ? undefined : TARGETS.get(type);
    if (to !== undefined && (isTemplate || path.at(-1) === 'source')) add(to, map.name, at('name'));
    if (to !== undefined && !isTemplate) add(to, map.target, at('target'));
    if (type === 'task' || type === 'plan' || type === 'agent_text' || type === 'agent_turn_count')
      add('agent', map.agent, at('agent'));
    if (type === 'tool_response') add('tool', map.tool, at('tool'));
    if (type === 'function') add('artifact', map.artifact, at('artifact'), map.method);
    if (section === 'context_variables' && Array.isArray(map.expose))
      for (const [index, name] of map.expose.entries()) add('viewer', name as Json, [...at('expose'), index]);
    if (section === 'context_variables' && path[1] === 'defined') add('relic', map.store, at('store'));
    add('artifact', map.invoke, at('invoke'), map.method);
    add('artifact', map.prompt_artifact_id, at('prompt_artifact_id'));
    if (path.length > 0 && typeof map.model === 'string' && kind === 'Workflow')
      add('model', map.model, at('model'));
  };
  const { value } = document;
  if (!isMap(value)) return found;
  if (kind === 'Agent') {
    add('workflow', value.workflow, ['workflow']);
    for (const { to, path } of namedSpeakers(value)) add('agent', to, path);
  }
  if (kind === 'Agent' || kind === 'Workflow') visit(value, []);
  if (kind === 'Tool' && isMap(value.implementation) && isMap(value.implementation.mcp))
    add('server', value.implementation.mcp.server, ['implementation', 'mcp', 'server']);
  return found;
}

interface NamedSpeaker {
  readonly to: Json | undefined;
  readonly path: IssuePath;
}

/** The agents that "handoff" and "group" name. */
function namedSpeakers({ handoff, group }: { readonly [key: string]: Json }): readonly NamedSpeaker[] {
  const found: NamedSpeaker[] = [];
  const listed = (list: Json | undefined, path: IssuePath) => {
    if (!Array.isArray(list)) return;
    for (const [index, each] of list.entries())
      found.push(
        isMap(each) ? { to: each.to, path: [...path, index, 'to'] } : { to: each, path: [...path, index] },
      );
  };
  listed(handoff, ['handoff']);
  if (isMap(group)) {
    listed(group.agents, ['group', 'agents']);
    listed(group.on_message, ['group', 'on_message']);
  }
  return found.filter(({ to }) => typeof to !== 'string' || !NOT_AGENTS.includes(to));
}

/** An action template without a type inherits the type of its base template. The default is tool. */
function inheritedType(template: { readonly [key: string]: Json }, templates: Json | undefined): string {
  const passed = new Set<Json>();
  for (let at: Json | undefined = template; isMap(at) && !passed.has(at); ) {
    passed.add(at);
    if (typeof at.type === 'string') return at.type;
    const name: Json | undefined = at.template;
    at =
      isMap(templates) && typeof name === 'string' && Object.hasOwn(templates, name)
        ? templates[name]
        : undefined;
  }
  return 'tool';
}
