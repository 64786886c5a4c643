import type { Store } from '../../store/store.ts';
import { tellUnusedEdits } from '../artifact/tell-unused-edits.ts';
import type { Going } from './keep-going.ts';

/**
 * Tells which edits of artifacts are not in force, now and whenever agents are loaded anew, each once. The returned
 * function ends it.
 */
export async function keepTellingEdits(
  store: Store,
  { catalog, io, onError }: Pick<Going, 'catalog' | 'io' | 'onError'>,
  options: { readonly store?: string },
): Promise<() => void> {
  const given = { ...(options.store === undefined ? {} : { store: options.store }), told: new Set<string>() };
  const tell = () =>
    tellUnusedEdits(
      catalog.list().flatMap(({ agent }) => agent ?? []),
      store,
      io,
      given,
    );
  await tell();
  return catalog.onChange(() => void tell().catch(onError));
}
