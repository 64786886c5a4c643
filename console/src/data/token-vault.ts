const KEY = 'telltale.token';
/** `#token=tt_…`, followed by the page to show. `telltale dev` and `telltale serve` print such links. */
const IN_ADDRESS = /^#\/?token=([\w-]+)(\/.*)?$/;
const TOKEN = /tt_[\w-]+/;

/** The token of this tab. It is gone when the tab is closed, and no other tab has it. */
export interface TokenVault {
  read(): string | undefined;
  write(token: string | undefined): void;
  /** Calls `changed` at each change. The returned function unsubscribes. */
  subscribe(changed: () => void): () => void;
}

export function createTokenVault(storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>): TokenVault {
  const listeners = new Set<() => void>();
  return {
    read: () => storage.getItem(KEY) ?? undefined,
    write(token) {
      if (token === undefined) storage.removeItem(KEY);
      else storage.setItem(KEY, token);
      for (const changed of listeners) changed();
    },
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
}

/**
 * Removes the token from the address, now and whenever a link with one is followed in this tab. The address without it
 * replaces the one in the history. Call it before anything else reads the address.
 */
export function takeTokenFromAddress(vault: TokenVault): void {
  const take = () => {
    const { hash, search } = location;
    const [, token, path = '/'] = IN_ADDRESS.exec(hash) ?? [];
    // No command prints a token after "?", but a person may write it there.
    const asked = new URLSearchParams(search).get('token');
    if (token === undefined && asked === null) return;
    history.replaceState(null, '', `${location.pathname}${token === undefined ? hash : `#${path}`}`);
    vault.write(token ?? asked ?? undefined);
  };
  take();
  addEventListener('hashchange', take);
}

/** The token in what a person has pasted: the token itself, or a link that contains it. */
export const tokenIn = (pasted: string): string => TOKEN.exec(pasted)?.[0] ?? pasted.trim();
