/** Characters of English, code and JSON to a token, on the low side: an estimate that is too small ends in a refusal. */
const ASCII_PER_TOKEN = 3.6;

/** How many tokens a text is, about. One pass and no tables: 1 ns a character. Others than ASCII count one each. */
export function estimateTokens(text: string): number {
  let other = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) other++;
  return Math.ceil((text.length - other) / ASCII_PER_TOKEN) + other;
}
