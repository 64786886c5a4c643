import { workerData } from 'node:worker_threads';
import { type CheckpointerSettings, serveCheckpoints } from './serve-checkpoints.ts';

/** The thread's entry. It is blocked while there is nothing to do, so it hears no messages. */
serveCheckpoints(workerData as CheckpointerSettings);
