import { createTelltale } from './telltale.ts';

export const contestant = createTelltale({ store: 'sqlite', idempotent: true });
