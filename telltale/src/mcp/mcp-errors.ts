import { existsSync } from 'node:fs';
import { RuntimeError } from '../lib/errors.ts';
import type { McpProcessStart, McpServerStart } from '../tools/mcp/mcp-server.ts';

/** All that a server said: beside its messages, and in those that are for a log. */
export interface AllWords extends ServerWords {
  readonly log: string;
}

const MAX_SHOWN = 1_500;

export function cannotStart(
  { name, command, cwd }: McpProcessStart,
  cause: NodeJS.ErrnoException,
): RuntimeError {
  // Node says the same of a missing folder as of a missing program.
  if (cause.code === 'ENOENT' && !existsSync(cwd))
    return new RuntimeError(
      'folder_missing',
      `The folder "${cwd}" that the MCP server "${name}" should run in is not there.`,
      {
        hint: 'Create it, or correct "cwd".',
        cause,
      },
    );
  if (cause.code === 'ENOENT' || cause.code === 'EACCES')
    return new RuntimeError(
      'command_missing',
      `The program "${command}" of the MCP server "${name}" ${cause.code === 'ENOENT' ? 'is not there' : 'may not be run'}.`,
      { hint: 'Install it, or write its whole path. Its PATH is the one that this process has.', cause },
    );
  return new RuntimeError('mcp_failed', `The MCP server "${name}" (${command}) cannot be started.`, {
    hint: 'The cause says why.',
    cause,
  });
}

export const startTooSlow = (start: McpServerStart, doing: string, ms: number, words: AllWords) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${start.name}" (${whereOf(start)}) did not ${doing} within ${ms / 1000} s.${said(words)}`,
    {
      hint:
        start.type === 'stdio'
          ? 'Run the command by hand: an MCP server waits for messages on its standard input and prints nothing but messages.'
          : 'Look at its "url", and whether the server is up.',
      retryable: true,
    },
  );

export const startFailed = (start: McpServerStart, why: string, words: AllWords, cause?: unknown) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${start.name}" (${whereOf(start)}) could not be used: ${why}.${said(words)}`,
    {
      hint:
        start.type === 'stdio'
          ? 'Run the command by hand to see what it does.'
          : 'Look at its "url": is that an MCP server?',
      cause,
    },
  );

/** It ended while a call was under way. */
export const endedMeanwhile = (name: string, what: string, how: string, words: AllWords) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" ended during the call of ${what}: ${how}.${said(words)}`,
    {
      hint: 'Whether the call had an effect is not known. The server is started again at the next call.',
      retryable: true,
    },
  );

export const endsTooOften = (name: string, times: number, waitMs: number) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" has ended ${times} times without answering a call.`,
    {
      hint: `It is not begun with again for ${waitMs / 1000} s. Its own messages, in the errors before, may say why.`,
    },
  );

const MAX_LISTED = 30;

/** It listed the tool (or prompt) once, and does not any more; `known` are those that it has, as actions call them. */
export const toolGone = (name: string, what: string, known: readonly string[]) =>
  new RuntimeError('tool_gone', `The MCP server "${name}" no longer has what ${what} stands for.`, {
    hint:
      known.length === 0
        ? 'It has none now.'
        : `It has now: ${known.slice(0, MAX_LISTED).join(', ')}${known.length > MAX_LISTED ? `, … (${known.length} in all)` : ''}.`,
  });

/** An error in place of an answer: the server's own word. */
export const refusedByServer = (what: string, message: string, cause: unknown) =>
  new RuntimeError('tool_failed', `The call of ${what} failed: ${clip(message)}`, { cause });

export const badAnswer = (name: string, what: string, cause: unknown) =>
  new RuntimeError(
    'mcp_failed',
    `What the MCP server "${name}" answered to the call of ${what} is no result.`,
    {
      hint: 'The cause says what is wrong with it.',
      cause,
    },
  );

export const serverClosed = (name: string) =>
  new RuntimeError('cancelled', `The MCP server "${name}" was ended: the runtime is being closed.`);

/** The path of an address may hold a secret. */
function whereOf(start: McpServerStart): string {
  if (start.type === 'stdio') return clip([start.command, ...start.args].join(' '), 200);
  return URL.canParse(start.url) ? new URL(start.url).origin : 'over HTTP';
}

function said({ stderr, junk, log }: AllWords): string {
  const parts = [
    ['It said', stderr],
    ['It sent what is no message', junk],
    ['Its log', log],
  ].flatMap(([label, text = '']) => (text.trim() === '' ? [] : [`${label}: ${tail(text.trim())}`]));
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`;
}

const tail = (text: string) => (text.length > MAX_SHOWN ? `…${text.slice(-MAX_SHOWN)}` : text);
const clip = (text: string, max = MAX_SHOWN) => (text.length > max ? `${text.slice(0, max)}…` : text);

/** What a server said beside its messages: the ends of each. */
export interface ServerWords {
  readonly stderr: string;
  /** What came where messages should, and is none. */
  readonly junk: string;
}

export interface ChannelListener {
  /** An object of JSON; nothing more is known of it. */
  message(message: object): void;
  /** It is gone, or has been given up; `how` in words, undefined if `end` was called. Once. */
  ended(how: string | undefined): void;
}

/** The way to one server and back: a process and its pipes, or a session over HTTP. */
export interface ServerChannel {
  listen(listener: ChannelListener): void;
  /**
   * Rejects where a message cannot be sent; over HTTP also where the answer to it cannot come any more, and then it
   * resolves only behind that answer.
   */
  send(message: object): Promise<void>;
  /** The version that was agreed on. */
  useVersion(version: string): void;
  readonly words: ServerWords;
  /** The process of the runtime stays for it; `letGo`: it may end, and the server with it. */
  hold(): void;
  letGo(): void;
  /** Says good-bye and waits until it is gone; `how` is what those hear who wait for an answer. */
  end(how?: string): Promise<void>;
}

/** Of one message of a server. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Of what is kept of its words. */
export const KEPT_WORDS = 8 * 1024;
/** Lines or events that are no messages, after which a server is given up. */
export const MAX_JUNK = 10_000;

/** Undefined for what is no object of JSON. */
export function readMessage(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
