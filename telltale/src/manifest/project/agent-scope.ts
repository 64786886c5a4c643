import { isMap } from './import-entries.ts';
import { type ImportList, KIND_OF_LIST } from './project.ts';
import type { ImportLink, ProjectDocument } from './project-document.ts';
import type { ReferenceTo } from './references.ts';

/** What an agent, and the workflows it imports, may name. */
export interface AgentScope {
  readonly agent: ProjectDocument;
  readonly documents: ReadonlySet<ProjectDocument>;
  readonly names: Readonly<Record<ReferenceTo, ReadonlySet<string>>>;
  /** Kinds of which not everything is known: an import failed, or an MCP server will say only when it runs. */
  readonly partial: ReadonlySet<ReferenceTo>;
}

const GENESIS = [
  'genesis_random_decider',
  'genesis_balance_checker',
  'genesis_error_detector',
  'genesis_majority',
];
const PROMPTS = ['summarize', 'extract', 'classify'];

/** Its imports, the documents beside it in its own file, itself, and what is built in. */
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
