import { estimateTokens } from '../kernel/estimate-tokens.ts';
import { cutText } from './cut-text.ts';

/** What is added where something is left out, about. */
const NOTE_TOKENS = 10;

/** A summary of at most so many tokens: of a longer one the beginning and the end, since what is left to do comes last. */
export function fitSummary(summary: string, maxTokens: number): string {
  const tokens = estimateTokens(summary);
  if (tokens <= maxTokens) return summary;
  const room = Math.max(0, maxTokens - NOTE_TOKENS);
  let max = Math.floor((summary.length * room) / tokens);
  let cut = cutText(summary, max);
  // Its parts may be in scripts that take more tokens than the rest of it.
  while (max > 0 && estimateTokens(cut.head) + estimateTokens(cut.tail) > room + 1) {
    max = Math.floor(max * 0.9);
    cut = cutText(summary, max);
  }
  return `${cut.head}\n[… ${cut.omitted} characters left out …]\n${cut.tail}`;
}
