import type { LoadedManifest, Project } from '../manifest/project/project.ts';
import type { BUILTIN_TOOLS } from '../manifest/schema/imports.ts';
import { calculator } from './builtin/calculator/calculator.ts';
import { clock } from './builtin/clock.ts';
import { filesystem } from './builtin/filesystem/filesystem.ts';
import { git } from './builtin/git/git.ts';
import { httpFetch } from './builtin/http-fetch.ts';
import { shell } from './builtin/shell.ts';
import { systemMonitor } from './builtin/system-monitor.ts';
import { type CodeRelic, codeRelic } from './code/code-relic.ts';
import type { CodeTool } from './code/code-tool.ts';
import { mcpTargets } from './mcp/mcp-targets.ts';
import { toolsOfServer } from './mcp/tools-of-server.ts';
import type { RelicStore } from './relics/relic-store.ts';
import { relicTarget } from './relics/relic-target.ts';
import type { Target } from './target.ts';
import type { TargetEdges } from './target-edges.ts';
import { toolTarget } from './tools/tool-target.ts';

/** Tools and relics in the order of the imports; then what stands beside the agent in its own file. */
export function* importedTargets(
  agent: LoadedManifest,
  project: Project,
  store: RelicStore,
  edges: TargetEdges,
): Generator<Target> {
  const seen = new Set<string>();
  const byId = new Map(project.manifests.map((manifest) => [manifest.id, manifest]));
  for (const entry of agent.imports) {
    if (entry.type === 'mcp') {
      const server = edges.servers.get(entry.name);
      if (server !== undefined) yield* mcpTargets(server, toolsOfServer(agent, project, entry.name));
      continue;
    }
    if (entry.type === 'builtin') {
      if (seen.has(entry.name)) continue;
      seen.add(entry.name);
      yield BUILTINS[entry.name as keyof typeof BUILTINS](edges);
      continue;
    }
    for (const id of entry.manifests) yield* targetOf(byId.get(id), seen, store, edges);
  }
  for (const beside of project.manifests)
    if (beside.file === agent.file) yield* targetOf(beside, seen, store, edges);
}

function* targetOf(
  loaded: LoadedManifest | undefined,
  seen: Set<string>,
  store: RelicStore,
  edges: TargetEdges,
): Generator<Target> {
  if (loaded === undefined || seen.has(loaded.id)) return;
  seen.add(loaded.id);
  const { manifest, file, code } = loaded;
  switch (manifest.kind) {
    case 'Tool':
      yield toolTarget(manifest, file, edges, code as CodeTool | undefined);
      return;
    case 'Relic':
      yield code === undefined
        ? relicTarget(manifest, file, store, edges)
        : codeRelic(manifest, code as CodeRelic);
      return;
    case 'Agent':
    case 'Workflow':
    case 'Artifact':
      return;
  }
}

const BUILTINS: Readonly<Record<(typeof BUILTIN_TOOLS)[number], (edges: TargetEdges) => Target>> = {
  filesystem,
  shell,
  git,
  http_fetch: httpFetch,
  calculator,
  system_monitor: systemMonitor,
  clock,
};
