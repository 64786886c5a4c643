import { StringDecoder } from 'node:string_decoder';
import type { Json } from '../../kernel/json.ts';

/** Characters of one call that are shown while it runs; the result has its own limit. */
const MAX_PROGRESS_CHARS = 1024 * 1024;

/** Turns output into progress `{stream, text}`; a character cut in two by the chunks is held until it is whole. */
export function textProgress(progress: (data: Json) => void) {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  let left = MAX_PROGRESS_CHARS;
  return (stream: 'stdout' | 'stderr', chunk: Uint8Array): void => {
    if (left <= 0) return;
    const text = decoders[stream].write(chunk);
    left -= text.length;
    if (text !== '') progress({ stream, text });
    if (left <= 0) progress({ stream, text: '\n… [the rest is not shown while it runs] …\n' });
  };
}
