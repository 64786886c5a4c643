import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

type JsonP3 = typeof import('json-p3');

/** At the first path, not at the start: few manifests have one. */
export const jsonP3 = (): JsonP3 => load('json-p3') as JsonP3;
