import type { Store } from '../../store/store.ts';

/** What the drivers that live in the runtime's own store have of it. */
export type RelicStore = Pick<Store, 'tables' | 'location'>;
