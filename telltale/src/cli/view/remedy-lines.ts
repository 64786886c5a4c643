/**
 * What to do and where to look, each where there is such. They share a line where the first is a sentence; what ends in
 * a command has a line to itself, so that it can be copied.
 */
export function remedyLines(hint: string, look: string): readonly string[] {
  if (hint === '' || look === '') return [hint, look].filter((part) => part !== '');
  return /[.!?]$/.test(hint) ? [`${hint} ${look}`] : [hint, look];
}
