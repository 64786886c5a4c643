import { access, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { looksLikeAgent, MANIFEST_FILE, makeFolder } from '../../manifest/files.ts';
import { readTemplate } from '../demo/run-demo.ts';
import { usage } from '../options.ts';
import type { Workspace } from './workspaces.ts';

/** Where agents are loaded from, and how messages describe that. */
export interface AgentSource {
  readonly find: () => Promise<readonly string[]>;
  /** Folders in which new agents may appear. */
  readonly roots: readonly string[];
  /** Folders that are searched recursively. */
  readonly folders: readonly string[];
  readonly isTour: boolean;
  /** Throws for a file that was found, not named, in a place where an agent's commands can create files. */
  readonly check: (file: string) => Promise<void>;
}

/** The named agents, or those of the current folder. There must be at least one. */
export async function servedAgents(manifests: readonly string[], cwd: string): Promise<AgentSource> {
  if (manifests.length === 0) return folderSource(cwd);
  const source = namedSource(manifests, cwd);
  if ((await source.find()).length === 0) throw noAgents(manifests);
  const folders = await foldersAmong(manifests, cwd);
  return { ...source, roots: [cwd], folders, isTour: false };
}

/** The agents of a folder or manifest. If the current folder has none, the agent of the tour. */
export async function devAgents(dir: string | undefined, cwd: string): Promise<AgentSource> {
  if (dir === undefined) {
    if ((await agentFilesIn(cwd)).length > 0) return folderSource(cwd);
    const file = await writeTour(cwd);
    return {
      // An agent that is written in the meantime is served too.
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

/** The agents of the current folder. Commands cannot create files directly in the places that are searched. */
async function folderSource(cwd: string): Promise<AgentSource> {
  const find = () => agentFilesIn(cwd);
  if ((await find()).length === 0) throw noAgents([]);
  return { find, roots: [cwd], folders: [], isTour: false, check: async () => undefined };
}

/** The agents of named paths. Naming a file chooses it; files that a folder search finds are checked. */
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

/** The package's folder with the tour's agent and its files. */
const TOUR = fileURLToPath(new URL('../../../transcripts/tour', import.meta.url));

/** Not below `.telltale`, because agents may not touch that folder. */
const FOLDER = 'telltale-tour';

/**
 * Writes the tour to a folder of its own, and returns the agent's file. It keeps files that exist: sessions may be
 * resumed with them, and somebody may have edited them.
 */
async function writeTour(cwd: string): Promise<string> {
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

/** The folders that are searched if no file is named. Folders below them are not. */
const SHALLOW = ['.', 'agents'];
/** A larger file is not a manifest. */
const MAX_BYTES = 1024 * 1024;

/** The files that contain agents: those that are named, and those found in named folders. */
export async function namedAgentFiles(paths: readonly string[], cwd: string): Promise<readonly string[]> {
  // Loading the manifest code takes most of the start. Without a named folder, it is loaded while the store opens.
  const { findManifests } = await import('../../manifest/validate-manifests.ts');
  const named = new Set<string>();
  for (const path of paths) {
    const absolute = resolve(cwd, path);
    const isFolder = await stat(absolute).then(
      (found) => found.isDirectory(),
      () => false,
    );
    // A named file is always tried; its error says what is wrong.
    if (!isFolder) named.add(absolute);
    else
      for (const file of (await findManifests([path], { cwd })).files)
        if (await holdsAgent(file)) named.add(file);
  }
  return [...named];
}

/** The agents of a folder that was not named. */
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
    return false; // The file is gone or unreadable, and nobody named it.
  }
}
