import type { LoadedAgent } from '../../session/runtime-types.ts';
import type { CommandContext } from '../command.ts';
import { printJson, printText } from '../validate/print-result.ts';

/**
 * The agent of a manifest. Where the manifest is wrong, all of its mistakes are printed as `telltale validate` does, and
 * nothing is returned.
 */
export async function loadForRun(
  path: string,
  { io, runtimes }: Pick<CommandContext, 'io' | 'runtimes'>,
  options: { readonly json?: true; readonly name?: string },
): Promise<LoadedAgent | undefined> {
  try {
    const { env, cwd } = io;
    return await runtimes.loadAgent(path, {
      env,
      cwd,
      ...(options.name === undefined ? {} : { name: options.name }),
    });
  } catch (thrown) {
    io.signal.throwIfAborted();
    const { validateManifests } = await import('../../manifest/validate-manifests.ts');
    const checked = await validateManifests([path], { env: io.env, cwd: io.cwd, signal: io.signal });
    if (checked.ok) throw thrown;
    await (options.json === true ? printJson(checked, io.stdout) : printText(checked, io.stderr));
    return undefined;
  }
}
