import { dirname } from 'node:path';
import type { LoadedManifest, Project } from '../../manifest/project/project.ts';
import { agentCode } from '../define/agent-code.ts';
import { hashOf } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { reachOf } from '../reach-of.ts';
import { templateDefaults } from '../to-action.ts';

/** Finds the agents that agents may call. Each is loaded once, so that what is prepared for it is found again. */
export interface AgentFamily {
  /** Imported ones, then those beside it in its file. */
  callableBy(agent: LoadedAgent<unknown>): readonly LoadedAgent<unknown>[];
}

export function createAgentFamily(): AgentFamily {
  const members = new WeakMap<Project, Map<string, LoadedAgent<unknown>>>();

  const membersOf = (agent: LoadedAgent<unknown>): Map<string, LoadedAgent<unknown>> => {
    let known = members.get(agent.project);
    if (known === undefined) {
      known = new Map();
      members.set(agent.project, known);
    }
    if (!known.has(agent.manifest.name)) known.set(agent.manifest.name, agent);
    return known;
  };

  return {
    callableBy(agent) {
      const { project } = agent;
      const known = membersOf(agent);
      return callable(agent).flatMap((found) => {
        const member = known.get(found.name) ?? toAgent(found, project);
        if (member === undefined) return [];
        known.set(found.name, member);
        return [member];
      });
    },
  };
}

/** What `agentScope` lets it name; itself only where it says so, or every agent would be offered itself. */
function callable({ manifest, project }: LoadedAgent<unknown>): readonly LoadedManifest[] {
  const agents = project.manifests.filter(({ kind }) => kind === 'Agent');
  const own = agents.find(({ name }) => name === manifest.name);
  if (own === undefined) return [];
  const imported = own.imports.flatMap((entry) =>
    entry.type === 'files' && entry.list === 'agents' ? entry.manifests : [],
  );
  const beside = agents.filter(
    ({ file, id }) => file === own.file && (id !== own.id || namesItself(agentOf(own))),
  );
  const byId = new Map(agents.map((each) => [each.id, each]));
  return [...new Set([...imported.flatMap((id) => byId.get(id) ?? []), ...beside])];
}

const agentOf = ({ manifest }: LoadedManifest) => (manifest.kind === 'Agent' ? manifest : undefined);

function namesItself(manifest: ReturnType<typeof agentOf>): boolean {
  const templates = manifest?.action_templates ?? {};
  return Object.keys(templates).some((each) => {
    const { kind, name } = templateDefaults(templates, each);
    return kind === 'agent' && name === manifest?.name;
  });
}

function toAgent(loaded: LoadedManifest, project: Project): LoadedAgent | undefined {
  const manifest = agentOf(loaded);
  if (manifest === undefined) return undefined;
  const { file } = loaded;
  const folder = agentCode({ manifest, project })?.folder ?? dirname(file);
  return { manifest, project, path: file, folder, hash: hashOf(reachOf(loaded, project)) };
}
