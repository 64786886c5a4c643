import type { LoadedManifest, Project } from '../../manifest/project/project.ts';
import type { Target } from '../target.ts';
import type { McpServer } from './mcp-server.ts';
import { mcpTargets } from './mcp-targets.ts';
import { promptTarget } from './prompt-target.ts';
import { resourceTargets } from './resource-targets.ts';
import { toolsOfServer } from './tools-of-server.ts';

/** Targets that are others once a server lists something else. */
export interface ListedTargets {
  /** Those of this moment: the same ones as long as the server lists the same. Throws where they cannot be had. */
  targets(): readonly Target[];
}

/** All that one server of an agent has. */
export function serverTargets(server: McpServer, agent: LoadedManifest, project: Project): ListedTargets {
  const { resources, prompts, timeout } = entryOf(agent, server.name);
  const taken = toolsOfServer(agent, project, server.name);
  return whileListed(server, () => {
    const tools = [...mcpTargets(server, taken)];
    const names = new Set(tools.map(({ name }) => name));
    const beside = [
      ...(resources && server.resources !== undefined ? resourceTargets(server) : []),
      ...(prompts && server.prompts !== undefined && server.prompts.all.length > 0
        ? [promptTarget(server)]
        : []),
      // A server that has a tool of this name means that one.
    ].filter(({ name }) => !names.has(name));
    const all = [...tools, ...beside];
    return timeout === undefined ? all : all.map((target) => ({ ...target, timeoutMs: timeout.ms }));
  });
}

/** Makes targets anew when their server lists something else than before. */
export function whileListed(server: McpServer, make: () => readonly Target[]): ListedTargets {
  let made: readonly Target[] | undefined;
  let of: readonly unknown[] = [];
  return {
    targets() {
      const now = [server.tools, server.prompts?.all, server.resources === undefined];
      if (made === undefined || now.some((list, index) => list !== of[index])) made = make();
      of = now;
      return made;
    },
  };
}

function entryOf({ manifest }: LoadedManifest, server: string) {
  const tools = manifest.kind === 'Agent' ? manifest.import.tools : [];
  for (const tool of tools) if (typeof tool === 'object' && tool.mcp.name === server) return tool.mcp;
  return { resources: true, prompts: true, timeout: undefined };
}
