const KEY = 'telltale.token';

/** The token of this tab, for as long as the tab is open: no other tab and no later visit has it. */
export const createTokenVault = (storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>) => ({
  read: (): string | undefined => storage.getItem(KEY) ?? undefined,
  write(token: string | undefined): void {
    if (token === undefined) storage.removeItem(KEY);
    else storage.setItem(KEY, token);
  },
});
