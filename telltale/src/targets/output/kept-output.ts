/** The beginning and the end of a stream of bytes, whatever its length. */
export interface KeptOutput {
  push(chunk: Uint8Array): void;
  /** All bytes that came, kept or not. */
  readonly total: number;
  /** What was not kept. */
  readonly dropped: number;
  /** As UTF-8; where something was dropped a line says how much. */
  text(): string;
}

const FIRST_ALLOCATION = 4096;

/** Keeps `maxBytes` at the most, half of them from the end, in two buffers that grow up to that. */
export function createKeptOutput(maxBytes: number): KeptOutput {
  const headBytes = Math.ceil(maxBytes / 2);
  const tailBytes = maxBytes - headBytes;
  let head = Buffer.alloc(0);
  let headSize = 0;
  /** A ring: the next byte goes to `at`. Allocated once the head is full. */
  let ring = Buffer.alloc(0);
  let at = 0;
  let total = 0;

  const pushHead = (part: Uint8Array) => {
    if (headSize + part.length > head.length) {
      const size = Math.max(headSize + part.length, 2 * head.length, FIRST_ALLOCATION);
      head = Buffer.concat([head.subarray(0, headSize)], Math.min(size, headBytes));
    }
    head.set(part, headSize);
    headSize += part.length;
  };
  const pushTail = (part: Uint8Array) => {
    if (tailBytes === 0) return;
    if (ring.length === 0) ring = Buffer.alloc(tailBytes);
    const last = part.subarray(Math.max(0, part.length - tailBytes));
    const upToEnd = last.subarray(0, tailBytes - at);
    ring.set(upToEnd, at);
    ring.set(last.subarray(upToEnd.length), 0);
    at = (at + last.length) % tailBytes;
  };

  return {
    push(chunk) {
      total += chunk.length;
      const room = headBytes - headSize;
      if (room > 0) pushHead(chunk.subarray(0, room));
      if (chunk.length > room) pushTail(chunk.subarray(room));
    },
    get total() {
      return total;
    },
    get dropped() {
      return Math.max(0, total - maxBytes);
    },
    text() {
      const first = head.subarray(0, headSize);
      if (total <= maxBytes)
        return Buffer.concat([first, ring.subarray(0, total - headSize)]).toString('utf8');
      const last = Buffer.concat([ring.subarray(at), ring.subarray(0, at)]);
      const before = first.subarray(0, wholeCharacters(first)).toString('utf8');
      const after = last.subarray(firstCharacter(last)).toString('utf8');
      return `${before}\n… [${total - maxBytes} bytes left out] …\n${after}`;
    },
  };
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** Where the last character that is whole ends: UTF-8 says in its first byte how long it is. */
function wholeCharacters(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (start > 0 && start > bytes.length - 4 && isContinuation(bytes[start])) start--;
  const first = bytes[start] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? start : bytes.length;
}

function firstCharacter(bytes: Uint8Array): number {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return start;
}
