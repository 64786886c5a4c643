import type { Store } from './store.ts';

/**
 * Whether what this process holds may be another's by now, since it has given no sign of life for as long as the others
 * wait for one: it was paused, or cut off. Undefined where no other machine can take anything.
 */
export const mayBeLost = ({ shared }: Pick<Store, 'shared'>): (() => boolean) | undefined =>
  shared && (() => !shared.isAlive());
