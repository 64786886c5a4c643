import type { Model } from './model.ts';

/** Whether what a program gives can be asked as a model. */
export const isModel = (value: object): value is Model =>
  'id' in value && typeof value.id === 'string' && 'stream' in value && typeof value.stream === 'function';
