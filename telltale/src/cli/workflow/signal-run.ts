import { createSystemClock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { hasEnded } from '../../session/ending/has-ended.ts';
import { postToRun } from '../../session/runs/post-to-run.ts';
import { RUN_SIGNAL } from '../../session/runs/run-messages.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { findRun } from '../session/find-session.ts';
import { storeFlag } from '../session/store-location.ts';
import { streamToResume } from '../session/stream-to-resume.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { signerFor } from '../signer.ts';
import { jsonText } from '../view/json-line.ts';
import { readObject } from './read-json.ts';

export interface SignalOptions {
  readonly store?: string;
  readonly from?: string;
  readonly json?: true;
}

/** `telltale workflow signal`: an event for a `wait`, through the run's inbox. */
export async function signalRun(
  asked: string,
  event: string,
  given: string | undefined,
  options: SignalOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const data = given === undefined ? {} : await readObject('DATA', given, io);
  return withStoredSessions(context, options, async ({ store }) => {
    const info = await findRun(store, asked);
    const { stream, status } = info;
    if (hasEnded(status)) throw ended(stream, status);
    const message = { kind: RUN_SIGNAL, from: signerFor(options.from, '--from'), body: { event, data } };
    await postToRun({ store, clock: createSystemClock() }, stream, message);
    const pid = (await store.info(stream))?.owner?.pid;
    const json = { run: stream, event, outcome: pid === undefined ? 'kept' : 'delivered', pid: pid ?? null };
    const text =
      pid === undefined
        ? `Kept for ${stream}, on which nobody works now; a process that waits for it (--wait) continues by itself. Otherwise:\n  ${await streamToResume(store, info, io)}${storeFlag(options.store)}\n`
        : `Delivered to process ${pid}, which works on ${stream}.\n`;
    await io.stdout.write(options.json === true ? jsonText(json, 2) : text);
    return EXIT.ok;
  });
}

const ended = (run: string, status: string) =>
  new RuntimeError('run_ended', `${run} has ended (${status}): nothing waits there.`, {
    hint: 'See those that wait: telltale workflow list --status waiting',
  });
