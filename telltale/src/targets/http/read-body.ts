import type { IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { stopped } from '../access/stopped.ts';
import { thrownMessage } from '../output/thrown-message.ts';

export interface ReadBody {
  readonly bytes: Buffer;
  /** Whether there was more than was asked for. */
  readonly isCut: boolean;
}

export interface BodyOptions {
  readonly what: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** The body as it comes, unpacked; not for types that are no text. */
  readonly onChunk?: ((chunk: Buffer) => void) | undefined;
}

/** The first `maxBytes` of a body, unpacked: a small body that unpacks to a huge one is cut like any other. */
export async function readBody(
  response: IncomingMessage,
  { maxBytes, signal, what, onChunk }: BodyOptions,
): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let total = 0;
  let packedBytes = 0;
  const isShown = !BINARY_TYPES.test(response.headers['content-type'] ?? '');
  try {
    const body = unpacked(response, (bytes) => {
      packedBytes += bytes;
    });
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      if (isShown) onChunk?.(chunk as Buffer);
      total += (chunk as Buffer).length;
      if (total > maxBytes) break;
    }
  } catch (thrown) {
    if (signal.aborted) throw stopped(what, signal);
    // A response without a body (HEAD, 304) still says how one would have been packed.
    if (!response.complete || packedBytes > 0) throw brokenOff(total, thrown);
  } finally {
    response.destroy();
  }
  // Where a body ends with its connection, one that was stopped looks like one that has ended.
  if (signal.aborted) throw stopped(what, signal);
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: total > maxBytes };
}

const UNPACKERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** `came` hears of the bytes that are unpacked. */
export function unpacked(response: IncomingMessage, came: (bytes: number) => void): Readable {
  const unpack = UNPACKERS.get((response.headers['content-encoding'] ?? '').trim().toLowerCase());
  if (unpack === undefined) return response;
  const stream = unpack();
  response.on('data', (chunk: Buffer) => came(chunk.length));
  // `pipe` passes on no error: a connection that breaks would leave the reader waiting.
  response.once('error', (error) => stream.destroy(error));
  response.once('aborted', () => stream.destroy(new Error('the connection was closed')));
  return response.pipe(stream);
}

const brokenOff = (bytes: number, cause: unknown) =>
  new RuntimeError('http_failed', `The response broke off after ${bytes} bytes: ${thrownMessage(cause)}`, {
    retryable: true,
    cause,
  });

const BINARY_TYPES =
  /^(?:image|audio|video|font)\/(?!svg)|^application\/(?:octet-stream|zip|gzip|pdf|x-tar)/i;

/** As text by the charset of its type; undefined for what is no text. */
export function bodyText({ bytes }: ReadBody, contentType = ''): string | undefined {
  if (BINARY_TYPES.test(contentType) || bytes.subarray(0, 8192).includes(0)) return undefined;
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return bytes.toString('utf8'); // a charset nobody knows
  }
}

export const isJsonType = (contentType = ''): boolean => /^[^;]*[/+]json\b/i.test(contentType);
