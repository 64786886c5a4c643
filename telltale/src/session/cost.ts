import type { Model, ModelUsage } from '../models/model.ts';
import { costOf } from '../models/prices.ts';

/** Dollars for what a model used; 0 where nothing is known of its price. */
export const costWith = ({ price }: Model, usage: ModelUsage): number =>
  price === undefined ? 0 : costOf(price, usage);
