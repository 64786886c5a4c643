import { RuntimeError } from '../lib/errors.ts';
import { type BackgroundOptions, startBackground } from './background.ts';

export type WorkerOptions = Omit<BackgroundOptions, 'pageOf'>;

/** Works for a fleet, and answers nobody. */
export interface FleetWorker {
  /** Takes nothing more. What it works on is let go of, for others, when the runtime closes. */
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
  new RuntimeError('not_shared', `${location} is a store of one machine: there is no fleet to work for.`, {
    hint: 'Name a PostgreSQL database (--store postgres://USER@HOST/DATABASE), or serve this one alone: telltale serve',
  });
