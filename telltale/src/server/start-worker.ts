import { RuntimeError } from '../lib/errors.ts';
import { type BackgroundOptions, startBackground } from './background.ts';

export type WorkerOptions = Omit<BackgroundOptions, 'pageOf'>;

/** Works for a fleet, without serving HTTP. */
export interface FleetWorker {
  /** Takes no more work. Its streams are released for other workers when the runtime closes. */
  close(): Promise<void>;
}

export async function startWorker(options: WorkerOptions): Promise<FleetWorker> {
  const { runtime } = options;
  if (runtime.fleet === undefined) throw noFleet(runtime.store.location);
  const background = startBackground({ ...options, pageOf: () => undefined });
  await background.recover();
  runtime.preload().catch(options.onError);
  return { close: () => background.close() };
}

export const noFleet = (location: string) =>
  new RuntimeError('not_shared', `${location} is a store of a single machine, so it has no fleet.`, {
    hint: 'Use a PostgreSQL database (--store postgres://USER@HOST/DATABASE), or serve this store alone: telltale serve',
  });
