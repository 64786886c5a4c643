import type { Store } from '../../store/store.ts';
import { reportUnusedEdits } from '../artifact/report-unused-edits.ts';
import type { CommandContext, ExitCode } from '../command.ts';
import { paletteFor } from '../io.ts';
import { asTyped, isOfOneMachine, storeFlag, storeLocation } from '../session/store-options.ts';
import { jsonText } from '../view/json-text.ts';
import { servedAgents } from './agent-source.ts';
import { type LongRunning, observe, runUntilStopped, say, stopped, workingText } from './long-running.ts';

export interface WorkerCommandOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  readonly capacity?: string;
  readonly json?: true;
}

/** `telltale worker`. */
export async function runWorker(
  manifests: readonly string[],
  options: WorkerCommandOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const loadRest = () => import('../../server/start-worker.ts');
  const location = storeLocation(options.store, io);
  // Check this before opening it, because opening creates a missing file.
  if (isOfOneMachine(location)) throw (await loadRest()).noFleet(location);
  const source = await servedAgents(manifests, io.cwd);
  const how = { role: 'worker', mayBeBroken: false, options, loadRest };
  return runUntilStopped(source, how, context, async (runtime, going) => {
    const { startWorker } = await loadRest();
    const telemetry = await observe(runtime, going);
    const { catalog, version, onError } = going;
    const { clock, env } = io;
    const worker = await startWorker({ runtime, catalog, clock, env, onError, onNote: say(io) });
    try {
      await announce(runtime.fleet?.name ?? '', runtime.store.location, version, going, options);
      await reportEditsOnReload(runtime.store, going, options);
      await stopped(io.signal);
      say(io)(
        paletteFor(io.stderr).dim(
          'Handing sessions over to other workers. Press Ctrl-C again to stop at once.',
        ),
      );
    } finally {
      await worker.close();
      await telemetry.close();
    }
  });
}

async function announce(
  fleet: string,
  store: string,
  version: string,
  { catalog, io }: LongRunning,
  options: WorkerCommandOptions,
): Promise<void> {
  if (options.json === true) return io.stdout.write(jsonText({ fleet, store }));
  const look = { paint: paletteFor(io.stderr), cwd: io.cwd };
  const text = workingText({ fleet, store, version }, catalog.list(), look);
  await io.stderr.write(asTyped(text, io, storeFlag(options.store)));
}

/**
 * Reports edits of artifacts that are not in force, now and after each reload, each once. The returned function stops
 * it.
 */
export async function reportEditsOnReload(
  store: Store,
  { catalog, io, onError }: Pick<LongRunning, 'catalog' | 'io' | 'onError'>,
  options: { readonly store?: string },
): Promise<() => void> {
  const given = { ...(options.store === undefined ? {} : { store: options.store }), told: new Set<string>() };
  const tell = () =>
    reportUnusedEdits(
      catalog.list().flatMap(({ agent }) => agent ?? []),
      store,
      io,
      given,
    );
  await tell();
  return catalog.onChange(() => void tell().catch(onError));
}
