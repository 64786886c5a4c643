import { createHash } from 'node:crypto';
import { offerKey, type WorkOffer } from '../work-queue.ts';

/** An entry of a PostgreSQL index holds 2,704 bytes; names of streams may be longer in UTF-8. */
const MAX_KEY_BYTES = 1_000;

/** Of the job that offers a stream: there is one at a time. */
export const jobKey = (offer: Pick<WorkOffer, 'kind' | 'stream'>): string => shortened(offerKey(offer));

export const groupIdOf = (group: string): string => shortened(group);

const shortened = (key: string): string =>
  Buffer.byteLength(key) <= MAX_KEY_BYTES ? key : createHash('sha256').update(key).digest('hex');
