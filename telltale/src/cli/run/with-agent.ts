import type { LoadedAgent } from '../../session/loaded-agent.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { openEarly } from '../session/open-early.ts';
import { loadForRun } from './load-for-run.ts';
import type { WorkOptions } from './work-session.ts';

/** Reads the agent of a manifest while the store is being opened, and goes to work with both. */
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
