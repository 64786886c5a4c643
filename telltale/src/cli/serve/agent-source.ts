import { access, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../../manifest/files/files.ts';
import { looksLikeAgent, MANIFEST_FILE } from '../../manifest/files/walk-folder.ts';
import { readTemplate } from '../demo/run-demo.ts';
import { usage } from '../options.ts';
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

/** Where the package keeps the agent that newcomers meet in the console, and what it works on. */
const TOUR = fileURLToPath(new URL('../../../transcripts/tour', import.meta.url));

/** Not below `.telltale`: no agent touches what is there. */
const FOLDER = 'telltale-tour';

/**
 * Lays the tour out in a folder of its own, and gives its agent's file. What is there stays as it is: sessions of it can be
 * resumed, and somebody may have changed it to see what happens.
 */
async function layOutTour(cwd: string): Promise<string> {
  const folder = join(cwd, FOLDER);
  for (const { path, text } of await readTemplate(TOUR)) {
    const file = join(folder, path);
    if (await isThere(file)) continue;
    await makeFolder(dirname(file));
    await writeFile(file, text);
  }
  return join(await realpath(folder), 'agent.yml');
}

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** Folders that are looked into where nobody names a file: this one, and its `agents`. Not what lies below. */
const SHALLOW = ['.', 'agents'];
/** Larger files are no manifests. */
const MAX_BYTES = 1024 * 1024;

/** The files that hold agents: all that are named, and in folders that are named all that are found below. */
export async function namedAgentFiles(paths: readonly string[], cwd: string): Promise<readonly string[]> {
  // What knows manifests is most of what a start takes: those who name no folder load it beside the store.
  const { findManifests } = await import('../../manifest/validate-manifests.ts');
  const named = new Set<string>();
  for (const path of paths) {
    const absolute = resolve(cwd, path);
    const isFolder = await stat(absolute).then(
      (found) => found.isDirectory(),
      () => false,
    );
    // A file that is named is tried whatever it is: its error says what is wrong with it.
    if (!isFolder) named.add(absolute);
    else
      for (const file of (await findManifests([path], { cwd })).files)
        if (await holdsAgent(file)) named.add(file);
  }
  return [...named];
}

/** The agents of a folder that nobody said more of. */
export async function agentFilesIn(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const below of SHALLOW) {
    const names = await readdir(join(folder, below)).catch(() => [] as string[]);
    for (const name of names.filter((each) => MANIFEST_FILE.test(each)).sort())
      if (await holdsAgent(join(folder, below, name))) found.push(join(folder, below, name));
  }
  return found;
}

async function holdsAgent(file: string): Promise<boolean> {
  try {
    const { size } = await stat(file);
    return size <= MAX_BYTES && looksLikeAgent(await readFile(file, 'utf8'));
  } catch {
    return false; // it is gone, or not for us to read: it was not asked for by name
  }
}
