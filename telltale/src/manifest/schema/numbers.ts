import { z } from 'zod';

/** A whole number of one or more. */
export const count = (description: string) =>
  z.int().min(1).register(z.globalRegistry, { description, expects: 'a whole number of one or more' });

/** A whole number of zero or more. */
export const countFromZero = (description: string) =>
  z.int().min(0).register(z.globalRegistry, { description, expects: 'a whole number of zero or more' });

/** A number of zero or more. */
export const amount = (description: string) =>
  z.number().min(0).register(z.globalRegistry, { description, expects: 'a number of zero or more' });

export const flag = (description: string) =>
  z.boolean().register(z.globalRegistry, { description, expects: 'true or false' });
