import { createTelltale } from './telltale.ts';

export const contestant = createTelltale({ store: 'memory', idempotent: false, dialect: 'step' });
