import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

type Types = typeof import('@modelcontextprotocol/sdk/types.js');

/** The answer to what is no message. */
export interface MessageRefusal {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;

export const refusal = (
  code: number,
  message: string,
  id: string | number | null = null,
): MessageRefusal => ({ jsonrpc: '2.0', id, error: { code, message } });

/** A message in a line, or what is to be answered where there is none. */
export function readMessage(
  line: string,
  { JSONRPCMessageSchema }: Pick<Types, 'JSONRPCMessageSchema'>,
): { readonly message: JSONRPCMessage } | { readonly refused: MessageRefusal } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (thrown) {
    return { refused: refusal(PARSE_ERROR, `That is no JSON: ${(thrown as SyntaxError).message}`) };
  }
  const parsed = JSONRPCMessageSchema.safeParse(value);
  if (parsed.success) return { message: parsed.data };
  return { refused: refusal(INVALID_REQUEST, 'That is no message of JSON-RPC 2.0.', idOf(value)) };
}

function idOf(value: unknown): string | number | null {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
