import type { LoadedManifest, Project } from '../manifest/project/project.ts';
import type { BUILTIN_TOOLS } from '../manifest/schema/imports.ts';
import type { CodeRelic } from './code/code-relic.ts';
import type { CodeTool } from './code/code-tool.ts';
import type { ListedTargets } from './mcp/server-targets.ts';
import type { RelicStore } from './relics/relic-store.ts';
import type { Target } from './target.ts';
import type { TargetDeps } from './target-edges.ts';

/**
 * Tools and relics in the order of the imports; then what stands beside the agent in its own file. Loads what the agent
 * has, and nothing else: all kinds together are a hundred modules, a tenth of what the start of a run takes.
 */
export async function* importedTargets(
  agent: LoadedManifest,
  project: Project,
  store: RelicStore,
  deps: TargetDeps,
): AsyncGenerator<Target | ListedTargets> {
  const seen = new Set<string>();
  const byId = new Map(project.manifests.map((manifest) => [manifest.id, manifest]));
  for (const entry of agent.imports) {
    if (entry.type === 'mcp') {
      const server = deps.servers.get(entry.name);
      if (server === undefined) continue;
      const { serverTargets } = await import('./mcp/server-targets.ts');
      yield serverTargets(server, agent, project);
      continue;
    }
    if (entry.type === 'builtin') {
      if (seen.has(entry.name)) continue;
      seen.add(entry.name);
      const make = await BUILTINS[entry.name as keyof typeof BUILTINS]();
      yield make(deps);
      continue;
    }
    for (const id of entry.manifests) yield* targetOf(byId.get(id), seen, store, deps);
  }
  for (const beside of project.manifests)
    if (beside.file === agent.file) yield* targetOf(beside, seen, store, deps);
}

async function* targetOf(
  loaded: LoadedManifest | undefined,
  seen: Set<string>,
  store: RelicStore,
  deps: TargetDeps,
): AsyncGenerator<Target | ListedTargets> {
  if (loaded === undefined || seen.has(loaded.id)) return;
  seen.add(loaded.id);
  const { manifest, file, code } = loaded;
  switch (manifest.kind) {
    case 'Tool': {
      const { toolTarget } = await import('./tools/tool-target.ts');
      const make = () => toolTarget(manifest, file, deps, code as CodeTool | undefined);
      const { implementation } = manifest;
      const server = 'mcp' in implementation ? deps.servers.get(implementation.mcp.server) : undefined;
      if (server === undefined) yield make();
      else yield (await import('./mcp/server-targets.ts')).whileListed(server, () => [make()]);
      return;
    }
    case 'Relic':
      yield code === undefined
        ? (await import('./relics/relic-target.ts')).relicTarget(manifest, file, store, deps)
        : (await import('./code/code-relic.ts')).codeRelic(manifest, code as CodeRelic);
      return;
    case 'Agent':
    case 'Workflow':
    case 'Artifact':
      return;
  }
}

type MakeTarget = (deps: TargetDeps) => Target;

const BUILTINS: Readonly<Record<(typeof BUILTIN_TOOLS)[number], () => Promise<MakeTarget>>> = {
  filesystem: async () => (await import('./builtin/filesystem/filesystem.ts')).filesystem,
  shell: async () => (await import('./builtin/shell.ts')).shell,
  git: async () => (await import('./builtin/git/git.ts')).git,
  http_fetch: async () => (await import('./builtin/http-fetch.ts')).httpFetch,
  calculator: async () => (await import('./builtin/calculator/calculator.ts')).calculator,
  system_monitor: async () => (await import('./builtin/system-monitor.ts')).systemMonitor,
  clock: async () => (await import('./builtin/clock.ts')).clock,
};
