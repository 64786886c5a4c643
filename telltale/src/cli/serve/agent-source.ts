import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { usage } from '../usage.ts';
import { agentFilesIn, namedAgentFiles } from './agent-files.ts';
import { layOutTour } from './lay-out-tour.ts';

/** Where agents come from, and how that is told. */
export interface AgentSource {
  readonly find: () => Promise<readonly string[]>;
  /** Folders in which new ones may come. */
  readonly roots: readonly string[];
  /** Folders that are searched as a whole. */
  readonly folders: readonly string[];
  readonly isTour: boolean;
}

/** Those that are named, else those of the folder. There has to be one. */
export async function servedAgents(manifests: readonly string[], cwd: string): Promise<AgentSource> {
  const find = () => (manifests.length > 0 ? namedAgentFiles(manifests, cwd) : agentFilesIn(cwd));
  if ((await find()).length === 0) throw noAgents(manifests);
  return { find, roots: [cwd], folders: await foldersAmong(manifests, cwd), isTour: false };
}

/** Those of a folder or a manifest; where the folder that one is in has none, the one that newcomers meet. */
export async function developedAgents(dir: string | undefined, cwd: string): Promise<AgentSource> {
  if (dir === undefined) {
    if ((await agentFilesIn(cwd)).length > 0)
      return { find: () => agentFilesIn(cwd), roots: [cwd], folders: [], isTour: false };
    const file = await layOutTour(cwd);
    return {
      // An agent that is written meanwhile is there beside it.
      find: async () => [...(await agentFilesIn(cwd)), file],
      roots: [cwd],
      folders: [],
      isTour: true,
    };
  }
  const path = resolve(cwd, dir);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw noSuchFolder(dir);
  const root = found.isDirectory() ? path : resolve(path, '..');
  const folders = found.isDirectory() ? [path] : [];
  return { find: () => namedAgentFiles([dir], cwd), roots: [root], folders, isTour: false };
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
      ? 'No agent is in this folder.'
      : `No agent is in ${manifests.map((each) => `'${each}'`).join(', ')}.`,
    'Name the manifests of agents, or folders of them: telltale serve agents/. Or make a project: telltale init',
  );

const noSuchFolder = (dir: string) =>
  usage(
    `There is no '${dir}'.`,
    'Name a folder of agents or a manifest, or leave it out: telltale dev then shows an agent to try.',
  );
