import { createTelltale } from './telltale.ts';

export const system = createTelltale('tags');
