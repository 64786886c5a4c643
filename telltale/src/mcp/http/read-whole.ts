import type { StreamedAnswer } from './message-stream.ts';

/** A body as text. One above `maxBytes` is thrown at with `tooLarge`, or cut where that is undefined. */
export async function readWhole(
  answer: StreamedAnswer,
  maxBytes: number,
  tooLarge: Error | undefined,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  try {
    for await (const chunk of answer.body) {
      chunks.push(chunk);
      total += chunk.length;
      if (total <= maxBytes) continue;
      if (tooLarge !== undefined) throw tooLarge;
      break;
    }
  } finally {
    answer.discard();
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8');
}
