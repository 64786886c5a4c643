import { homedir, platform } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { isInside } from '../../manifest/files.ts';

type StoreFilesEnv = Readonly<Record<string, string | undefined>>;

/** The folder that only the store uses by default. */
const OWN_FOLDER = '.telltale';

/**
 * The absolute paths that the runtime keeps to itself: its store, and `.telltale` in the given folders (its working
 * folder, the agent's, its project's, and served ones), wherever the store is. Knowledge graphs are kept there even if
 * the store is on a server, and the next run may use such a folder as its store. An agent that could write there could
 * answer its own reviews.
 */
export function runtimePaths(location: string, folders: readonly string[]): readonly string[] {
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

/** Below the state folder: one file per running daemon, with its token. */
export const DAEMONS = 'daemons';

/**
 * The user's folder where Telltale's commands find running daemons. Whoever can read it is an admin of every daemon.
 */
export function stateFolder(env: StoreFilesEnv): string {
  const [first = ''] = stateFoldersIn(env);
  return first;
}

/**
 * All possible state folders, absolute. Every one is hidden from agents, because a daemon may have been started with
 * another environment. If the agent itself is inside one, only the daemon files in it are hidden.
 */
export function hiddenStateFolders(env: StoreFilesEnv, agentFolder: string): readonly string[] {
  const agent = resolve(agentFolder);
  return [...new Set(stateFolders(env).map((each) => (isInside(agent, each) ? join(each, DAEMONS) : each)))];
}

/** Where daemons of this user may be recorded, with this environment or without it. */
export const stateFolders = (env: StoreFilesEnv): readonly string[] => [
  ...new Set([...stateFoldersIn(env), ...stateFoldersIn({})]),
];

/** The first one is the one this environment uses. */
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
    // By the XDG specification, a relative path is ignored.
    ...(XDG_STATE_HOME && isAbsolute(XDG_STATE_HOME) ? [join(XDG_STATE_HOME, 'telltale')] : []),
    resolve(standard),
  ];
}
