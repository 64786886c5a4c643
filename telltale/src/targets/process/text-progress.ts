import { StringDecoder } from 'node:string_decoder';
import type { Json } from '../../kernel/json.ts';

/** Turns output into progress `{stream, text}`; a character cut in two by the chunks is held until it is whole. */
export function textProgress(progress: (data: Json) => void) {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  return (stream: 'stdout' | 'stderr', chunk: Buffer): void => {
    const text = decoders[stream].write(chunk);
    if (text !== '') progress({ stream, text });
  };
}
