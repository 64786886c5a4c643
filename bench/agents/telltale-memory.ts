import { createTelltale } from './telltale.ts';

export const contestant = createTelltale('memory');
