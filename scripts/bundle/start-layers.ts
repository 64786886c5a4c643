import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';

const COMMANDS = 'cli/commands';

/**
 * What is loaded on the way of most commands, in this order. What one of these reaches by its imports, and none before
 * it does, is one file of the bundle; the rest is cut by what loads it. What a module shares with one of these is loaded
 * with all of its file: so what all share comes first, what is small before what is large, and every command before
 * what commands load once they are begun.
 */
const LAYERS = [
  'store/sqlite/thread/worker',
  'targets/sandbox/thread/worker',
  'cli/start',
  `${COMMANDS}/sessions`,
  `${COMMANDS}/show`,
  `${COMMANDS}/run`,
  COMMANDS,
  'store/sqlite/open-sqlite-store',
  'session/open-sessions',
  'manifest/load-manifests',
  'session/create-runtime',
  'session/prepare-agent',
  'session/run-session',
  'session/begin-session',
  'models/scripted/load-script',
  'models/scripted/scripted-model',
  'index',
  'session/runs/walk-run',
  'server/start-daemon',
] as const;
const SHARED_ROOM = 'kernel';

interface Graph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

/** The name of the file that a module belongs to, if it is in a layer. */
export function layerNames(compiled: string): (id: string, graph: Graph) => string | null {
  let names: ReadonlyMap<string, string> | undefined;
  return (id, graph) => {
    if (id.startsWith(join(compiled, SHARED_ROOM, sep))) return SHARED_ROOM;
    names ??= nameAll(compiled, graph);
    return names.get(id) ?? null;
  };
}

function nameAll(compiled: string, graph: Graph): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const layer of LAYERS) {
    const open = modulesOf(compiled, layer);
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const info = names.has(id) ? null : graph.getModuleInfo(id);
      if (info === null) continue;
      names.set(id, layer.replaceAll('/', '-'));
      open.push(...info.importedIds);
    }
  }
  return names;
}

function modulesOf(compiled: string, layer: string): string[] {
  if (layer !== COMMANDS) return [join(compiled, `${layer}.js`)];
  const files = readdirSync(join(compiled, layer)).filter((file) => file.endsWith('.js'));
  return files.map((file) => join(compiled, layer, file));
}
