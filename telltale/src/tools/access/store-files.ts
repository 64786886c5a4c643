import { homedir, platform } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { isInside } from '../../manifest/files.ts';

type StoreFilesEnv = Readonly<Record<string, string | undefined>>;

/** The folder that the store has to itself unless it is told otherwise. */
const OWN_FOLDER = '.telltale';

/**
 * What the runtime keeps for itself, absolute: its store, and `.telltale` of the given folders (the one
 * it runs in, the agent's, its project's, those that are served), wherever the store lies. Knowledge graphs are kept there next to
 * a store that is a server's, and the next run may open one as its store. An agent that could write there, directly or
 * by a command, would answer its own reviews.
 */
export function storeFiles(location: string, folders: readonly string[]): readonly string[] {
  const kept = [...folders.map((folder) => resolve(folder, OWN_FOLDER))];
  const path = /^sqlite:(.+)$/.exec(location)?.[1];
  if (path !== undefined) {
    const file = resolve(path);
    const folder = dirname(file);
    if (basename(folder) === OWN_FOLDER) kept.push(folder);
    else kept.push(file, `${file}-wal`, `${file}-shm`, `${file}-journal`);
  }
  return [...new Set(kept)];
}

/** Below the state folder: a file for each daemon that runs, with its token. */
export const DAEMONS = 'daemons';

/** The user's folder for what commands of Telltale tell one another: who has what is in it is an admin of every daemon. */
export function stateFolder(env: StoreFilesEnv): string {
  const [first = ''] = stateFoldersIn(env);
  return first;
}

/**
 * Where state folders may be, absolute. All of them are hidden from agents, and not only the one that this process would
 * use: a daemon may have been started with another environment. Of one that an agent itself lies in, what daemons keep.
 */
export function hiddenState(env: StoreFilesEnv, agentFolder: string): readonly string[] {
  const agent = resolve(agentFolder);
  return [...new Set(stateFolders(env).map((each) => (isInside(agent, each) ? join(each, DAEMONS) : each)))];
}

/** Where daemons of this user may have written themselves down: with this environment, or without one. */
export const stateFolders = (env: StoreFilesEnv): readonly string[] => [
  ...new Set([...stateFoldersIn(env), ...stateFoldersIn({})]),
];

/** The one that counts is the first. */
function stateFoldersIn({
  TELLTALE_HOME,
  XDG_STATE_HOME,
  LOCALAPPDATA,
  HOME,
}: StoreFilesEnv): readonly string[] {
  const home = HOME === undefined || HOME === '' ? homedir() : HOME;
  const standard =
    platform() === 'win32'
      ? join(LOCALAPPDATA || join(home, 'AppData', 'Local'), 'telltale')
      : join(home, '.local', 'state', 'telltale');
  return [
    ...(TELLTALE_HOME ? [resolve(TELLTALE_HOME)] : []),
    // The XDG specification: what is not absolute does not count.
    ...(XDG_STATE_HOME && isAbsolute(XDG_STATE_HOME) ? [join(XDG_STATE_HOME, 'telltale')] : []),
    resolve(standard),
  ];
}
