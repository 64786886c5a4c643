import { readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

const COMMANDS = 'cli/commands';

/**
 * What is loaded on the way of most commands and programs, in this order. What one of these reaches by its imports, and none before
 * it does, is one file of the bundle; the rest is cut by what loads it. What a module shares with one of these is loaded
 * with all of its file: so what all share comes first, what is small before what is large, and every command before
 * what commands load once they are begun.
 */
const LAYERS = [
  'tools/sandbox/shared-buffer',
  'store/sqlite/thread/worker',
  'tools/sandbox/thread/worker',
  'manifest/printable',
  'cli/start',
  'index',
  'parser/index',
  'client/index',
  'testing/index',
  `${COMMANDS}/sessions`,
  `${COMMANDS}/show`,
  `${COMMANDS}/run`,
  COMMANDS,
  'store/sqlite/open-sqlite-store',
  'agent/open-sessions',
  'manifest/load-manifests',
  'agent/create-runtime',
  'agent/prepare-agent',
  'agent/run-session',
  'agent/begin-session',
  'agent/agent-session',
  'tools/tools/tool-target',
  'models/scripted/load-script',
  'models/scripted/scripted-model',
  'agent/runs/walk-run',
  'server/start-daemon',
] as const;
const SHARED_ROOM = 'lib';

interface Graph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

/**
 * The name of the file that a module belongs to, if it is in a layer. What threads and processes are started from (`started`)
 * is in none, since it acts when it is loaded: a thread that shares something with another one is not to do its work, too.
 */
export function layerNames(
  compiled: string,
  started: readonly string[],
): (id: string, graph: Graph) => string | null {
  const apart = new Set(started.map((entry) => join(compiled, `${entry}.js`)));
  let names: ReadonlyMap<string, string> | undefined;
  return (id, graph) => {
    if (id.startsWith(join(compiled, SHARED_ROOM, sep))) return SHARED_ROOM;
    names ??= nameAll(compiled, graph);
    return apart.has(id) ? null : (names.get(id) ?? null);
  };
}

function nameAll(compiled: string, graph: Graph): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const layer of LAYERS) {
    const open = modulesOf(compiled, layer);
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const info = names.has(id) ? null : graph.getModuleInfo(id);
      if (info === null) continue;
      names.set(id, nameOf(layer, relative(compiled, id)));
      open.push(...info.importedIds);
    }
  }
  return names;
}

/**
 * What others share with the command line, or with a thread, is a file of its own: they would load what reads options and
 * draws tables, or the database, of which Node 22 says at each start that it is experimental.
 */
function nameOf(layer: string, module: string): string {
  const name = layer.replaceAll('/', '-');
  const [own] = layer.match(/^cli\/|^.*\/thread\//) ?? [''];
  return module.replaceAll(sep, '/').startsWith(own) ? name : `${name}-shared`;
}

function modulesOf(compiled: string, layer: string): string[] {
  if (layer !== COMMANDS) return [join(compiled, `${layer}.js`)];
  const files = readdirSync(join(compiled, layer)).filter((file) => file.endsWith('.js'));
  return files.map((file) => join(compiled, layer, file));
}
