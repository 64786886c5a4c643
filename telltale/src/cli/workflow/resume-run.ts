import type { ResumeRunOptions } from '../../session/runs/run-types.ts';
import type { CommandContext } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { runMode } from '../run/run-mode.ts';
import { findRun } from '../session/find-session.ts';
import { openEarly } from '../session/open-early.ts';
import { requireStore } from '../session/with-runtime.ts';
import { type WorkRunOptions, workRun } from './work-run.ts';

export interface ResumeOptions extends WorkRunOptions {
  readonly acceptChanges?: true;
}

/** `telltale workflow resume`: goes on where the log ends, and shows what is new. */
export async function resumeRun(
  asked: string,
  options: ResumeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  runMode(options, context.io);
  requireStore(options, context.io);
  const chosen: ResumeRunOptions = {
    ...(options.acceptChanges === true ? { acceptChanges: true } : {}),
    ...(options.wait === true ? { onWaiting: 'hold' } : {}),
  };
  const early = openEarly(context, { ...options, mustExist: true });
  try {
    return await workRun(context, { ...options, ...(early && { early }) }, async ({ workflows, store }) => {
      const { stream, head } = await findRun(store, asked);
      return { run: await workflows.resume(stream, chosen), seen: head };
    });
  } finally {
    await early?.close();
  }
}
