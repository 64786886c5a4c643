import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import type { CommandContext } from '../command.ts';
import { loadForRun } from '../run/load-for-run.ts';
import { usage } from '../usage.ts';

const DEFAULT = 'agent.yml';

/**
 * Every agent of the manifests: those in the files first, then those that they import. None where one is wrong and all of
 * its mistakes have been printed.
 */
export async function loadAgents(
  manifests: readonly string[],
  context: Pick<CommandContext, 'io' | 'runtimes'>,
): Promise<readonly LoadedAgent[]> {
  const { cwd, env } = context.io;
  const paths = manifests.length > 0 ? manifests : [DEFAULT];
  if (manifests.length === 0 && !existsSync(resolve(cwd, DEFAULT)))
    throw usage(
      `There is no ${DEFAULT} here.`,
      'Name the manifests of the agents to serve: telltale mcp FILE…',
    );
  const loaded = new Map<string, LoadedAgent>();
  for (const path of paths) {
    const first = await loadForRun(path, context, {});
    if (first === undefined) return [];
    loaded.set(`${first.path} ${first.manifest.name}`, first);
    for (const { kind, name, file } of first.project.manifests) {
      const key = `${resolve(file)} ${name}`;
      if (kind !== 'Agent' || loaded.has(key)) continue;
      loaded.set(key, await context.runtimes.loadAgent(resolve(file), { cwd, env, name }));
    }
  }
  return [...loaded.values()];
}
