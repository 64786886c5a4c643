import { statSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { commandFiles, moduleFiles } from '../tools/definition/approved-files.ts';
import { fileHash } from '../tools/definition/definition-hash.ts';
import { agentCode } from './define/agent-code.ts';
import type { LoadedAgent } from './loaded-agent.ts';

/** Hashes of files by their path below the agent's folder. */
export type FileHashes = Readonly<Record<string, string>>;

const MAX_FILES = 500;
const HASH_CHARS = 16;
const SCRIPTED = 'scripted:';

const named = new WeakMap<LoadedAgent<unknown>, readonly string[]>();
/** What was read stays known while the file looks the same. */
const read = new Map<string, { readonly seen: string; readonly hash: string }>();

/**
 * The files that an agent's manifests name and that are not manifests: scripts of commands, modules of tools with what
 * they import by a path, scripted models. The manifest's hash does not cover them. Undefined where there are none.
 */
export function codeFilesOf(agent: LoadedAgent<unknown>, model?: string): FileHashes | undefined {
  const { folder } = agent;
  let files = named.get(agent);
  if (files === undefined) {
    files = namedFiles(agent);
    named.set(agent, files);
  }
  const script = model?.startsWith(SCRIPTED) ? [resolve(folder, model.slice(SCRIPTED.length))] : [];
  const hashes: Record<string, string> = {};
  for (const file of new Set([...files, ...script])) {
    const hash = hashNow(file);
    if (hash !== undefined) hashes[relative(folder, file).split(sep).join('/')] = hash;
  }
  return Object.keys(hashes).length === 0 ? undefined : hashes;
}

/** Recorded files that are others by now, or gone. Nothing is known of sessions that began before files were recorded. */
export const changedFiles = (
  { folder }: Pick<LoadedAgent<unknown>, 'folder'>,
  recorded: FileHashes = {},
): readonly string[] =>
  Object.keys(recorded).filter((file) => recorded[file] !== hashNow(resolve(folder, file)));

function namedFiles(agent: LoadedAgent<unknown>): readonly string[] {
  const found = new Set<string>();
  const base = agentCode(agent)?.folder ?? agent.folder;
  for (const { file, manifest } of agent.project.manifests) collect(manifest, [base, dirname(file)], found);
  return [...found].slice(0, MAX_FILES);
}

/** Wherever in a manifest a program, a module or a scripted model is named: hooks, feeds, verifiers and the like too. */
function collect(value: unknown, folders: readonly string[], found: Set<string>): void {
  if (typeof value === 'string') {
    if (value.startsWith(SCRIPTED))
      for (const folder of folders) found.add(resolve(folder, value.slice(SCRIPTED.length)));
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) collect(item, folders, found);
    return;
  }
  const { command, args, cwd, module } = value as Readonly<Record<string, unknown>>;
  const words = [command, args].flat().filter((word) => typeof word === 'string');
  if (command !== undefined)
    for (const folder of folders)
      for (const file of commandFiles(words, resolve(folder, typeof cwd === 'string' ? cwd : '.')))
        found.add(file);
  if (typeof module === 'string')
    for (const folder of folders) for (const file of moduleFiles(resolve(folder, module))) found.add(file);
  for (const inner of Object.values(value)) collect(inner, folders, found);
}

/** Undefined where it is no file that can be read. */
function hashNow(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) return undefined;
  const seen = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
  const known = read.get(file);
  if (known?.seen === seen) return known.hash;
  const hash = fileHash(file).slice(0, HASH_CHARS);
  read.set(file, { seen, hash });
  return hash;
}
