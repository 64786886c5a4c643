/** Ends with a whole character. */
export const clip = (text: string, chars: number): string =>
  text.length <= chars ? text : `${text.slice(0, chars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
