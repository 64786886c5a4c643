const OFF: ReadonlySet<string> = new Set(['', '0', 'false', 'no']);

/** What `enabled: ${NAME}` means once NAME is known: '', 0, false and no (in any case) are off, all else is on. */
export const enabledFlag = (text: string): boolean => !OFF.has(text.trim().toLowerCase());
