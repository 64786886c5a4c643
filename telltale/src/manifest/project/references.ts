import type { Json } from '../../kernel/json.ts';
import type { IssuePath } from '../issue.ts';
import { NOT_AGENTS } from '../schema/handoff.ts';
import { isMap } from './import-entries.ts';
import type { ProjectDocument } from './project-document.ts';

export type ReferenceTo =
  | 'tool'
  | 'relic'
  | 'agent'
  | 'workflow'
  | 'artifact'
  | 'prompt'
  | 'model'
  | 'server'
  /** An agent whose prompts show something: it need not be imported, since a parent's variables may name it. */
  | 'viewer';

/** A name in a document that stands for something outside it. */
export interface Reference {
  readonly to: ReferenceTo;
  readonly name: string;
  readonly path: IssuePath;
  /** The method that is asked of an artifact. */
  readonly method?: string;
}

/** What `type` of an action, a step, a compensation or a feed's source refers to; others refer to nothing by name. */
const TARGETS: ReadonlyMap<string, ReferenceTo> = new Map([
  ['tool', 'tool'],
  ['relic', 'relic'],
  ['agent', 'agent'],
  ['workflow', 'workflow'],
  ['artifact', 'artifact'],
  ['llm', 'prompt'],
  ['mcp', 'server'],
]);

/** Keys below which stands a user's own data: what looks like a reference there is none. */
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

/** Every reference of an Agent, Workflow or Tool to something that other documents define. Depth is the reader's. */
export function collectReferences({
  kind,
  document,
}: Pick<ProjectDocument, 'kind' | 'document'>): readonly Reference[] {
  const found: Reference[] = [];
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

/** An action template without a type has that of the one it names; in the end it is a tool. */
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
