import type { FromServer, ToServer } from './messages.ts';

/** A message as one line: `node:readline` also ends lines at U+2028 and U+2029, which JSON leaves as they are. */
export const messageLine = (message: ToServer | FromServer): string =>
  `${JSON.stringify(message).replace(/[\u2028\u2029]/g, (mark) => (mark === '\u2028' ? '\\u2028' : '\\u2029'))}\n`;
