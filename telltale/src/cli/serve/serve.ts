import type { CommandContext } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { developedAgents, servedAgents } from './agent-source.ts';
import { keepServing } from './keep-serving.ts';
import type { ServeOptions } from './serve-options.ts';

/** `telltale serve`. */
export async function serve(
  manifests: readonly string[],
  options: ServeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return keepServing(await servedAgents(manifests, context.io.cwd), options, { dev: false, context });
}

/** `telltale dev`. */
export async function dev(
  dir: string | undefined,
  options: ServeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return keepServing(await developedAgents(dir, context.io.cwd), options, { dev: true, context });
}
