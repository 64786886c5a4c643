import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { usage } from '../usage.ts';
import { agentFilesIn, namedAgentFiles } from './agent-files.ts';
import { layOutTour } from './lay-out-tour.ts';
import type { Workspace } from './workspaces.ts';

/** Where agents come from, and how that is told. */
export interface AgentSource {
  readonly find: () => Promise<readonly string[]>;
  /** Folders in which new ones may come. */
  readonly roots: readonly string[];
  /** Folders that are searched as a whole. */
  readonly folders: readonly string[];
  readonly isTour: boolean;
  /** Throws for a file that was only found, in a place where an agent's commands can create files. */
  readonly check: (file: string) => Promise<void>;
}

/** Those that are named, else those of the folder. There has to be one. */
export async function servedAgents(manifests: readonly string[], cwd: string): Promise<AgentSource> {
  if (manifests.length === 0) return folderSource(cwd);
  const source = namedSource(manifests, cwd);
  if ((await source.find()).length === 0) throw noAgents(manifests);
  const folders = await foldersAmong(manifests, cwd);
  return { ...source, roots: [cwd], folders, isTour: false };
}

/** Those of a folder or a manifest; where the folder that one is in has none, the one that newcomers meet. */
export async function developedAgents(dir: string | undefined, cwd: string): Promise<AgentSource> {
  if (dir === undefined) {
    if ((await agentFilesIn(cwd)).length > 0) return folderSource(cwd);
    const file = await layOutTour(cwd);
    return {
      // An agent that is written meanwhile is there beside it.
      find: async () => [...(await agentFilesIn(cwd)), file],
      roots: [cwd],
      folders: [],
      isTour: true,
      check: async () => undefined,
    };
  }
  const path = resolve(cwd, dir);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw noSuchFolder(dir);
  const root = found.isDirectory() ? path : resolve(path, '..');
  const folders = found.isDirectory() ? [path] : [];
  return { ...namedSource([dir], cwd), roots: [root], folders, isTour: false };
}

/** The agents of a folder that nobody said more of: commands create nothing directly in the places that are searched. */
async function folderSource(cwd: string): Promise<AgentSource> {
  const find = () => agentFilesIn(cwd);
  if ((await find()).length === 0) throw noAgents([]);
  return { find, roots: [cwd], folders: [], isTour: false, check: async () => undefined };
}

/** The agents of paths that were named. Whoever names a file has chosen it; what a search of a folder finds is checked. */
function namedSource(paths: readonly string[], cwd: string): Pick<AgentSource, 'find' | 'check'> {
  const named = new Set(paths.map((path) => resolve(cwd, path)));
  let refused: ReadonlyMap<string, Workspace> = new Map();
  return {
    async find() {
      const files = await namedAgentFiles(paths, cwd);
      const { foundInWorkspaces } = await import('./workspaces.ts');
      refused = files.some((file) => !named.has(file)) ? await foundInWorkspaces(files) : new Map();
      return files;
    },
    async check(file) {
      const workspace = named.has(file) ? undefined : refused.get(file);
      if (workspace !== undefined) throw (await import('./workspaces.ts')).foundInWorkspace(file, workspace);
    },
  };
}

async function foldersAmong(paths: readonly string[], cwd: string): Promise<readonly string[]> {
  const folders: string[] = [];
  for (const path of paths) {
    const absolute = resolve(cwd, path);
    if ((await stat(absolute).catch(() => undefined))?.isDirectory() === true) folders.push(absolute);
  }
  return folders;
}

const noAgents = (manifests: readonly string[]) =>
  usage(
    manifests.length === 0
      ? 'There is no agent in this folder.'
      : `There is no agent in ${manifests.map((each) => `'${each}'`).join(', ')}.`,
    'Name a manifest or a folder with agents: telltale serve agents/. Or create a project: telltale init',
  );

const noSuchFolder = (dir: string) =>
  usage(
    `There is no '${dir}'.`,
    'Name a folder with agents or a manifest. Without one, telltale dev serves a sample agent.',
  );
