import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { outputTooLarge } from '../output/output-limits.ts';
import { plainJson } from '../output/plain-json.ts';
import type { McpAnswer } from './mcp-server.ts';

const MAX_SHOWN = 2_000;

export interface McpResultOptions {
  readonly what: string;
  readonly maxBytes: number;
  /** Whether the result must be JSON of a schema. */
  readonly wantsJson: boolean;
}

/**
 * An answer as a result: its structured content if it has any, else its text. Where there is more than text it is a
 * list of the parts; images, sound and files come as base64 as far as the result's size allows, else without their data.
 */
export function mcpResult(answer: McpAnswer, { what, maxBytes, wantsJson }: McpResultOptions): Json {
  if (answer.isError) throw toolFailed(what, allText(answer.content));
  if (answer.structured !== undefined) return plainJson(answer.structured, what, maxBytes);
  const parts = readParts(answer.content, what, maxBytes);
  return wantsJson ? parseText(parts, what) : together(parts);
}

/** Blocks of content as a result, in the same way. */
export const contentResult = (content: readonly JsonObject[], what: string, maxBytes: number): Json =>
  together(readParts(content, what, maxBytes));

const together = (parts: readonly (string | JsonObject)[]): Json =>
  parts.every((part) => typeof part === 'string') ? parts.join('\n') : parts;

function readParts(
  content: readonly JsonObject[],
  what: string,
  maxBytes: number,
): readonly (string | JsonObject)[] {
  let left = maxBytes;
  const fits = (bytes: number) => {
    if (bytes > left) return false;
    left -= bytes;
    return true;
  };
  return content.map((block) => {
    const part = readBlock(plainJson(block, what, Number.POSITIVE_INFINITY) as JsonObject);
    const { data, ...about } = typeof part === 'string' ? { data: undefined } : part;
    if (!fits(typeof part === 'string' ? Buffer.byteLength(part) : JSON.stringify(about).length))
      throw outputTooLarge(what, maxBytes);
    if (typeof data !== 'string') return part;
    return fits(data.length) ? part : { ...about, omitted: `${data.length} characters of base64` };
  });
}

/** Of a block's own fields those that say something; what a newer protocol brings comes as it is. */
function readBlock(block: JsonObject): string | JsonObject {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? block.text : block;
    case 'image':
    case 'audio':
      return pick(block, ['type', 'mimeType', 'data']);
    case 'resource_link':
      return pick(block, ['type', 'uri', 'name', 'title', 'description', 'mimeType']);
    case 'resource': {
      const resource = (block.resource ?? {}) as JsonObject;
      const about = { type: 'resource', ...pick(resource, ['uri', 'mimeType', 'text']) };
      return typeof resource.blob === 'string' ? { ...about, data: resource.blob } : about;
    }
    default:
      return block;
  }
}

/** Of an object those of its properties that are there. */
export const pick = (from: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key] as Json]])));

const allText = (content: readonly JsonObject[]): string =>
  content.flatMap((block) => (block.type === 'text' ? [String(block.text)] : [])).join('\n');

function parseText(parts: readonly (string | JsonObject)[], what: string): Json {
  try {
    return JSON.parse(parts.filter((part) => typeof part === 'string').join('\n')) as Json;
  } catch (cause) {
    throw new RuntimeError('bad_output', `What ${what} answered is no JSON.`, {
      hint: 'The tool declares "output: { schema }", but its MCP server answers with text of another kind.',
      cause,
    });
  }
}

function toolFailed(what: string, text: string): RuntimeError {
  const said = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return new RuntimeError(
    'tool_failed',
    `The call of ${what} failed${said === '' ? ', without a word.' : `: ${said}`}`,
  );
}
