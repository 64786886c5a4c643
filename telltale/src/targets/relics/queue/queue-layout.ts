/** Of an item, in `ready/N` or `later/DUE/N/HOW`; its value stands in `value/N`. */
export type Entry = { readonly at: number; readonly tries: number; readonly lease?: string };

/** Of a claim, in `lease/LEASE`: where its item is, or how it ended. */
export type Lease = { readonly key: string } | { readonly ended: 'acked' | 'released' };

/** Keys are sorted as texts. */
const padded = (n: number) => String(n).padStart(16, '0');

export const readyKey = (n: number) => `ready/${padded(n)}`;

export const laterKey = (due: number, n: number, how: 'leased' | 'delayed') =>
  `later/${padded(due)}/${padded(n)}/${how}`;

/** When what stands under a `later` key is ready. */
export const dueOf = (key: string) => Number(key.split('/')[1]);

export const numberOf = (key: string) => Number(key.split('/')[key.startsWith('ready/') ? 1 : 2]);
