import type { ResumeRunOptions } from '../../session/runs/run-types.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { runMode } from '../run/run-mode.ts';
import { findRun } from '../session/find-session.ts';
import { openEarly } from '../session/open-early.ts';
import { requireStore, withRuntime } from '../session/with-runtime.ts';
import { signer } from '../signer.ts';
import { jsonText } from '../view/json-line.ts';
import { type ChangeOptions, changeDecisions, decideChanges, showChanges } from './accept-changes.ts';
import { type WorkRunOptions, workRun } from './work-run.ts';

export interface ResumeOptions extends WorkRunOptions, ChangeOptions {}

/** `telltale workflow resume`: goes on where the log ends, and shows what is new. */
export async function resumeRun(
  asked: string,
  options: ResumeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const mode = runMode(options, io);
  const given = changeDecisions(options);
  requireStore(options, io);
  if (options.dryRun === true) return previewChanges(asked, options, context);
  const isShown = mode === 'live' || mode === 'plain';
  const early = openEarly(context, { ...options, mustExist: true });
  try {
    return await workRun(context, { ...options, ...(early && { early }) }, async ({ workflows, store }) => {
      const { stream, head } = await findRun(store, asked);
      const decided = given && (await decideChanges({ workflows, run: stream, io }, given, isShown));
      const isPlain = Object.keys({ ...decided?.decide, ...decided?.run_new }).length === 0;
      const chosen: ResumeRunOptions = {
        by: signer(),
        ...(decided === undefined ? {} : { acceptChanges: isPlain ? true : decided }),
        ...(options.wait === true ? { onWaiting: 'hold' } : {}),
      };
      return { run: await workflows.resume(stream, chosen), seen: head };
    });
  } finally {
    await early?.close();
  }
}

/** `--dry-run`: what the workflow as it is now means for the run. Nothing is written. */
function previewChanges(asked: string, options: ResumeOptions, context: CommandContext): Promise<ExitCode> {
  const { stdout } = context.io;
  const store = options.store === undefined ? {} : { store: options.store };
  return withRuntime(context, store, async (runtime) => {
    const { stream } = await findRun(runtime.store, asked);
    const accept = changeDecisions(options);
    const changes = await runtime.workflows.changes(
      stream,
      accept === undefined ? {} : { acceptChanges: accept },
    );
    if (options.json === true) await stdout.write(`${jsonText(changes)}\n`);
    else await showChanges(changes, stdout);
    return EXIT.ok;
  });
}
