import { createProbe } from './probe.ts';

export const contestant = createProbe('sqlite');
