import { hash } from 'node:crypto';
import type { PromptFrame } from '../events/turn-event.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { PromptMessage, PromptTool } from './prompt.ts';

/** What a request has before and beside its messages. */
export interface RequestFrame {
  readonly system: string;
  readonly tools: readonly PromptTool[];
  /** What else is given to the model, such as `toolChoice`. */
  readonly options: JsonObject;
}

/** Hexadecimal digits of a hash on the log: half of SHA-256. */
const HASH_CHARS = 32;
/** Of a hash that only tells one part from another. */
const PART_CHARS = 8;

/**
 * The hash of a prompt is made message by message, each over the hash of all before it: a turn costs no more than what
 * is new in it. This is the hash before the first message.
 */
const frameHash = ({ system, tools, options }: RequestFrame): string =>
  short(`${JSON.stringify(tools)}\n${JSON.stringify(options)}\n${system}`);

/** The hash with one message more. The text stands last, as it is: all before it has a fixed form. */
export function messageHash(before: string, { role, text, answers, parts }: PromptMessage): string {
  const beside = answers === undefined && parts === undefined ? '' : JSON.stringify([answers, parts]);
  return short(`${before}\n${role}\n${beside}\n${text}`);
}

/** The hash of a whole request. */
export const requestHash = (frame: RequestFrame, messages: readonly PromptMessage[]): string =>
  hashWith(frameHash(frame), messages);

/** The hash of a request whose messages stand behind what has the hash `frame`. */
export const hashWith = (frame: string, messages: readonly PromptMessage[]): string =>
  messages.reduce(messageHash, frame);

/** What the log has of a frame. */
export const framePrint = (frame: RequestFrame): PromptFrame => ({
  hash: frameHash(frame),
  system: short(frame.system, PART_CHARS),
  tools: short(JSON.stringify(frame.tools), PART_CHARS),
  options: short(JSON.stringify(frame.options), PART_CHARS),
});

const short = (text: string, chars = HASH_CHARS): string => hash('sha256', text, 'hex').slice(0, chars);
