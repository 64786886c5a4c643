import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { usage } from '../options.ts';
import { openEarly } from '../session/with-runtime.ts';
import { checkedManifests } from '../validate/print-result.ts';
import type { WorkOptions } from './work-session.ts';

/** Reads the agent of a manifest while the store opens, then calls `work` with both. */
export async function withAgent<Options extends WorkOptions>(
  manifest: string,
  options: Options,
  context: CommandContext,
  work: (agent: LoadedAgent, options: Options) => Promise<ExitCode>,
): Promise<ExitCode> {
  const early = openEarly(context, options);
  await early?.begun;
  try {
    const agent = await loadForRun(manifest, context, options);
    if (agent === undefined) return EXIT.usage;
    return await work(agent, early === undefined ? options : { ...options, early });
  } finally {
    await early?.close();
  }
}
/**
 * The agent of a manifest. If the manifest is invalid, it prints every mistake as `telltale validate` does and returns
 * undefined.
 */
export async function loadForRun(
  path: string,
  { io, runtimes }: Pick<CommandContext, 'io' | 'runtimes'>,
  options: { readonly json?: true; readonly name?: string },
): Promise<LoadedAgent | undefined> {
  if (isFolder(resolve(io.cwd, path))) throw folderGiven(path);
  try {
    const { env, cwd } = io;
    return await runtimes.loadAgent(path, {
      env,
      cwd,
      ...(options.name === undefined ? {} : { name: options.name }),
    });
  } catch (thrown) {
    io.signal.throwIfAborted();
    if ((await checkedManifests(path, io, options)) !== undefined) throw thrown;
    return undefined;
  }
}
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // Whoever reads the file reports why it cannot be read.
  }
}
const folderGiven = (path: string) =>
  usage(`'${path}' is a folder.`, `Name the agent's manifest in it: ${join(path, 'agent.yml')}`);
